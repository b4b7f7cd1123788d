/** The experiments. */
@NullMarked
package io.floatvalve.examples.lab;

import org.jspecify.annotations.NullMarked;
