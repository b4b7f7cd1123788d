package io.floatvalve.examples.cli;

import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** What the experiments of a lab share, on whatever broker: findings, checks, amounts, patience. */
public abstract class Experiments {
  private final Findings findings;
  private final CheckTable checks;
  private final Console console;
  private final boolean quick;

  /**
   * Begins without checks.
   *
   * @param quick whether there is to be less of everything
   */
  protected Experiments(Findings findings, Console console, boolean quick) {
    this.findings = findings;
    this.checks = new CheckTable(findings);
    this.console = console;
    this.quick = quick;
  }

  /** Returns what all of them find. */
  public final Findings findings() {
    return findings;
  }

  /** Returns the checks so far. */
  public final CheckTable checks() {
    return checks;
  }

  /** Returns where they speak. */
  protected final Console console() {
    return console;
  }

  /** Returns the first amount, or the second where it has to be quick. */
  public final int amount(int usual, int whenQuick) {
    return quick ? whenQuick : usual;
  }

  /** Says what is being done. */
  public final void doing(String what) {
    console.progress(what + " ...");
  }

  /** Shows a table under its title. */
  public final void show(String title, Table table) {
    console.say("");
    console.say(title);
    console.say(table);
  }

  /** Shows the checks, as the last of all tables. */
  public final void showChecks() {
    console.say("");
    console.say("Checks");
    console.say(checks);
    console.say("");
  }

  /** Waits until something holds; false if that takes longer than the limit. */
  public static boolean await(Duration limit, BooleanSupplier holds) throws IOException {
    long deadline = System.nanoTime() + limit.toNanos();
    while (!holds.getAsBoolean()) {
      if (System.nanoTime() > deadline) {
        return false;
      }
      pause(Duration.ofMillis(1));
    }
    return true;
  }

  /** Lets time pass. */
  public static void pause(Duration time) throws IOException {
    LockSupport.parkNanos(time.toNanos());
    if (Thread.interrupted()) {
      throw interrupted(new InterruptedException("asked to end"));
    }
  }

  /** Returns what to throw when a thread is asked to end; leaves the interrupt in place. */
  protected static IOException interrupted(InterruptedException e) {
    Thread.currentThread().interrupt();
    return new IOException("interrupted", e);
  }
}
