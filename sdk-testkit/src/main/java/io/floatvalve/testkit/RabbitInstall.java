package io.floatvalve.testkit;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;

/**
 * Where a RabbitMQ lies on this machine and how its programs are run: directly, or inside a
 * directory that they take for the root of the file system.
 *
 * @param root the directory that the programs see as {@code /}; {@code /} itself when installed
 * @param bin the folder of {@code rabbitmq-server}, as the programs see it
 */
record RabbitInstall(RabbitNode.How how, Path root, String bin) {
  static final String GIVEN = "FLOATVALVE_RABBIT";
  static final String CHROOT = "FLOATVALVE_RABBIT_CHROOT";
  static final String BIN = "FLOATVALVE_RABBIT_BIN";

  private static final String DEBIAN_BIN = "/usr/lib/rabbitmq/bin";
  private static final List<String> USUAL_BINS =
      List.of(
          DEBIAN_BIN,
          "/opt/rabbitmq/sbin",
          "/usr/lib/rabbitmq/sbin",
          "/opt/homebrew/opt/rabbitmq/sbin",
          "/usr/local/opt/rabbitmq/sbin",
          "/usr/local/sbin");

  /** Finds an installation, or says why there is none to use. */
  static Found find(Map<String, String> environment, String user) {
    String chroot = environment.get(CHROOT);
    if (chroot != null && !chroot.isBlank()) {
      return inChroot(Path.of(chroot).toAbsolutePath(), user);
    }
    List<String> bins = new ArrayList<>();
    String given = environment.get(BIN);
    if (given != null && !given.isBlank()) {
      bins.add(given);
    } else {
      bins.addAll(USUAL_BINS);
    }
    for (String bin : bins) {
      if (Files.isExecutable(Path.of(bin, "rabbitmq-server"))) {
        return new Found(
            Optional.of(new RabbitInstall(RabbitNode.How.INSTALLED, Path.of("/"), bin)), "");
      }
    }
    return Found.none(
        "no rabbitmq-server in "
            + String.join(", ", bins)
            + "; install RabbitMQ, or set "
            + BIN
            + " to the folder of rabbitmq-server, or "
            + GIVEN
            + " to the address of a broker");
  }

  private static Found inChroot(Path root, String user) {
    if (!Files.isExecutable(root.resolve(DEBIAN_BIN.substring(1)).resolve("rabbitmq-server"))) {
      return Found.none(CHROOT + "=" + root + " holds no " + DEBIAN_BIN + "/rabbitmq-server");
    }
    if (!user.equals("root")) {
      return Found.none(CHROOT + " needs root, and this process runs as " + user);
    }
    if (!Files.exists(root.resolve("proc/self"))) {
      return Found.none("mount /proc at " + root.resolve("proc") + " before using " + CHROOT);
    }
    return new Found(Optional.of(new RabbitInstall(RabbitNode.How.CHROOT, root, DEBIAN_BIN)), "");
  }

  /** Makes an empty folder for a node's files and returns its path on the host. */
  Path newFolder(Path scratch) throws IOException {
    Path parent =
        how == RabbitNode.How.CHROOT
            ? root.resolve("var/tmp/floatvalve")
            : scratch.toAbsolutePath();
    return Files.createDirectories(parent.resolve("rabbit-" + UUID.randomUUID()));
  }

  /** Translates a path on the host to what the programs call it. */
  String seen(Path onHost) {
    return how == RabbitNode.How.CHROOT ? "/" + root.relativize(onHost) : onHost.toString();
  }

  /** Prepares a program of the installation, or one on its path when the name has no slash. */
  ProcessBuilder command(Map<String, String> settings, List<String> commandLine) {
    List<String> line = new ArrayList<>();
    if (how == RabbitNode.How.CHROOT) {
      line.addAll(List.of("chroot", root.toString(), "/usr/bin/env", "-i"));
      line.add("PATH=/usr/sbin:/usr/bin:/sbin:/bin");
      settings.forEach((name, value) -> line.add(name + "=" + value));
    }
    line.addAll(commandLine);
    ProcessBuilder builder = new ProcessBuilder(line);
    if (how == RabbitNode.How.INSTALLED) {
      builder
          .environment()
          .keySet()
          .removeIf(name -> name.startsWith("RABBITMQ_") || name.startsWith("ERL_"));
      builder.environment().putAll(settings);
    }
    return builder;
  }

  /** An installation, or the reason why there is none. */
  record Found(Optional<RabbitInstall> install, String whyMissing) {
    static Found none(String why) {
      return new Found(Optional.empty(), why);
    }
  }
}
