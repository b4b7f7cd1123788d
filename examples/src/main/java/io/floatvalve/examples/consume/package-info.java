/** The command that consumes a topic until it is told to stop. */
@NullMarked
package io.floatvalve.examples.consume;

import org.jspecify.annotations.NullMarked;
