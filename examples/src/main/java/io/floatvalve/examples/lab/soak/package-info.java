/** A run under faults at random, and a book of every message in it. */
@NullMarked
package io.floatvalve.examples.lab.soak;

import org.jspecify.annotations.NullMarked;
