package io.floatvalve.testkit;

import java.util.Optional;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.platform.commons.support.AnnotationSupport;

/** Skips a test that has no broker, or fails it on a build server; gives out the shared broker. */
final class NeedsRabbitExtension implements ExecutionCondition, ParameterResolver {
  @Override
  public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
    boolean ownProcess =
        context
            .getElement()
            .flatMap(element -> AnnotationSupport.findAnnotation(element, NeedsRabbit.class))
            .map(NeedsRabbit::ownProcess)
            .orElse(false);
    return Missing.decide(
        context.getDisplayName(),
        ownProcess ? RabbitNode.whyNoProcess() : RabbitNode.whyMissing(),
        Missing.onBuildServer());
  }

  @Override
  public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
    return parameter.getParameter().getType() == RabbitNode.class;
  }

  @Override
  public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
    return RabbitNode.shared();
  }

  /** What becomes of a test whose broker is missing. */
  static final class Missing {
    private Missing() {}

    static boolean onBuildServer() {
      return "true".equalsIgnoreCase(System.getenv("CI"));
    }

    /**
     * Decides whether a test runs.
     *
     * @throws IllegalStateException if the broker is missing on a build server
     */
    static ConditionEvaluationResult decide(
        String test, Optional<String> whyMissing, boolean onBuildServer) {
      if (whyMissing.isEmpty()) {
        return ConditionEvaluationResult.enabled("there is a broker");
      }
      String reason = test + ": " + whyMissing.get();
      if (onBuildServer) {
        throw new IllegalStateException("with CI=true no test may be skipped; " + reason);
      }
      System.out.println("SKIPPED " + reason);
      return ConditionEvaluationResult.disabled(reason);
    }
  }
}
