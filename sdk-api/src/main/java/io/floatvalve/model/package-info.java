/** What is sent and where to: messages, addresses, and how opening fails. */
@NullMarked
package io.floatvalve.model;

import org.jspecify.annotations.NullMarked;
