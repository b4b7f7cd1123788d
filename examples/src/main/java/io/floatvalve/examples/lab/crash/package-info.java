/** Faults under load, and what became of every message. */
@NullMarked
package io.floatvalve.examples.lab.crash;

import org.jspecify.annotations.NullMarked;
