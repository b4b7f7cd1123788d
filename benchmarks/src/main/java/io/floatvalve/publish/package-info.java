/** Micro-benchmarks of what is package-private in publishing. */
@NullMarked
package io.floatvalve.publish;

import org.jspecify.annotations.NullMarked;
