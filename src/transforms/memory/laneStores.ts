/** Stores of elements smaller than a granule, for which the lanes of a subgroup make the check word together. */
import type { MemoryAccess } from "../../analysis/memoryAccesses.ts";
import { rootVariable } from "../../analysis/places.ts";
import type { FunctionDeclaration, GlobalVariable } from "../../wgsl/ast.ts";
import { sizeOf } from "../../wgsl/layout.ts";
import type { Program } from "../../wgsl/program.ts";
import { type AnyNode, children } from "../../wgsl/traverse.ts";
import type { Type } from "../../wgsl/types.ts";

/**
 * The bytes of an element, where a kernel only stores to a buffer, at one place in its text and at most once in each
 * invocation. So no word is stored twice, by whichever lanes, and the updates of a check word may come in any order.
 */
export function laneElement(
  program: Program,
  kernel: FunctionDeclaration,
  variable: GlobalVariable,
  accesses: readonly MemoryAccess[],
): 4 | 8 | undefined {
  const [store, ...others] = accesses;
  if (!store?.place || store.kind !== "store" || others.length > 0) return undefined;
  if (new StoreCount(program, variable).ofFunction(kernel) !== 1) return undefined;
  return isWords(store.place.type) ? (sizeOf(store.place.type) as 4 | 8) : undefined;
}

/** A scalar of four bytes, or two of them. */
function isWords(type: Type): boolean {
  const element = type.kind === "vector" && type.size === 2 ? type.element : type;
  return element.kind === "scalar" && sizeOf(element) === 4;
}

/** How often an invocation may store to a variable. */
class StoreCount {
  readonly #program: Program;
  readonly #variable: GlobalVariable;
  readonly #counts = new Map<FunctionDeclaration, number>();

  constructor(program: Program, variable: GlobalVariable) {
    this.#program = program;
    this.#variable = variable;
  }

  ofFunction(fn: FunctionDeclaration): number {
    const known = this.#counts.get(fn);
    if (known !== undefined) return known;
    const count = this.#of(fn.body);
    this.#counts.set(fn, count);
    return count;
  }

  #of(node: AnyNode): number {
    let count = 0;
    for (const child of children(node)) count += this.#of(child);
    if (node.kind === "assign" && node.target) {
      if (rootVariable(this.#program, node.target)?.variable === this.#variable) count += 1;
    }
    if (node.kind === "call") {
      const target = this.#program.targetOf(node.callee);
      if (target?.kind === "function") count += this.ofFunction(target);
    }
    const isLoop = node.kind === "loop" || node.kind === "for" || node.kind === "while";
    return isLoop && count > 0 ? Number.POSITIVE_INFINITY : count;
  }
}
