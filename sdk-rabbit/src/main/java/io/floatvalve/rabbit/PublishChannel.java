package io.floatvalve.rabbit;

import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Channel;
import io.floatvalve.model.Address;
import io.floatvalve.model.Message;
import io.floatvalve.spi.PublishLink;
import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A channel in confirm mode. The broker counts its messages from 1, as the engine does. */
final class PublishChannel implements PublishLink {
  /*
   * Most messages of a publisher differ in their payload alone, and the client copies the header map
   * of each set of properties it is given. So the properties of such a message are made once per
   * `Shape` and used again. The mark, which differs each time, is an array that those properties
   * refer to and that is overwritten before each send. That holds because one thread sends, and the
   * client has encoded the properties when `basicPublish` returns.
   */
  private record Shape(
      @Nullable String contentType, int priority, boolean persistent, boolean mandatory) {
    boolean fits(Message message) {
      return message.persistent() == persistent
          && message.mandatory() == mandatory
          && message.priority() == priority
          && Objects.equals(message.contentType(), contentType);
    }
  }

  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);
  private static final Duration LONGEST_DELAY = Duration.ofMillis(0xFFFF_FFFFL);

  /** How long a write may hang before it is taken for stuck by one who wants to close. */
  private static final Duration PATIENCE = Duration.ofMillis(500);

  private final Trunk trunk;
  private final Channel channel;
  private final Answers answers;
  private final Address address;
  private final long epoch;
  private final @Nullable String delayedExchange;
  private final Coalescer out;
  private final int frameMax;

  private final byte[] mark = new byte[Long.BYTES]; // the sending thread's
  private Shape shape = new Shape(null, -1, false, false); // the sending thread's; fits nothing
  private BasicProperties shared = new BasicProperties(); // the sending thread's; of that shape

  PublishChannel(
      Trunk trunk,
      Channel channel,
      Answers answers,
      Address address,
      long epoch,
      @Nullable String delayedExchange)
      throws IOException {
    this.trunk = trunk;
    this.channel = channel;
    this.answers = answers;
    this.address = address;
    this.epoch = epoch;
    this.delayedExchange = delayedExchange;
    this.out = trunk.wire().output();
    this.frameMax = trunk.connection().getFrameMax();
  }

  @Override
  public @Nullable String refusal(Message message) {
    Address own = message.address();
    if (own != null) {
      String refusal = refusal(own);
      if (refusal != null) {
        return refusal;
      }
    }
    Duration delay = message.delay();
    if (PropertyMap.isDelay(delay)) {
      String refusal = delayRefusal(Objects.requireNonNull(delay), own == null ? address : own);
      if (refusal != null) {
        return refusal;
      }
    }
    return PropertyMap.refusal(message, frameMax);
  }

  /** Says why nothing can be sent to an address, or null if it can. */
  static @Nullable String refusal(Address address) {
    if (address.kind() == Address.Kind.TOPIC) {
      return address + " is no address of RabbitMQ: name a queue or an exchange";
    }
    String refusal = Limits.shortString("exchange name", exchange(address));
    return refusal == null ? Limits.shortString("routing key", address.routingKey()) : refusal;
  }

  private @Nullable String delayRefusal(Duration delay, Address to) {
    if (!exchange(to).equals(delayedExchange)) {
      return "a delay of "
          + delay
          + " needs a delayed exchange, which "
          + to
          + " is not said to be: see RabbitBroker.PublishSettings.withDelayedExchange";
    }
    return delay.compareTo(LONGEST_DELAY) <= 0
        ? null
        : "delay must be at most " + LONGEST_DELAY + ", was " + delay;
  }

  /** Returns the exchange that stands for an address: the default one for a queue. */
  static String exchange(Address address) {
    return address.kind() == Address.Kind.QUEUE ? "" : address.name();
  }

  @Override
  public void send(long sequence, Message message) throws IOException {
    Address own = message.address();
    Address to = own == null ? address : own;
    if (message.mandatory()) {
      LONG.set(mark, 0, Answers.mark(epoch, sequence));
    }
    BasicProperties properties = properties(message);
    out.gather();
    try {
      channel.basicPublish(
          exchange(to), to.routingKey(), message.mandatory(), properties, message.payload());
    } finally {
      out.release();
    }
  }

  private BasicProperties properties(Message message) {
    if (!isPlain(message)) {
      return PropertyMap.toAmqp(message, message.mandatory() ? mark : null);
    }
    if (!shape.fits(message)) {
      shape =
          new Shape(
              message.contentType(), message.priority(), message.persistent(), message.mandatory());
      shared = PropertyMap.toAmqp(message, message.mandatory() ? mark : null);
    }
    return shared;
  }

  private static boolean isPlain(Message message) {
    return message.headers().isEmpty()
        && message.key() == null
        && message.messageId() == null
        && message.correlationId() == null
        && message.replyTo() == null
        && message.timestamp() == null
        && message.ttl() == null
        && message.delay() == null;
  }

  @Override
  public void flush() throws IOException {
    out.flushAll();
  }

  @Override
  public void close(Duration timeout) {
    Thread closer = retire();
    if (closer != null) {
      Threads.join(closer, timeout);
    }
  }

  @Override
  public void abort() {
    retire();
  }

  /**
   * Closes the channel on a thread of its own, which waits for the broker, and returns that thread;
   * or null if it is closed. Where a write hangs, by whichever channel, nothing can be closed in
   * order: then the connection is cut.
   */
  private @Nullable Thread retire() {
    answers.end();
    trunk.leave(answers);
    if (!channel.isOpen()) {
      return null;
    }
    Threads.start(
        "floatvalve-rabbit-guard",
        () -> {
          if (!trunk.wire().isMoving(PATIENCE)) {
            trunk.wire().cut();
          }
        });
    return Threads.start("floatvalve-rabbit-close", () -> Trunk.abort(channel));
  }

  @Override
  public String toString() {
    return "PublishChannel[" + address + ", epoch " + epoch + "]";
  }
}
