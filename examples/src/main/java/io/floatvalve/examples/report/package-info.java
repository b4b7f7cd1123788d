/** A run's files as one page with charts. */
@NullMarked
package io.floatvalve.examples.report;

import org.jspecify.annotations.NullMarked;
