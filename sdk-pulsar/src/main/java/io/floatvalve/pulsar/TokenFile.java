package io.floatvalve.pulsar;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.function.Supplier;

/** A token that lies in a file, read each time it is asked for. */
record TokenFile(Path file) implements Supplier<String> {
  private static final int MOST_BYTES = 1 << 20;

  @Override
  public String get() {
    try (InputStream in = Files.newInputStream(file)) {
      byte[] read = in.readNBytes(MOST_BYTES + 1);
      if (read.length > MOST_BYTES) {
        throw new IllegalStateException(
            "the token's file " + file + " has more than " + MOST_BYTES + " bytes");
      }
      String token = new String(read, StandardCharsets.UTF_8).strip();
      if (token.isEmpty()) {
        throw new IllegalStateException("the token's file " + file + " is empty");
      }
      return token;
    } catch (IOException e) {
      throw new UncheckedIOException(
          "the token's file " + file + " cannot be read: " + reason(e), e);
    }
  }

  private static String reason(IOException e) {
    if (e instanceof NoSuchFileException) {
      return "there is none";
    }
    return e instanceof AccessDeniedException ? "access is denied" : Failures.words(e);
  }
}
