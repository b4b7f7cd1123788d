package io.floatvalve.flow;

/** The same number always, but for what the byte budget takes away. */
final class FixedPermits implements PermitLaw {
  private final PermitPolicy policy;
  private final SizePeak size = new SizePeak();
  private int permits;

  FixedPermits(PermitPolicy policy) {
    this.policy = policy;
    this.permits = policy.most();
  }

  @Override
  public int permits() {
    return permits;
  }

  @Override
  public int permits(int most, long bytes) {
    return Math.min(permits, size.fitting(bytes, most));
  }

  @Override
  public void taken(int bytes) {
    size.saw(bytes);
  }

  @Override
  public void heardAfter(long nanos) {
    // Nothing here changes by what is seen.
  }

  @Override
  public int ranEmpty(long nanos, long taken, int unsettled, long busyNanos, double handlerNanos) {
    return permits;
  }

  @Override
  public int tick(Seen seen) {
    permits =
        seen.waitingBytes() > policy.maxBytes()
            ? 1
            : size.fitting(policy.maxBytes(), policy.most());
    return permits;
  }

  @Override
  public int turnedSlow() {
    return permits;
  }

  @Override
  public int stuck() {
    return permits;
  }
}
