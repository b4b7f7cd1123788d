/** Load runs, and what they measured. */
@NullMarked
package io.floatvalve.examples.perf;

import org.jspecify.annotations.NullMarked;
