package io.floatvalve.examples.perf;

import io.floatvalve.examples.cli.Findings;
import io.floatvalve.latency.LatencySnapshot;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a load came to.
 *
 * @param latency of all publishers and consumers, without the warm-up
 * @param figures numbers by name, each with its unit in the name
 * @param folder where its log lies, or null
 */
public record LoadResult(
    Load load,
    LatencySnapshot latency,
    Map<String, Number> figures,
    List<Map<String, Number>> samples,
    List<Map<String, Object>> events,
    @Nullable Path folder) {

  /** Returns a figure, or 0 if there is none of that name. */
  public double figure(String name) {
    Number value = figures.get(name);
    return value == null ? 0 : value.doubleValue();
  }

  /** Adds the figures, with a prefix to their names. */
  public void figuresTo(Findings findings, String prefix) {
    figures.forEach((name, value) -> findings.figure(prefix + name, value));
  }
}
