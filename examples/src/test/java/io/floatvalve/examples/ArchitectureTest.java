package io.floatvalve.examples;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.junit.jupiter.api.Test;

class ArchitectureTest {
  private static final JavaClasses CLASSES =
      new ClassFileImporter()
          .withImportOption(new ImportOption.DoNotIncludeTests())
          .importPackages("io.floatvalve.examples");

  @Test
  void examples_neverUseTheSpi() {
    noClasses()
        .should()
        .dependOnClassesThat()
        .resideInAPackage("io.floatvalve.spi..")
        .check(CLASSES);
  }

  @Test
  void packages_haveNoCycles() {
    slices().matching("io.floatvalve.examples.(*)..").should().beFreeOfCycles().check(CLASSES);
  }
}
