/** The code that README.md shows. */
@NullMarked
package io.floatvalve.examples.readme;

import org.jspecify.annotations.NullMarked;
