/** Floatvalve rabbit. */
@NullMarked
package io.floatvalve.rabbit;

import org.jspecify.annotations.NullMarked;
