package io.floatvalve.consume;

import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.spi.ReceiveLink.Received;
import org.jspecify.annotations.Nullable;

/** Deliveries that no broker has delivered. */
final class Takens {
  private static final Reception NOWHERE =
      new Reception(
          new FakeBroker(),
          ConsumerSettings.from(Address.topic("t")),
          1,
          event -> {},
          new PermitLoop(),
          Runnable::run);
  private static final Incarnation NOBODY = new Incarnation(NOWHERE, 1);

  private Takens() {}

  static Taken of(int id, @Nullable String key, int size) {
    return new Taken(NOWHERE, NOBODY, new Plain(id, key, size), size, id, 0);
  }

  private record Plain(int id, @Nullable String key, int size) implements Received {
    @Override
    public Message message() {
      return Message.of(new byte[size]);
    }

    @Override
    public Object nativeMessage() {
      return id;
    }

    @Override
    public long arrivedNanos() {
      return 0;
    }

    @Override
    public int attempts() {
      return 0;
    }

    @Override
    public int deliveryCount() {
      return 1;
    }

    @Override
    public boolean redelivered() {
      return false;
    }

    @Override
    public Object identity() {
      return id;
    }

    @Override
    public String describe() {
      return "message " + id;
    }
  }
}
