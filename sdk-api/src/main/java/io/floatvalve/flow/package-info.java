/** How much a consumer asks a broker for: permits, by count and by bytes. */
@NullMarked
package io.floatvalve.flow;

import org.jspecify.annotations.NullMarked;
