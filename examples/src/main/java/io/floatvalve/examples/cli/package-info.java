/** What all commands share: options, ends, brokers, tables, JSON. */
@NullMarked
package io.floatvalve.examples.cli;

import org.jspecify.annotations.NullMarked;
