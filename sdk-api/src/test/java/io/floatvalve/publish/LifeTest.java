package io.floatvalve.publish;

import static org.assertj.core.api.Assertions.assertThat;

import io.floatvalve.publish.Life.Event;
import org.junit.jupiter.api.Test;

class LifeTest {

  @Test
  void noEvent_leadsBack() {
    for (Life life : Life.values()) {
      for (Event event : Event.values()) {
        Life after = life.on(event);
        if (life == Life.CLOSED) {
          assertThat(after).isEqualTo(Life.CLOSED);
        }
        if (life.closing()) {
          assertThat(after.takes()).as("%s on %s", life, event).isFalse();
        }
      }
    }
  }

  @Test
  void closing_keepsWhatTheLinkDoes() {
    for (Life life : Life.values()) {
      if (life != Life.CLOSED) {
        assertThat(life.on(Event.CLOSE).sends()).as("%s", life).isEqualTo(life.sends());
      }
    }
  }

  @Test
  void onlyALink_makesItSendAfterALoss() {
    for (Life life : Life.values()) {
      Life lost = life.on(Event.LOST);
      for (Event event : Event.values()) {
        if (event != Event.LINKED) {
          assertThat(lost.on(event).sends()).as("%s, lost, %s", life, event).isFalse();
        }
      }
      assertThat(lost.on(Event.LINKED).sends()).isEqualTo(life != Life.CLOSED);
    }
  }

  @Test
  void everyState_sendsOnlyWhenLinkedAndNotBlocked() {
    assertThat(Life.OPEN.on(Event.BLOCKED).sends()).isFalse();
    assertThat(Life.OPEN.on(Event.BLOCKED).on(Event.UNBLOCKED)).isEqualTo(Life.OPEN);
    assertThat(Life.CLOSING.on(Event.BLOCKED).on(Event.UNBLOCKED)).isEqualTo(Life.CLOSING);
    assertThat(Life.RECOVERING.on(Event.UNBLOCKED)).isEqualTo(Life.RECOVERING);
    assertThat(Life.RECOVERING.on(Event.BLOCKED)).isEqualTo(Life.RECOVERING);
  }

  @Test
  void untilItCloses_itTakes() {
    for (Life life : Life.values()) {
      assertThat(life.takes()).as("%s", life).isEqualTo(!life.closing());
    }
    assertThat(Life.OPEN.takes()).isTrue();
    assertThat(Life.RECOVERING.takes()).isTrue();
    assertThat(Life.CLOSING.takes()).isFalse();
  }
}
