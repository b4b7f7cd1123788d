/** Lines of a file, each a message, and what became of each. */
@NullMarked
package io.floatvalve.examples.lines;

import org.jspecify.annotations.NullMarked;
