package io.floatvalve.examples.lab.explain;

import io.floatvalve.Messaging;
import io.floatvalve.consume.ConsumerSettings;
import io.floatvalve.model.Address;
import io.floatvalve.publish.PublisherSettings;
import io.floatvalve.testkit.FaultProxy;
import java.io.IOException;

/** A broker on which scenes are staged. */
interface Ground extends AutoCloseable {
  /** Returns what to call it. */
  String name();

  /** Returns a new messaging over it, which sees what the broker says where that can be had. */
  Messaging messaging();

  /** Opens a proxy before it. */
  FaultProxy proxy() throws IOException;

  /** Returns a new messaging over it through a proxy. */
  Messaging messaging(FaultProxy proxy);

  /** Makes a place to publish to and consume from, and returns its name. */
  String place(String what) throws IOException;

  /** Makes a place whose messages go to one consumer at a time, and returns its name. */
  String ordered(String what) throws IOException;

  /** Makes a place that takes no message, and returns where to publish to it. */
  Address refusing(String what) throws IOException;

  /** Returns settings to consume from a place. */
  ConsumerSettings from(String place);

  /** Returns settings to publish to a place. */
  PublisherSettings to(String place);

  @Override
  void close() throws IOException;
}
