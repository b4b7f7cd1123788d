package io.floatvalve.examples.lab;

import picocli.CommandLine.Command;

/** How a broker confirms. */
@Command(name = "confirms", description = "How a broker confirms.")
public final class ConfirmsLab implements Runnable {
  @Override
  public void run() {}
}
