package io.floatvalve.examples.publish;

import io.floatvalve.publish.WindowPolicy;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Reads how many messages may be in flight: a number, or {@code adaptive}. */
final class Windows implements ITypeConverter<WindowPolicy> {
  @Override
  public WindowPolicy convert(String text) {
    if (text.equals("adaptive")) {
      return WindowPolicy.adaptive();
    }
    try {
      return WindowPolicy.fixed(Integer.parseInt(text));
    } catch (NumberFormatException e) {
      throw new TypeConversionException("'" + text + "' is neither a number nor adaptive");
    } catch (IllegalArgumentException e) {
      throw new TypeConversionException("'" + text + "': " + e.getMessage());
    }
  }
}
