package io.floatvalve.testkit;

import io.floatvalve.testkit.PulsarFrame.Entry;
import io.floatvalve.testkit.PulsarFrame.Seen;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import org.apache.pulsar.common.api.proto.BaseCommand;
import org.apache.pulsar.common.api.proto.CommandAck;
import org.apache.pulsar.common.api.proto.CommandMessage;
import org.apache.pulsar.common.api.proto.CommandRedeliverUnacknowledgedMessages;
import org.apache.pulsar.common.api.proto.CommandSend;
import org.apache.pulsar.common.api.proto.CommandSendError;
import org.apache.pulsar.common.api.proto.CommandSendReceipt;
import org.apache.pulsar.common.api.proto.CommandSubscribe;
import org.apache.pulsar.common.api.proto.MessageIdData;
import org.apache.pulsar.common.api.proto.MessageMetadata;

/** Puts the bytes of one direction of a connection together to commands. Not thread-safe. */
final class PulsarFrames {
  /*
   * A frame is its length, the length of the command, and the command; Send and Message go on with
   * an optional broker entry (0x0e02, length, bytes), a checksum (0x0e01, 4 bytes), the length of
   * the metadata, the metadata, and the payload. All lengths have four bytes. The number of
   * messages in a batch stands in the metadata, which is neither compressed nor encrypted.
   */
  private static final short BROKER_ENTRY = 0x0e02;
  private static final short CHECKSUM = 0x0e01;
  private static final int LONGEST_FRAME = 256 * 1024 * 1024;

  private final int connection;
  private final FaultProxy.Direction direction;
  private byte[] pending = new byte[8 * 1024];
  private int length;

  PulsarFrames(int connection, FaultProxy.Direction direction) {
    this.connection = connection;
    this.direction = direction;
  }

  /**
   * Takes the next bytes and gives out the commands that are complete by them.
   *
   * @throws IllegalArgumentException if they are not Pulsar's protocol
   */
  void read(ByteBuffer bytes, long nowNanos, Consumer<PulsarFrame> to) {
    append(bytes);
    int at = 0;
    while (length - at >= Integer.BYTES) {
      int size = ByteBuffer.wrap(pending, at, Integer.BYTES).getInt();
      if (size < Integer.BYTES || size > LONGEST_FRAME) {
        throw new IllegalArgumentException("not Pulsar's protocol: a frame of " + size + " bytes");
      }
      if (length - at < Integer.BYTES + size) {
        break;
      }
      ByteBuffer frame = ByteBuffer.wrap(pending, at + Integer.BYTES, size);
      to.accept(decode(frame, new Seen(connection, direction, nowNanos)));
      at += Integer.BYTES + size;
    }
    System.arraycopy(pending, at, pending, 0, length - at);
    length -= at;
  }

  private void append(ByteBuffer bytes) {
    int needed = length + bytes.remaining();
    if (needed > pending.length) {
      pending = Arrays.copyOf(pending, Math.max(needed, 2 * pending.length));
    }
    int count = bytes.remaining();
    bytes.get(pending, length, count);
    length += count;
  }

  private static PulsarFrame decode(ByteBuffer frame, Seen seen) {
    BaseCommand command = new BaseCommand();
    command.parseFrom(take(frame, frame.getInt()));
    return switch (command.getType()) {
      case SUBSCRIBE -> subscribe(command.getSubscribe(), seen);
      case FLOW ->
          new PulsarFrame.Flow(
              seen, command.getFlow().getConsumerId(), command.getFlow().getMessagePermits());
      case MESSAGE -> message(command.getMessage(), frame, seen);
      case ACK -> ack(command.getAck(), seen);
      case REDELIVER_UNACKNOWLEDGED_MESSAGES ->
          givenBack(command.getRedeliverUnacknowledgedMessages(), seen);
      case SEND -> send(command.getSend(), frame, seen);
      case SEND_RECEIPT -> receipt(command.getSendReceipt(), seen);
      case SEND_ERROR -> refusal(command.getSendError(), seen);
      default -> new PulsarFrame.Other(seen, command.getType().name());
    };
  }

  private static PulsarFrame subscribe(CommandSubscribe subscribe, Seen seen) {
    return new PulsarFrame.Subscribe(
        seen,
        subscribe.getConsumerId(),
        subscribe.getTopic(),
        subscribe.getSubscription(),
        subscribe.getSubType().name());
  }

  private static PulsarFrame message(CommandMessage message, ByteBuffer frame, Seen seen) {
    MessageMetadata metadata = metadata(frame);
    return new PulsarFrame.Message(
        seen,
        message.getConsumerId(),
        entry(message.getMessageId()),
        metadata.getNumMessagesInBatch(),
        message.getRedeliveryCount(),
        frame.remaining());
  }

  private static PulsarFrame ack(CommandAck ack, Seen seen) {
    List<Entry> entries = new ArrayList<>();
    for (int i = 0; i < ack.getMessageIdsCount(); i++) {
      entries.add(entry(ack.getMessageIdAt(i)));
    }
    boolean cumulative = ack.getAckType() == CommandAck.AckType.Cumulative;
    return new PulsarFrame.Ack(seen, ack.getConsumerId(), cumulative, entries);
  }

  private static PulsarFrame givenBack(CommandRedeliverUnacknowledgedMessages back, Seen seen) {
    List<Entry> entries = new ArrayList<>();
    for (int i = 0; i < back.getMessageIdsCount(); i++) {
      entries.add(entry(back.getMessageIdAt(i)));
    }
    return new PulsarFrame.RedeliverUnacknowledged(seen, back.getConsumerId(), entries);
  }

  private static PulsarFrame send(CommandSend send, ByteBuffer frame, Seen seen) {
    MessageMetadata metadata = metadata(frame);
    return new PulsarFrame.Send(
        seen,
        send.getProducerId(),
        send.getSequenceId(),
        metadata.getNumMessagesInBatch(),
        frame.remaining());
  }

  private static PulsarFrame receipt(CommandSendReceipt receipt, Seen seen) {
    return new PulsarFrame.SendReceipt(
        seen, receipt.getProducerId(), receipt.getSequenceId(), entry(receipt.getMessageId()));
  }

  private static PulsarFrame refusal(CommandSendError error, Seen seen) {
    return new PulsarFrame.SendError(
        seen,
        error.getProducerId(),
        error.getSequenceId(),
        error.getError().name(),
        error.getMessage());
  }

  /** Reads up to the payload. */
  private static MessageMetadata metadata(ByteBuffer frame) {
    if (frame.getShort(frame.position()) == BROKER_ENTRY) {
      frame.getShort();
      take(frame, frame.getInt());
    }
    if (frame.getShort(frame.position()) == CHECKSUM) {
      frame.position(frame.position() + Short.BYTES + Integer.BYTES);
    }
    MessageMetadata metadata = new MessageMetadata();
    metadata.parseFrom(take(frame, frame.getInt()));
    return metadata;
  }

  private static byte[] take(ByteBuffer frame, int count) {
    if (count < 0 || count > frame.remaining()) {
      throw new IllegalArgumentException(
          "not Pulsar's protocol: a part of " + count + " bytes in a rest of " + frame.remaining());
    }
    byte[] bytes = new byte[count];
    frame.get(bytes);
    return bytes;
  }

  private static Entry entry(MessageIdData id) {
    return new Entry(id.getLedgerId(), id.getEntryId());
  }
}
