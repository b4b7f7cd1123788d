/** Consuming: handlers that get only what they can finish, and one settlement for every message. */
@NullMarked
package io.floatvalve.consume;

import org.jspecify.annotations.NullMarked;
