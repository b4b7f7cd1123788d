package io.floatvalve.examples.lines;

/**
 * One line of the input.
 *
 * @param number from 1
 * @param bytes without the line's end; the first part of it where it is too long
 * @param tooLong whether it is longer than a message may be
 */
@SuppressWarnings("ArrayRecordComponent") // never compared; copying each line would cost
public record Line(long number, byte[] bytes, boolean tooLong) {}
