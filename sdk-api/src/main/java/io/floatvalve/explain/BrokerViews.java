package io.floatvalve.explain;

import io.floatvalve.model.Address;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Has at hand what the broker says of its places, by a means of its own: its administration
 * interface. Given to {@code Messaging.viewedBy}.
 */
@FunctionalInterface
public interface BrokerViews {
  /**
   * Returns what the broker said last of a place. Called by any thread, several at a time, also
   * once a second by ours: never waits for the network.
   *
   * @param addresses of the consumer or publisher that is being explained
   * @param group of the consumer; null if it has none, and for a publisher
   * @param name what the client is called at the broker, or empty where that is not known: {@link
   *     BrokerView.Member#own} is that consumer
   * @return empty if it is not known, or too old to be of use
   */
  Optional<BrokerView> of(List<Address> addresses, @Nullable String group, String name);
}
