package io.floatvalve.examples.cli;

/**
 * One thing that was to be seen.
 *
 * @param id its name, such as {@code C2}
 * @param expected what should be seen
 * @param observed what was seen in this run
 * @param ok whether what was seen is what should be
 */
public record Check(String id, String expected, String observed, boolean ok) {}
