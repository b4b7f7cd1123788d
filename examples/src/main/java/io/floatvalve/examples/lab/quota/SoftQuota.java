package io.floatvalve.examples.lab.quota;

/**
 * The arithmetic of a quota that several nodes share and check by themselves: each takes for its
 * threshold what it uses, and all that the cluster has left. Pure.
 */
final class SoftQuota {
  private static final int CHECKS = 20; // of 50 ms, in a window of a second

  private final int nodes;
  private final int limit;
  private final int use;

  /**
   * Begins at an even use.
   *
   * @param nodes that share the quota
   * @param limit of the cluster, a second
   * @param use of all of it, a second
   */
  SoftQuota(int nodes, int limit, int use) {
    this.nodes = nodes;
    this.limit = limit;
    this.use = use;
  }

  /** Returns what one node lets pass in a window before it throttles. */
  int threshold() {
    return use / nodes + (limit - use);
  }

  /**
   * Returns how many pass in one window, if at its beginning every node is offered more than all of
   * the quota. Each check of a node sees what it has let pass in the window, and not the others.
   *
   * @param offered to each node between two checks
   */
  int passed(int offered) {
    int passed = 0;
    for (int node = 0; node < nodes; node++) {
      int own = 0;
      for (int check = 0; check < CHECKS && own < threshold(); check++) {
        own += Math.min(offered, threshold() - own);
      }
      passed += own;
    }
    return passed;
  }
}
