package io.floatvalve.examples.consume;

import io.floatvalve.consume.ConsumerStatus;
import io.floatvalve.examples.cli.Console;
import io.floatvalve.examples.cli.Findings;
import io.floatvalve.examples.cli.Latencies;
import io.floatvalve.examples.cli.Table;
import io.floatvalve.latency.LatencySnapshot;
import io.floatvalve.model.Ordering;

/**
 * What a run of {@code consume} came to.
 *
 * @param sum what became of the messages
 * @param ended how the consumer ended
 * @param fed whether the run fed itself
 */
record Report(Account.Sum sum, Ended ended, Ordering ordering, boolean fed) {
  /**
   * How the consumer ended.
   *
   * @param unsettled what draining left
   * @param feederFailure why a message was last not confirmed, or empty
   */
  record Ended(
      long unsettled,
      ConsumerStatus status,
      LatencySnapshot latency,
      double seconds,
      String feederFailure) {}

  void show(Console console, Findings findings) {
    ConsumerStatus status = ended.status();
    long settled = status.accepted() + status.retried() + status.rejected();
    Table table = new Table("messages", "number", "");
    if (fed) {
      table.row("sent", sum.stored(), "confirmed by the broker");
      table.row("in doubt", sum.doubted(), "sent without an answer " + ended.feederFailure());
      table.row("handled", sum.handled(), "of these, at least once");
      table.row("handled again", sum.again(), "redelivered after they had been handled");
      table.row("left", sum.left(), "there, for the next consumer");
      table.row("lost", sum.lost(), "confirmed, neither handled nor there");
    }
    if (!fed || sum.others() > 0) {
      table.row("handled", sum.others(), fed ? "of others" : "");
    }
    table.row("given back", status.givenBack(), "without being handled");
    table.row("retried", status.retried() + status.retriedInPlace(), "");
    table.row("rejected", status.rejected(), "");
    table.row("unsettled", ended.unsettled(), "");
    console.say("");
    console.say(table);
    console.say("");
    console.say(Latencies.table(ended.latency()));
    console.say("");
    figures(findings, settled);
    checks(findings);
    console.say(
        String.format(
            "%,d messages settled in %.1f s, %,.0f a second; permits at the end %,d",
            settled, ended.seconds(), settled / ended.seconds(), status.permits()));
    for (var check : findings.checks()) {
      if (!check.ok()) {
        console.say("NOT AS IT SHOULD BE: " + check.expected() + "; seen: " + check.observed());
      }
    }
  }

  private void figures(Findings findings, long settled) {
    ConsumerStatus status = ended.status();
    findings.figure("run_s", ended.seconds());
    findings.figure("settled_msgs", settled);
    findings.figure("throughput_msgs_per_s", settled / ended.seconds());
    findings.figure("given_back_msgs", status.givenBack());
    findings.figure("retried_msgs", status.retried() + status.retriedInPlace());
    findings.figure("rejected_msgs", status.rejected());
    findings.figure("stale_msgs", status.stale());
    findings.figure("duplicates_dropped_msgs", status.duplicates());
    findings.figure("unsettled_msgs", ended.unsettled());
    findings.figure("reopened_times", status.reopened());
    if (fed) {
      findings.figure("sent_msgs", sum.stored());
      findings.figure("in_doubt_msgs", sum.doubted());
      findings.figure("handled_msgs", sum.handled());
      findings.figure("handled_again_msgs", sum.again());
      findings.figure("left_in_topic_msgs", sum.left());
      findings.figure("lost_msgs", sum.lost());
    }
    findings.figure("handled_of_others_msgs", sum.others());
    Latencies.figures(ended.latency(), findings);
  }

  private void checks(Findings findings) {
    ConsumerStatus status = ended.status();
    findings.check(
        "unsettled",
        "nothing is unsettled after draining",
        ended.unsettled() + " messages",
        ended.unsettled() == 0);
    long ends =
        status.accepted()
            + status.retried()
            + status.rejected()
            + status.stale()
            + status.duplicates();
    long back = status.givenBack();
    findings.check(
        "ledger",
        "every message taken has one end",
        String.format(
            "%,d taken; %,d accepted, retried, rejected, stale or dropped; %,d given back, those"
                + " that were never taken among them",
            status.taken(), ends, back),
        ends <= status.taken() && status.taken() <= ends + back);
    findings.check(
        "state",
        "the consumer never had to give up",
        status.lastLoss().isEmpty() ? "no loss" : "last loss: " + status.lastLoss(),
        status.state() != ConsumerStatus.State.FAILED);
    if (!fed) {
      return;
    }
    findings.check(
        "lost",
        "every message that was confirmed is handled, or still there",
        String.format(
            "%,d sent, %,d handled, %,d left, %,d lost",
            sum.stored(), sum.handled(), sum.left(), sum.lost()),
        sum.lost() == 0);
    if (ordering != Ordering.NONE) {
      findings.check(
          "order",
          "no message is begun after a later one "
              + (ordering == Ordering.TOTAL ? "" : "of its key"),
          sum.outOfOrder() + " are",
          sum.outOfOrder() == 0);
    }
  }
}
