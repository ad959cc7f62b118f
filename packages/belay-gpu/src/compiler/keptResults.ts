import type { CompilerOptions, CompilerResult } from "./contract.ts";
import { protect } from "./protect.ts";

/** The most results that are kept: enough for a program that opens a second device. */
const KEPT_RESULTS = 128;

/** The results that were asked for last, the latest one at the end. */
const kept = new Map<string, CompilerResult>();

/**
 * Protects a module as `protect` does. Equal arguments soon afterwards get the same result, also
 * for another device.
 */
export function protectOnce(wgsl: string, options: CompilerOptions = {}): CompilerResult {
  const { features = [], constants = {} } = options;
  // As texts, as JSON has neither NaN nor infinities.
  const values = Object.entries(constants).map(([name, value]) => [name, String(value)]);
  const listed = { features: [...features].sort(), constants: values.sort() };
  const key = JSON.stringify([{ ...options, ...listed }, wgsl]);
  const result = kept.get(key) ?? protect(wgsl, options);
  kept.delete(key);
  kept.set(key, result);
  for (const oldest of kept.keys()) if (kept.size > KEPT_RESULTS) kept.delete(oldest);
  return result;
}
