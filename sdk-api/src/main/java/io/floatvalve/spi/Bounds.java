package io.floatvalve.spi;

import java.time.Duration;
import java.util.Objects;

/** Checks the values of settings, the engine's and the adapters', with one wording for all. */
public final class Bounds {
  private Bounds() {}

  /**
   * Returns a value that lies within its bounds.
   *
   * @param name of the setting, as its {@code with…} method names it
   * @throws IllegalArgumentException if it is out of range; names the range and the value
   */
  public static long within(String name, long value, long least, long most) {
    if (value < least || value > most) {
      throw new IllegalArgumentException(outside(name, value, least, most));
    }
    return value;
  }

  /**
   * Returns a value that lies within its bounds.
   *
   * @param name of the setting, as its {@code with…} method names it
   * @throws IllegalArgumentException if it is out of range; names the range and the value
   */
  public static int within(String name, int value, int least, int most) {
    return (int) within(name, (long) value, (long) least, (long) most);
  }

  /**
   * Returns a value that lies within its bounds.
   *
   * @param name of the setting, as its {@code with…} method names it
   * @throws IllegalArgumentException if it is out of range; names the range and the value
   */
  public static Duration within(String name, Duration value, Duration least, Duration most) {
    Objects.requireNonNull(value, name);
    if (value.compareTo(least) < 0 || value.compareTo(most) > 0) {
      throw new IllegalArgumentException(outside(name, value, least, most));
    }
    return value;
  }

  private static String outside(String name, Object value, Object least, Object most) {
    return name + " must be from " + least + " to " + most + ", was " + value;
  }
}
