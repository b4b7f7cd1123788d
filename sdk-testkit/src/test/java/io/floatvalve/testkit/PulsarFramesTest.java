package io.floatvalve.testkit;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.floatvalve.testkit.FaultProxy.Direction;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.pulsar.common.api.proto.BaseCommand;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PulsarFramesTest {
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5})
  void bytesCutAnywhere_makeTheSameCommands(long seed) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    for (int i = 1; i <= 50; i++) {
      bytes.writeBytes(flow(i));
    }
    Random random = new Random(seed);
    PulsarFrames frames = new PulsarFrames(1, Direction.TO_BROKER);
    List<Integer> permits = new ArrayList<>();

    ByteBuffer all = ByteBuffer.wrap(bytes.toByteArray());
    while (all.hasRemaining()) {
      int count = Math.min(all.remaining(), 1 + random.nextInt(40));
      frames.read(
          all.slice(all.position(), count),
          0,
          frame -> permits.add(((PulsarFrame.Flow) frame).permits()));
      all.position(all.position() + count);
    }

    assertThat(permits).hasSize(50).isSorted().startsWith(1).endsWith(50);
  }

  @Test
  void bytesOfAnotherProtocol_areRefused() {
    PulsarFrames frames = new PulsarFrames(1, Direction.TO_BROKER);

    assertThatThrownBy(
            () -> frames.read(ByteBuffer.wrap("AMQP0091".getBytes(US_ASCII)), 0, frame -> {}))
        .isInstanceOf(IllegalArgumentException.class);
  }

  private static byte[] flow(int permits) {
    BaseCommand command = new BaseCommand().setType(BaseCommand.Type.FLOW);
    command.setFlow().setConsumerId(7).setMessagePermits(permits);
    byte[] body = command.toByteArray();
    return ByteBuffer.allocate(8 + body.length)
        .putInt(4 + body.length)
        .putInt(body.length)
        .put(body)
        .array();
  }
}
