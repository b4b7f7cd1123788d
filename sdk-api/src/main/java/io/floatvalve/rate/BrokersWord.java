package io.floatvalve.rate;

import java.util.Locale;
import java.util.regex.Pattern;

/** Tells whether a broker's words say that it limits us. */
public final class BrokersWord {
  private static final Pattern LIMIT =
      Pattern.compile(
          "\\b530\\b.*denied|too many requests|quota ?exceeded|exceeded.*quota|rate.?limit|throttl"
              + "|backlog quota|low on (memory|disk)",
          Pattern.DOTALL);

  private BrokersWord() {}

  /** Returns whether the words mean a limit of the broker's; of unknown words, false. */
  public static boolean isLimit(String words) {
    return LIMIT.matcher(words.toLowerCase(Locale.ROOT)).find();
  }
}
