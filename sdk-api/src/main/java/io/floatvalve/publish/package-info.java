/** Publishing through a confirm window: one typed outcome for every message. */
@NullMarked
package io.floatvalve.publish;

import org.jspecify.annotations.NullMarked;
