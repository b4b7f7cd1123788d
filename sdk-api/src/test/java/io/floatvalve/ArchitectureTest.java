package io.floatvalve;

import static com.tngtech.archunit.base.DescribedPredicate.describe;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.fields;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.methods;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaMethod;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.domain.JavaPackage;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchCondition;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.lang.ConditionEvents;
import com.tngtech.archunit.lang.SimpleConditionEvent;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.NullMarked;
import org.junit.jupiter.api.Test;

/** Holds this module to its rules: who may use whom, what a law may call, what may be public. */
final class ArchitectureTest {
  private static final JavaClasses OURS =
      new ClassFileImporter()
          .withImportOption(new ImportOption.DoNotIncludeTests())
          .importPackages("io.floatvalve");

  /** Pure by promise: what they decide depends on their arguments alone. */
  private static final Set<String> LAWS =
      Set.of(
          "AdaptiveWindow",
          "ByteGuard",
          "InFlightWindow",
          "Life",
          "PeakSecond",
          "Reduction",
          "ThrottleDetector");

  /** Packages of which all is a law. */
  private static final Set<String> ROOMS_OF_LAWS =
      Set.of("io.floatvalve.explain", "io.floatvalve.flow");

  /** Words that say nothing about what a type is. */
  private static final Set<String> EMPTY_WORDS =
      Set.of("Abstract", "Default", "Helper", "Impl", "Manager", "Util", "Utils");

  /** What is in a message stays bytes: an object made from them could do anything. */
  @Test
  void nothing_isDeserialised() {
    check(
        noClasses()
            .should()
            .dependOnClassesThat()
            .haveNameMatching(
                "java\\.io\\.Object(Input|Output)Stream|java\\.beans\\.XML.*|java\\.rmi\\..*"
                    + "|javax\\.management\\..*|javax\\.naming\\..*"));
  }

  @Test
  void model_usesTheJdkAlone() {
    check(onlyUses("model"));
  }

  @Test
  void flow_usesTheJdkAlone() {
    check(onlyUses("flow"));
  }

  @Test
  void event_usesTheJdkAlone() {
    check(onlyUses("event"));
  }

  @Test
  void latency_usesTheJdkAndHdrHistogramAlone() {
    check(onlyUses("latency", "org.HdrHistogram"));
  }

  @Test
  void rate_usesTheJdkResilience4jAndModelAlone() {
    check(onlyUses("rate", "io.github.resilience4j..", "io.floatvalve.model"));
  }

  @Test
  void spi_usesTheJdkAndModelAlone() {
    check(onlyUses("spi", "io.floatvalve.model", "javax.net.ssl"));
  }

  @Test
  void theModule_usesNoLibraryButItsOwnFew() {
    check(
        classes()
            .that()
            .resideOutsideOfPackage("io.floatvalve.metrics..")
            .should()
            .onlyDependOnClassesThat()
            .resideInAnyPackage(
                "java..",
                "javax.net.ssl",
                "org.jspecify..",
                "io.floatvalve..",
                "org.HdrHistogram..",
                "io.github.resilience4j..",
                "org.slf4j.."));
  }

