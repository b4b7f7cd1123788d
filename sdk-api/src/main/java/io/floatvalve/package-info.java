/** The entry: opens publishers and consumers over one broker and closes them in order. */
@NullMarked
package io.floatvalve;

import org.jspecify.annotations.NullMarked;
