package io.floatvalve.pulsar;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Holds this module to its rules: one public type, few libraries, one place that knows insides. */
final class ArchitectureTest {
  private static final JavaClasses OURS =
      new ClassFileImporter()
          .withImportOption(new ImportOption.DoNotIncludeTests())
          .importPackages("io.floatvalve.pulsar");

  /** What is in a message stays bytes: an object made from them could do anything. */
  @Test
  void nothing_isDeserialised() {
    noClasses()
        .should()
        .dependOnClassesThat()
        .haveNameMatching(
            "java\\.io\\.Object(Input|Output)Stream|java\\.beans\\.XML.*|java\\.rmi\\..*"
                + "|javax\\.management\\..*|javax\\.naming\\..*")
        .check(OURS);
  }

  @Test
  void oneTypeIsPublic() {
    Stream<JavaClass> visible =
        OURS.stream()
            .filter(c -> c.isTopLevelClass() && c.getModifiers().contains(JavaModifier.PUBLIC));

    assertThat(visible).extracting(JavaClass::getSimpleName).containsExactly("PulsarBroker");
  }

  @Test
  void librariesAreFew_andTheClientIsSeenByItsApiAlone() {
    classes()
        .should()
        .onlyDependOnClassesThat()
        .resideInAnyPackage(
            "java..",
            "javax.net.ssl",
            "org.jspecify..",
            "org.slf4j..",
            "org.apache.pulsar.client.api..",
            "io.floatvalve.pulsar",
            "io.floatvalve.spi",
            "io.floatvalve.explain", // BrokerView alone is made here
            "io.floatvalve.model")
        .check(OURS);
  }

  /** A name in quotes is no dependency: it is looked for in the constants of the class files. */
  @Test
  void insidesOfTheClientAreNamedByTheBridgeAlone() throws IOException, URISyntaxException {
    URI here = PulsarBroker.class.getProtectionDomain().getCodeSource().getLocation().toURI();
    List<String> naming;
    try (Stream<Path> files = Files.walk(Path.of(here))) {
      naming =
          files
              .filter(file -> file.toString().endsWith(".class"))
              .filter(file -> text(file).contains("pulsar.client.impl"))
              .map(file -> String.valueOf(file.getFileName()))
              .toList();
    }

    assertThat(naming).containsExactly("PermitBridge.class");
  }

  private static String text(Path file) {
    try {
      return Files.readString(file, StandardCharsets.ISO_8859_1).replace('/', '.');
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }
}
