/** Counts the operations of the codes in their WGSL. */
import { functionsOf } from "belay-gpu/internal/analysis/callGraph";
import { estimateWork } from "belay-gpu/internal/analysis/workEstimate";
import type { MemoryScheme } from "belay-gpu/internal/ecc/scheme";
import { parse } from "belay-gpu/internal/wgsl/parser";
import { resolve } from "belay-gpu/internal/wgsl/resolve/index";

/**
 * The operations of a code on words. A rotation counts as three, although many devices have an
 * instruction for it.
 */
export interface CodeOperations {
  /** The operations to encode a whole granule. */
  readonly encode: number;
  /** The operations to compute the syndrome of a whole granule. */
  readonly syndrome: number;
  /** The operations for one word whose position in the granule is known only at run time. */
  readonly contribution: number;
}

const counted = new WeakMap<MemoryScheme, CodeOperations>();

/** Returns the operations of a code. */
export function codeOperations(scheme: MemoryScheme): CodeOperations {
  const known = counted.get(scheme);
  if (known) return known;
  const program = resolve(parse(scheme.wgsl("")).module);
  const functions = new Map(functionsOf(program).map((fn) => [fn.name, fn]));
  const of = (name: string) => estimateWork(program, functions.get(name)!).operations;
  const operations = { encode: of("encode"), syndrome: of("syndrome"), contribution: of("contribution") };
  counted.set(scheme, operations);
  return operations;
}
