package io.floatvalve.testkit;

import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.platform.commons.support.AnnotationSupport;

/** Skips a test that has no broker, or fails it on a build server; gives out the shared broker. */
final class NeedsPulsarExtension implements ExecutionCondition, ParameterResolver {
  @Override
  public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
    boolean ownProcess =
        context
            .getElement()
            .flatMap(element -> AnnotationSupport.findAnnotation(element, NeedsPulsar.class))
            .map(NeedsPulsar::ownProcess)
            .orElse(false);
    return NeedsRabbitExtension.Missing.decide(
        context.getDisplayName(),
        ownProcess ? PulsarNode.whyNoProcess() : PulsarNode.whyMissing(),
        NeedsRabbitExtension.Missing.onBuildServer());
  }

  @Override
  public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
    return parameter.getParameter().getType() == PulsarNode.class;
  }

  @Override
  public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
    return PulsarNode.shared();
  }
}
