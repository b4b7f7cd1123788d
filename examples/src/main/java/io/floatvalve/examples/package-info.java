/** Floatvalve examples. */
@NullMarked
package io.floatvalve.examples;

import org.jspecify.annotations.NullMarked;
