/** How fast messages may go: quotas by the second, held on this side before the broker must. */
@NullMarked
package io.floatvalve.rate;

import org.jspecify.annotations.NullMarked;
