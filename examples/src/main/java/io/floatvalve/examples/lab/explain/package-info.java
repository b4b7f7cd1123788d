/** Stages what goes wrong on real brokers, and looks whether it is named. */
@NullMarked
package io.floatvalve.examples.lab.explain;

import org.jspecify.annotations.NullMarked;
