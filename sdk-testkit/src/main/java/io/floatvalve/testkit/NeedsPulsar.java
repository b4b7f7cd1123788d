package io.floatvalve.testkit;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Marks a test, or a class of tests, that needs a Pulsar broker.
 *
 * <p>Where there is none, the test is skipped and the reason printed; with {@code CI=true} in the
 * environment it fails instead, so that a build cannot pass by testing nothing. A parameter of type
 * {@link PulsarNode} of a test, a life-cycle method or a constructor is given {@link
 * PulsarNode#shared}.
 */
@Documented
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(NeedsPulsarExtension.class)
public @interface NeedsPulsar {
  /**
   * Tells that the test starts, stops, kills or halts nodes or goes through a node's proxy, so that
   * a broker given by its address does not do.
   */
  boolean ownProcess() default false;
}
