package io.floatvalve.testkit;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The jars that a Pulsar broker runs from, as they lie in a Maven repository of this machine.
 *
 * <p>Their list comes from floatvalve-testkit-pulsar-broker, which is on the class path without
 * them: they hold another build of the classes that the Pulsar client has.
 */
record PulsarInstall(List<Path> jars) {
  static final String GIVEN = "FLOATVALVE_PULSAR";
  static final String GIVEN_ADMIN = "FLOATVALVE_PULSAR_ADMIN";
  static final String JARS = "FLOATVALVE_PULSAR_JARS";

  static final String MAIN = "io.floatvalve.testkit.pulsarbroker.BrokerMain";

  private static final String ARTIFACT = "floatvalve-testkit-pulsar-broker";
  private static final String PACKAGE = "io/floatvalve/testkit/pulsarbroker";
  private static final String LIST = PACKAGE + "/jars";
  private static final String MAIN_FILE = PACKAGE + "/BrokerMain.class";
  private static final String ROOT = "repository/";

  /** Finds the jars, or says which are missing and how to get them. */
  static Found find() {
    byte[] list = resource(LIST);
    if (list == null) {
      return Found.none(ARTIFACT + " is not on the class path; " + orGiven());
    }
    return find(new String(list, UTF_8), System.getenv(), System::getProperty);
  }

  static Found find(
      String list,
      Map<String, String> environment,
      UnaryOperator<@Nullable String> systemProperties) {
    List<String> names = new ArrayList<>();
    for (String name : list.strip().split(":", -1)) {
      names.add(name.startsWith(ROOT) ? name.substring(ROOT.length()) : name);
    }
    Set<Path> repositories = new LinkedHashSet<>();
    String stated = environment.get(JARS);
    if (stated != null && !stated.isBlank()) {
      repositories.add(Path.of(stated));
    } else {
      for (String property : List.of("maven.repo.local", "localRepository")) {
        String folder = systemProperties.apply(property);
        if (folder != null && !folder.isBlank()) {
          repositories.add(Path.of(folder));
        }
      }
      repositories.add(
          Path.of(String.valueOf(systemProperties.apply("user.home")), ".m2/repository"));
    }
    List<String> lacking = new ArrayList<>();
    for (Path repository : repositories) {
      List<Path> jars = names.stream().map(repository::resolve).toList();
      long missing = jars.stream().filter(jar -> !Files.isRegularFile(jar)).count();
      if (missing == 0) {
        return new Found(Optional.of(new PulsarInstall(jars)), "");
      }
      lacking.add(missing + " of " + names.size() + " jars of the broker lack in " + repository);
    }
    return Found.none(
        String.join(", ", lacking)
            + "; fetch them with mvn dependency:get -Dartifact=io.floatvalve:"
            + ARTIFACT
            + ":VERSION, or set "
            + JARS
            + " to the Maven repository that has them; "
            + orGiven());
  }

  private static String orGiven() {
    return "or set " + GIVEN + " to the address of a broker";
  }

  /**
   * Writes the broker's main class into a folder and returns the class path to run it with. The
   * class is copied because its own jar may be one that holds the client as well.
   */
  String classPath(Path folder) throws IOException {
    byte[] main = resource(MAIN_FILE);
    if (main == null) {
      throw new IOException(ARTIFACT + " has a list of jars and no " + MAIN_FILE);
    }
    Files.createDirectories(folder.resolve(PACKAGE));
    Files.write(folder.resolve(MAIN_FILE), main);
    StringBuilder path = new StringBuilder(folder.toString());
    jars.forEach(jar -> path.append(File.pathSeparatorChar).append(jar));
    return path.toString();
  }

  private static byte @Nullable [] resource(String name) {
    try (InputStream in = PulsarInstall.class.getClassLoader().getResourceAsStream(name)) {
      return in == null ? null : in.readAllBytes();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The jars, or the reason why there are none to use. */
  record Found(Optional<PulsarInstall> install, String whyMissing) {
    static Found none(String why) {
      return new Found(Optional.empty(), why);
    }
  }
}
