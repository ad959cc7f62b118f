/**
 * Returns true if a value is an instance of a class. A thrown value may be a proxy whose traps
 * throw, which counts as no instance.
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
