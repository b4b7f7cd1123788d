package io.floatvalve.examples.consume;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class AccountTest {
  private final Account account = new Account();

  @Test
  void storedAndNeitherHandledNorLeft_isLost() {
    for (int number = 0; number < 5; number++) {
      account.stored(number);
    }
    account.handled(0);
    account.handled(1);
    account.left(2);

    Account.Sum sum = account.sum();

    assertThat(sum.stored()).isEqualTo(5);
    assertThat(sum.handled()).isEqualTo(2);
    assertThat(sum.left()).isEqualTo(1);
    assertThat(sum.lost()).isEqualTo(2);
  }

  @Test
  void inDoubt_isNeverLost() {
    account.doubted(7);

    assertThat(account.sum().lost()).isZero();
    assertThat(account.sum().doubted()).isEqualTo(1);
  }

  @Test
  void handledTwice_isCountedAsAgain_andNoLongerLeft() {
    account.stored(3);
    account.handled(3);
    account.handled(3);
    account.left(3);

    Account.Sum sum = account.sum();

    assertThat(sum.again()).isEqualTo(1);
    assertThat(sum.left()).isZero();
  }

  @Test
  void beginningBehindALaterOne_isOutOfOrder_perSequence() {
    account.begun("a", 1);
    account.begun("b", 0);
    account.begun("a", 3);
    account.begun("a", 2);

    assertThat(account.sum().outOfOrder()).isEqualTo(1);
  }

  @Test
  void handledAgain_isNotOutOfOrder() {
    account.begun("a", 1);
    account.handled(1);
    account.begun("a", 2);
    account.begun("a", 1);

    assertThat(account.sum().outOfOrder()).isZero();
  }
}
