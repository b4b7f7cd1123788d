package io.floatvalve.examples.lab.permits;

/** The experiments, on either broker, in the order in which they run. */
public enum Part {
  /** Permits, or the prefetch, on the wire. */
  WIRE,
  /** A slow consumer beside a fast one. */
  SLOW,
  /** Large messages. */
  MEMORY,
  /** How fast messages come through. */
  THROUGHPUT,
  /** Order. */
  ORDER,
  /** What comes again. */
  REDELIVERY
}
