package io.floatvalve.pulsar;

import java.nio.file.Path;

/** Where the certificate lies that we show, and its key. */
record ClientKey(Path certificate, Path key) {}
