/** The command that shows the main job. */
@NullMarked
package io.floatvalve.examples.tour;

import org.jspecify.annotations.NullMarked;
