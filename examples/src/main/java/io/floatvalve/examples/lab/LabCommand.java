package io.floatvalve.examples.lab;

import io.floatvalve.examples.lab.crash.CrashLab;
import io.floatvalve.examples.lab.explain.ExplainLab;
import io.floatvalve.examples.lab.permits.PermitsLab;
import io.floatvalve.examples.lab.quota.QuotaLab;
import picocli.CommandLine.Command;

/** The experiments, one command each. */
@Command(
    name = "lab",
    mixinStandardHelpOptions = true,
    description = "Experiments on a real broker, one table each.",
    subcommands = {
      ConfirmsLab.class,
      PermitsLab.class,
      CrashLab.class,
      ExplainLab.class,
      QuotaLab.class,
      SizesLab.class
    })
public final class LabCommand {}
