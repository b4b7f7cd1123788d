package io.floatvalve.testkit;

import com.rabbitmq.client.Method;
import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * The arguments of an AMQP method in text, read by the getters of amqp-client's interface for it.
 */
final class AmqpText {
  /** The answer to the login challenge holds the password; the others are no arguments. */
  private static final Set<String> LEFT_OUT = Set.of("getResponse", "getClass");

  private static final ClassValue<Map<String, java.lang.reflect.Method>> GETTERS =
      new ClassValue<>() {
        @Override
        protected Map<String, java.lang.reflect.Method> computeValue(Class<?> type) {
          Map<String, java.lang.reflect.Method> getters = new TreeMap<>();
          for (Class<?> described : interfaces(type)) {
            for (java.lang.reflect.Method getter : described.getMethods()) {
              String name = getter.getName();
              if (name.startsWith("get")
                  && getter.getParameterCount() == 0
                  && !LEFT_OUT.contains(name)) {
                getters.put(hyphenated(name.substring("get".length())), getter);
              }
            }
          }
          return Collections.unmodifiableMap(getters);
        }
      };

  private AmqpText() {}

  /** Returns the arguments by their names in the protocol with hyphens, as {@code delivery-tag}. */
  static Map<String, String> of(Method method) {
    Map<String, String> arguments = new TreeMap<>();
    GETTERS
        .get(method.getClass())
        .forEach(
            (name, getter) -> {
              try {
                arguments.put(name, String.valueOf(getter.invoke(method)));
              } catch (IllegalAccessException | InvocationTargetException e) {
                throw new IllegalStateException("amqp-client's " + getter + " cannot be read", e);
              }
            });
    return Collections.unmodifiableMap(arguments);
  }

  private static List<Class<?>> interfaces(Class<?> type) {
    List<Class<?>> found = new ArrayList<>();
    for (Class<?> each : type.getInterfaces()) {
      if (Method.class.isAssignableFrom(each)) {
        found.add(each);
      }
    }
    return found;
  }

  private static String hyphenated(String camelCase) {
    return camelCase.replaceAll("(?<!^)([A-Z])", "-$1").toLowerCase(Locale.ROOT);
  }
}
