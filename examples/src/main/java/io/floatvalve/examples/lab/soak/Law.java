package io.floatvalve.examples.lab.soak;

/** What must hold in a soak, whatever breaks. */
enum Law {
  ONE_OUTCOME("outcome", "each publish has exactly one outcome"),
  IN_TIME("deadline", "each outcome comes within maxBlock, maxWait and confirmTimeout"),
  CONFIRMED_STORED("confirmed-stored", "what is confirmed is stored"),
  NOT_SENT_ABSENT("not-sent-absent", "what was not sent is nowhere"),
  RETURNED_ABSENT("returned-absent", "what was returned is nowhere"),
  ROUTED("unroutable-returned", "what no queue takes is not confirmed"),
  STORED_ONCE("stored-once", "nothing is stored twice"),
  STORED_HANDLED("stored-handled", "what is stored is handled"),
  OURS("handled-published", "what is handled was published"),
  SETTLED_ONCE("settled-once", "each delivery is settled once at most"),
  ONE_OF_A_KEY("one-of-a-key", "of each key one message is in a handler at a time"),
  KEY_ORDER("key-order", "first handlings are in the order of their key"),
  GOES_ON("goes-on", "publishing and handling go on after each fault"),
  CLEAN("no-protocol-error", "the broker finds no error in what it is told"),
  LEFT_NOTHING("left-nothing", "nothing is left in the queue in the end"),
  TO_ZERO("to-zero", "permits, slots, bytes and what waits return to zero"),
  THREADS("threads", "threads return to where they were"),
  HEAP("heap", "the heap returns to where it was");

  private final String id;
  private final String words;

  Law(String id, String words) {
    this.id = id;
    this.words = words;
  }

  /** Returns its name in findings. */
  String id() {
    return id;
  }

  /** Returns what it demands, in words. */
  String words() {
    return words;
  }
}
