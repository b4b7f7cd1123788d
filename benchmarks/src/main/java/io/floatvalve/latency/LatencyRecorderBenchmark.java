package io.floatvalve.latency;

import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Recorder;
import org.HdrHistogram.SingleWriterRecorder;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Threads;
import org.openjdk.jmh.annotations.Warmup;

/**
 * What recording one latency costs, beside HdrHistogram's recorders. Run with {@code -prof gc}:
 * nothing may be allocated.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
public class LatencyRecorderBenchmark {
  private static final int VALUES = 1 << 12;

  private final LatencyRecorder recorder = new LatencyRecorder("stage");
  private final Recorder hdr =
      new Recorder(
          LatencyRecorder.LOWEST_NANOS, LatencyRecorder.HIGHEST_NANOS, LatencyRecorder.DIGITS);
  private final SingleWriterRecorder hdrSingle =
      new SingleWriterRecorder(
          LatencyRecorder.LOWEST_NANOS, LatencyRecorder.HIGHEST_NANOS, LatencyRecorder.DIGITS);
  private final long[] values = values();

  /** A thread's place in the values. */
  @State(Scope.Thread)
  public static class Place {
    private int next;
  }

  private static long[] values() {
    var random = new java.util.Random(1);
    long[] values = new long[VALUES];
    for (int i = 0; i < VALUES; i++) {
      values[i] = (long) (1e6 * Math.exp(random.nextGaussian()));
    }
    return values;
  }

  private long value(Place place) {
    return values[place.next++ & (VALUES - 1)];
  }

  /** From any thread. */
  @Benchmark
  public void record(Place place) {
    recorder.record(value(place));
  }

  /** By callers that exclude each other. */
  @Benchmark
  public void recordAlone(Place place) {
    recorder.recordAlone(value(place));
  }

  /** Two threads at once. */
  @Benchmark
  @Threads(2)
  public void recordByTwo(Place place) {
    recorder.record(value(place));
  }

  /** HdrHistogram's recorder for any thread. */
  @Benchmark
  public void hdrRecorder(Place place) {
    hdr.recordValue(value(place));
  }

  /** HdrHistogram's recorder for one thread. */
  @Benchmark
  public void hdrSingleWriterRecorder(Place place) {
    hdrSingle.recordValue(value(place));
  }

  /** The values alone. */
  @Benchmark
  public long valuesAlone(Place place) {
    return value(place);
  }
}
