/** How much the codes compute, counted in their WGSL. */
import { functionsOf } from "../analysis/callGraph.ts";
import { estimateWork } from "../analysis/workEstimate.ts";
import { type SchemeName, schemes } from "../codes/scheme.ts";
import { parse } from "../wgsl/parser.ts";
import { resolve } from "../wgsl/resolve/index.ts";

/**
 * Operations of WGSL on words. A rotation counts as three, though many devices have an instruction
 * for it.
 */
export interface CodeOperations {
  /** Of a whole granule. */
  readonly encode: number;
  readonly syndrome: number;
  /** Of one word whose position in the granule is known only when the kernel runs. */
  readonly contribution: number;
}

const counted = new Map<SchemeName, CodeOperations>();

export function codeOperations(scheme: SchemeName): CodeOperations {
  const known = counted.get(scheme);
  if (known) return known;
  const program = resolve(parse(schemes[scheme].wgsl("")).module);
  const functions = new Map(functionsOf(program).map((fn) => [fn.name, fn]));
  const of = (name: string) => estimateWork(program, functions.get(name)!).operations;
  const operations = { encode: of("encode"), syndrome: of("syndrome"), contribution: of("contribution") };
  counted.set(scheme, operations);
  return operations;
}
