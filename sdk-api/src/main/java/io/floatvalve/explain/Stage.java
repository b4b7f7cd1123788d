package io.floatvalve.explain;

/** Where in the chain from a handler to the broker's disk, in the order in which to look. */
public enum Stage {
  /** This process: handlers, what waits for them, permits, the window. */
  CLIENT,
  /** The way to the broker: links and what is on its way. */
  CONNECTION,
  /** What decides at the broker who gets which message, and how many. */
  DISPATCHER,
  /** How far the broker has come: what was delivered, and what was acknowledged. */
  CURSOR,
  /** What the broker keeps. */
  LEDGER
}
