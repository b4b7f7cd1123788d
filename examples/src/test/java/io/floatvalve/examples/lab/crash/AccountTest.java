package io.floatvalve.examples.lab.crash;

import static org.assertj.core.api.Assertions.assertThat;

import io.floatvalve.examples.lab.crash.Load.Told;
import io.floatvalve.publish.PublishOutcome.Verdict;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class AccountTest {
  private static final List<Told> ALL =
      List.of(
          told("confirmed", Verdict.CONFIRMED),
          told("returned", Verdict.RETURNED),
          told("nacked", Verdict.NACKED),
          told("unknown", Verdict.UNKNOWN),
          told("unsent", Verdict.NOT_SENT));

  private static Told told(String id, @Nullable Verdict verdict) {
    return new Told(id, 1_000, verdict == null ? 0 : 1, verdict, 7_000_000);
  }

  @Test
  void unknownAndNacked_mayBeStoredOrNot() {
    for (List<String> stored :
        List.of(List.of("confirmed"), List.of("confirmed", "unknown", "nacked"))) {
      Account account = Account.of(ALL, stored, 0);

      assertThat(account.isTrue()).isTrue();
      assertThat(account.published()).isEqualTo(5);
      assertThat(account.stored()).isEqualTo(stored.size());
      assertThat(account.counts()).containsOnlyKeys(Verdict.values()).doesNotContainValue(0);
      assertThat(account.longest()).isEqualTo(Duration.ofMillis(7));
    }
  }

  @Test
  void aConfirmedOneThatIsNotStored_isLost_unlessItsQueueWasDeletedSince() {
    assertThat(Account.of(ALL, List.of(), 1_000).lost()).isEqualTo(1);
    assertThat(Account.of(ALL, List.of(), 1_000).isTrue()).isFalse();
    assertThat(Account.of(ALL, List.of(), 1_001).isTrue()).isTrue();
  }

  @Test
  void aReturnedOrUnsentOneThatIsStored_isUntrue() {
    for (String id : List.of("returned", "unsent")) {
      Account account = Account.of(ALL, List.of("confirmed", id), 0);

      assertThat(account.untrue()).isEqualTo(1);
      assertThat(account.isTrue()).isFalse();
    }
  }

  @Test
  void aCopy_isSeen() {
    Account account = Account.of(ALL, List.of("confirmed", "confirmed"), 0);

    assertThat(account.twice()).isEqualTo(1);
    assertThat(account.isTrue()).isFalse();
  }

  @Test
  void noOutcomeOrTwo_isOpen() {
    List<Told> all = new ArrayList<>(ALL);
    all.add(told("nothing", null));
    all.add(new Told("both", 1_000, 2, Verdict.CONFIRMED, 0));

    Account account = Account.of(all, List.of("confirmed", "both"), 0);

    assertThat(account.open()).isEqualTo(2);
    assertThat(account.isTrue()).isFalse();
  }
}
