package io.floatvalve.benchmarks;

import com.sun.management.OperatingSystemMXBean;
import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;

/** What this process has spent since it was made: time, its own CPU time, and bytes allocated. */
final class Meter {
  private final OperatingSystemMXBean system =
      (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
  private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
  private final long allocatedBefore;
  private final long cpuBefore;
  private final long began;

  /** Begins, with the heap tidied up. */
  Meter() {
    System.gc();
    allocatedBefore = allocatedBytes();
    cpuBefore = system.getProcessCpuTime();
    began = System.nanoTime();
  }

  /** Returns the seconds that went by. */
  double seconds() {
    return (System.nanoTime() - began) / 1e9;
  }

  /** Returns the microseconds of CPU for each of so many messages. */
  double cpuMicros(int messages) {
    return (system.getProcessCpuTime() - cpuBefore) / 1e3 / messages;
  }

  /** Returns the bytes allocated, by threads that are still there, for each of so many messages. */
  double allocated(int messages) {
    return (double) (allocatedBytes() - allocatedBefore) / messages;
  }

  private long allocatedBytes() {
    long sum = 0;
    for (long bytes : threads.getThreadAllocatedBytes(threads.getAllThreadIds())) {
      sum += Math.max(0, bytes);
    }
    return sum;
  }
}
