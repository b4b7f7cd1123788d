/** Says why: findings about a consumer or publisher that is slow, stalled or leaks. */
@NullMarked
package io.floatvalve.explain;

import org.jspecify.annotations.NullMarked;
