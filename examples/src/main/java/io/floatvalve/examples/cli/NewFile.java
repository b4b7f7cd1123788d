package io.floatvalve.examples.cli;

import java.nio.file.Files;
import java.nio.file.Path;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Reads the name of a file to write, whose folder must be there: it may be a slip of the pen. */
final class NewFile implements ITypeConverter<Path> {
  @Override
  public Path convert(String text) {
    Path file = Path.of(text);
    Path folder = file.toAbsolutePath().getParent();
    if (folder != null && !Files.isDirectory(folder)) {
      throw new TypeConversionException("'" + text + "': there is no folder " + folder);
    }
    if (Files.isDirectory(file)) {
      throw new TypeConversionException("'" + text + "' is a folder");
    }
    return file;
  }
}
