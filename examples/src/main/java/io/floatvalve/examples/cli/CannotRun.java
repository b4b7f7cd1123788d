package io.floatvalve.examples.cli;

import com.rabbitmq.client.AMQP;
import com.rabbitmq.client.Method;
import com.rabbitmq.client.ShutdownSignalException;
import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.util.regex.Pattern;

/** Ends a command with one clear sentence and an exit code; carries no secret. */
public final class CannotRun extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /** All was well, and every check held. */
  public static final int OK = 0;

  /** It ran, and something did not come out as it should. */
  public static final int NOT_ALL_WELL = 1;

  /** What was asked for cannot be done. */
  public static final int BAD_INPUT = 2;

  /** The broker cannot be reached, or does not let us in. */
  public static final int UNREACHABLE = 3;

  private static final Pattern SECRET = Pattern.compile("(?<=://)[^\\s'\"<>]*@");

  private final int exitCode;

  private CannotRun(int exitCode, String sentence, Throwable cause) {
    super(masked(sentence), cause);
    this.exitCode = exitCode;
  }

  private CannotRun(int exitCode, String sentence) {
    super(masked(sentence));
    this.exitCode = exitCode;
  }

  /** Refuses the value of an option. */
  public static CannotRun badInput(String option, Object value, String why) {
    return new CannotRun(BAD_INPUT, option + " '" + value + "': " + why);
  }

  /** Refuses what was asked for, where no single option is to blame. */
  public static CannotRun badInput(String sentence) {
    return new CannotRun(BAD_INPUT, sentence);
  }

  /** Says that a broker cannot be reached: what was tried, and why it failed. */
  public static CannotRun unreachable(String tried, Throwable why) {
    return new CannotRun(UNREACHABLE, tried + ": " + inWords(why), why);
  }

  /** Says that there is no broker. */
  public static CannotRun unreachable(String sentence) {
    return new CannotRun(UNREACHABLE, sentence);
  }

  /** Returns the exit code of the process. */
  public int exitCode() {
    return exitCode;
  }

  /** Returns the text with what stands between {@code ://} and the last {@code @} hidden. */
  public static String masked(String text) {
    return SECRET.matcher(text).replaceAll("***@");
  }

  /** Returns why a file cannot be used; the exceptions' own messages only repeat its name. */
  public static String whyNoFile(IOException error) {
    if (error instanceof NoSuchFileException) {
      return "there is no such file";
    }
    if (error instanceof AccessDeniedException) {
      return "access is denied";
    }
    if (error instanceof FileAlreadyExistsException) {
      return "it exists already";
    }
    return inWords(error);
  }

  /** Returns what went wrong, in one line: the messages of an exception and its causes. */
  public static String inWords(Throwable error) {
    StringBuilder words = new StringBuilder();
    int depth = 0;
    for (Throwable t = error; t != null && depth < 4; t = t.getCause(), depth++) {
      String message = message(t).strip();
      if (words.indexOf(message) < 0) {
        words.append(words.isEmpty() ? "" : ": ").append(message);
      }
    }
    return masked(words.toString());
  }

  /** Returns a message; of a broker that closes, its own words; empty if a cause says it better. */
  private static String message(Throwable error) {
    if (error instanceof ShutdownSignalException signal) {
      Method reason = signal.getReason();
      if (reason instanceof AMQP.Channel.Close close) {
        return close.getReplyCode() + " " + close.getReplyText();
      }
      if (reason instanceof AMQP.Connection.Close close) {
        return close.getReplyCode() + " " + close.getReplyText();
      }
    }
    if (error.getMessage() != null) {
      return error.getMessage();
    }
    return error.getCause() instanceof ShutdownSignalException
        ? ""
        : error.getClass().getSimpleName();
  }
}