  @Test
  void metrics_aloneSeesMicrometerAndOpenTelemetry() {
    check(
        noClasses()
            .that()
            .resideOutsideOfPackage("io.floatvalve.metrics..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("io.micrometer..", "io.opentelemetry.."));
  }

  @Test
  void publish_neverUsesConsume() {
    check(
        noClasses()
            .that()
            .resideInAPackage("io.floatvalve.publish..")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("io.floatvalve.consume.."));
  }

  @Test
  void theRootPackage_isUsedByNobody() {
    check(
        noClasses()
            .that()
            .resideOutsideOfPackage("io.floatvalve")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("io.floatvalve"));
  }

  @Test
  void packages_formNoCycle() {
    slices().matching("io.floatvalve.(*)..").should().beFreeOfCycles().check(OURS);
  }

  @Test
  void laws_callNoClock() {
    check(noClasses().that(isLaw()).should().accessTargetWhere(isClock()));
  }

  @Test
  void laws_nameNoClockThreadOrConcurrency() {
    check(
        noClasses()
            .that(isLaw())
            .should()
            .dependOnClassesThat()
            .resideInAPackage("java.util.concurrent..")
            .orShould()
            .dependOnClassesThat()
            .belongToAnyOf(
                Thread.class,
                java.time.Clock.class,
                java.time.InstantSource.class,
                java.util.Timer.class));
  }

  @Test
  void laws_holdNoLock() {
    check(
        methods()
            .that()
            .areDeclaredInClassesThat(isLaw())
            .should()
            .notHaveModifier(JavaModifier.SYNCHRONIZED));
  }

  @Test
  void names_holdNoEmptyWord() {
    check(classes().should(notBeNamedWithAnEmptyWord()));
  }

  @Test
  void classes_areFinalOrMadeToBeExtended() {
    check(
        classes()
            .that(describe("are classes of ours", c -> !c.isInterface() && !c.isAnonymousClass()))
            .should(beFinalOrAbstractOrSealed()));
  }

  @Test
  void implementations_hideBehindTheirInterface() {
    check(
        classes()
            .that(describe("implement an open interface of ours", c -> openInterfaces(c) > 0))
            .should()
            .notBePublic());
  }

  @Test
  void publicMethods_nameOnlyPublicTypes() {
    check(
        methods()
            .that()
            .arePublic()
            .and()
            .areDeclaredInClassesThat(describe("are public to the outermost", c -> visible(c)))
            .should(nameOnlyPublicTypes()));
  }

  @Test
  void publicFields_areConstants() {
    check(fields().that().arePublic().should().beStatic().andShould().beFinal());
  }

  @Test
  void packages_areNullMarked() {
    Stream<JavaPackage> populated =
        OURS.stream().map(JavaClass::getPackage).distinct().filter(p -> !p.getClasses().isEmpty());

    assertThat(populated.filter(p -> !p.isAnnotatedWith(NullMarked.class)))
        .as("packages without @NullMarked")
        .isEmpty();
  }

  private static void check(ArchRule rule) {
    rule.allowEmptyShould(true).check(OURS);
  }

  private static ArchRule onlyUses(String room, String... others) {
    String own = "io.floatvalve." + room + "..";
    String[] allowed =
        Stream.concat(Stream.of("java..", "org.jspecify..", own), Stream.of(others))
            .toArray(String[]::new);
    return classes()
        .that()
        .resideInAPackage(own)
        .should()
        .onlyDependOnClassesThat()
        .resideInAnyPackage(allowed);
  }

  private static DescribedPredicate<JavaClass> isLaw() {
    return describe(
        "are laws",
        c ->
            LAWS.contains(outermost(c).getSimpleName())
                || ROOMS_OF_LAWS.contains(c.getPackageName()));
  }

  /** Reads the time by whatever name, also by a method reference. */
  private static DescribedPredicate<JavaAccess<?>> isClock() {
    return describe(
        "reads a clock",
        access -> {
          String owner = access.getTargetOwner().getName();
          String name = access.getTarget().getName();
          return (owner.equals("java.lang.System")
                  && Set.of("nanoTime", "currentTimeMillis").contains(name))
              || (owner.startsWith("java.time.") && name.equals("now"))
              || (owner.equals("java.util.Date") && name.equals("<init>"));
        });
  }

  private static ArchCondition<JavaClass> notBeNamedWithAnEmptyWord() {
    return new ArchCondition<>("be named without " + EMPTY_WORDS) {
      @Override
      public void check(JavaClass c, ConditionEvents events) {
        for (String word : c.getSimpleName().split("(?=[A-Z])", -1)) {
          if (EMPTY_WORDS.contains(word)) {
            events.add(SimpleConditionEvent.violated(c, c.getName() + " says " + word));
          }
        }
      }
    };
  }

  private static ArchCondition<JavaClass> beFinalOrAbstractOrSealed() {
    return new ArchCondition<>("be final, abstract or sealed") {
      @Override
      public void check(JavaClass c, ConditionEvents events) {
        boolean closed =
            c.getModifiers().contains(JavaModifier.FINAL)
                || c.getModifiers().contains(JavaModifier.ABSTRACT)
                || c.isEnum()
                || c.reflect().isSealed();
        if (!closed) {
          events.add(SimpleConditionEvent.violated(c, c.getName() + " can be extended by anyone"));
        }
      }
    };
  }

  private static ArchCondition<JavaMethod> nameOnlyPublicTypes() {
    return new ArchCondition<>("name only public types") {
      @Override
      public void check(JavaMethod method, ConditionEvents events) {
        if (method.getModifiers().contains(JavaModifier.SYNTHETIC)) {
          return;
        }
        List<JavaClass> hidden =
            method.getAllInvolvedRawTypes().stream()
                .map(JavaClass::getBaseComponentType)
                .filter(c -> c.getPackageName().startsWith("io.floatvalve") && !visible(c))
                .toList();
        if (!hidden.isEmpty()) {
          events.add(
              SimpleConditionEvent.violated(method, method.getFullName() + " names " + hidden));
        }
      }
    };
  }

  /** Counts the interfaces of ours that anyone may implement. */
  private static long openInterfaces(JavaClass c) {
    if (c.isInterface()) {
      return 0;
    }
    return c.getAllRawInterfaces().stream()
        .filter(i -> i.getPackageName().startsWith("io.floatvalve"))
        .filter(i -> !i.reflect().isSealed())
        .count();
  }

  private static boolean visible(JavaClass c) {
    return c.getModifiers().contains(JavaModifier.PUBLIC)
        && c.getEnclosingClass().map(ArchitectureTest::visible).orElse(true);
  }

  private static JavaClass outermost(JavaClass c) {
    return c.getEnclosingClass().map(ArchitectureTest::outermost).orElse(c);
  }
}
