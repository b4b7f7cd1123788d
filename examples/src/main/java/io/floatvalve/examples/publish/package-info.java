/** The command that publishes a file. */
@NullMarked
package io.floatvalve.examples.publish;

import org.jspecify.annotations.NullMarked;
