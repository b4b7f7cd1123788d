package io.floatvalve.rabbit;

import static com.tngtech.archunit.base.DescribedPredicate.describe;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchRule;
import org.junit.jupiter.api.Test;

class ArchitectureTest {
  private static final JavaClasses MAIN =
      new ClassFileImporter()
          .withImportOption(new ImportOption.DoNotIncludeTests())
          .importPackages("io.floatvalve.rabbit");

  /** What is in a message stays bytes: an object made from them could do anything. */
  @Test
  void nothing_isDeserialised() {
    noClasses()
        .should()
        .dependOnClassesThat()
        .haveNameMatching(
            "java\\.io\\.Object(Input|Output)Stream|java\\.beans\\.XML.*|java\\.rmi\\..*"
                + "|javax\\.management\\..*|javax\\.naming\\..*")
        .check(MAIN);
  }

  @Test
  void onlyTheBrokerIsPublic() {
    ArchRule rule =
        classes()
            .that()
            .areTopLevelClasses()
            .and(describe("are public", c -> c.getModifiers().contains(JavaModifier.PUBLIC)))
            .should()
            .haveSimpleName("RabbitBroker");

    rule.check(MAIN);
  }

  @Test
  void anAdapterUsesItsClientAndTheSpiAlone() {
    ArchRule rule =
        classes()
            .should()
            .onlyDependOnClassesThat(
                JavaClass.Predicates.resideInAnyPackage(
                    "java..",
                    "javax.net..",
                    "org.slf4j..",
                    "com.rabbitmq..",
                    "org.jspecify..",
                    "io.floatvalve.spi",
                    "io.floatvalve.explain", // BrokerView alone is made here
                    "io.floatvalve.model",
                    "io.floatvalve.rabbit"));

    rule.check(MAIN);
  }

  @Test
  void nothingOfTheClientsInternalsIsUsed() {
    ArchRule rule =
        noClasses().should().dependOnClassesThat().resideInAPackage("com.rabbitmq.client.impl..");

    rule.check(MAIN);
  }
}
