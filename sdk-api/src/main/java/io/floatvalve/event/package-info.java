/** What happened to connections, channels and windows, as values. */
@NullMarked
package io.floatvalve.event;

import org.jspecify.annotations.NullMarked;
