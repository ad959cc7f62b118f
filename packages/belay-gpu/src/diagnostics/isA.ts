/**
 * Whether a value is an instance of a class. What a program throws may be a proxy that throws when
 * it is asked.
 */
export function isA<T extends object>(
  value: unknown,
  type: abstract new (...given: never[]) => T,
): value is T {
  try {
    return value instanceof type;
  } catch {
    return false;
  }
}
