/** How much the codes compute, counted in their WGSL. */
import { functionsOf } from "../analysis/callGraph.ts";
import { estimateWork } from "../analysis/workEstimate.ts";
import type { MemoryScheme } from "../codes/scheme.ts";
import { parse } from "../wgsl/parser.ts";
import { resolve } from "../wgsl/resolve/index.ts";

/** Operations of WGSL on words. A rotation counts as three, though many devices have an instruction for it. */
export interface CodeOperations {
  /** Of a whole granule. */
  readonly encode: number;
  readonly syndrome: number;
  /** Of one word whose position in the granule is known only when the kernel runs. */
  readonly contribution: number;
}

export function codeOperations(scheme: MemoryScheme): CodeOperations {
  const program = resolve(parse(scheme.wgsl("")).module);
  const functions = new Map(functionsOf(program).map((fn) => [fn.name, fn]));
  const of = (name: string) => estimateWork(program, functions.get(name)!).operations;
  return { encode: of("encode"), syndrome: of("syndrome"), contribution: of("contribution") };
}
