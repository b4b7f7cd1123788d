/** A Pulsar broker and its bookie in one JVM, for tests. */
@NullMarked
package io.floatvalve.testkit.pulsarbroker;

import org.jspecify.annotations.NullMarked;
