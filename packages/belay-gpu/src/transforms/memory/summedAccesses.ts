/** The decision if a kernel can sum its loads from a buffer, or its stores to it. */

import type { MemoryAccess } from "../../analysis/memoryAccesses.ts";
import { containsAtomic, type Place } from "../../analysis/places.ts";
import {
  type DecidingMemory,
  type Dependences,
  decidingMemory,
  dependence,
} from "../../analysis/valueDependences.ts";
import { knownWorkgroupSize } from "../../analysis/workgroupSize.ts";
import type { Expression, FunctionDeclaration, GlobalVariable } from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import type { Type } from "../../wgsl/types.ts";

/**
 * A class of accesses that depend on the same ids. Invocations that differ in other ids only access
 * the same word and add it repeatedly. The first of them adds it with one weight, the others with
 * twice that weight, so that the sum of weights is odd.
 */
export interface SumClass {
  /** The number of invocations of a workgroup that differ only in the ids that do not matter. */
  readonly lanes: number;
  /** The dimensions of the grid that do not matter. */
  readonly dimensions: readonly (0 | 1 | 2)[];
  /** The ids that do not matter. */
  readonly ids: Dependences;
}

/** The accesses to one variable that a kernel sums. */
export interface SummedAccesses {
  readonly kind: "load" | "store";
  /** The memory whose contents also decide what is accessed, if any. */
  readonly varies: DecidingMemory | undefined;
  readonly classes: readonly SumClass[];
  /** The number of each access's class. */
  readonly classOf: ReadonlyMap<Expression, number>;
}

/** The limit of classes. With more, weights would take the top bits of the sums. */
const mostClasses = 4;
/** The limit of accesses that are each tried alone. */
const mostSites = 8;

/**
 * Returns the summed accesses to a variable, or the reason why there are none. `dependsOn` returns
 * what an access depends on: its place, and whether it happens. `site` is the number of the only
 * access to sum, for one of several loads.
 */
export function summedAccesses(
  program: Program,
  kernel: FunctionDeclaration,
  variable: GlobalVariable,
  accesses: readonly MemoryAccess[],
  dependsOn: (place: Expression) => Dependences,
  site?: number,
): SummedAccesses | { readonly why: string } {
  if (containsAtomic(program.declaredTypeOf(variable))) return { why: "atomic operations change it" };
  const [kind, ...others] = new Set(accesses.map((access) => access.kind));
  if (kind === "other") return { why: "a pointer to it is passed on" };
  if (!kind) return { why: "its contents are not accessed" };
  if (others.length > 0) return { why: "it is changed in place" };
  const sizes = knownWorkgroupSize(program, kernel);
  if (!sizes) return { why: "an override decides the size of its workgroups" };
  const classes: SumClass[] = [];
  const classOf = new Map<Expression, number>();
  let all: Dependences = 0;
  if (site !== undefined && (kind === "store" || accesses.length === 1))
    return { why: "what is accessed of it differs from word to word" };
  const summed = site === undefined ? accesses : accesses.slice(0, mostSites).slice(site, site + 1);
  if (summed.length === 0) return { why: "no access to it is to each word as often" };
  for (const { expression, place } of summed) {
    if (!place || !isSummable(place.type)) return { why: "values of its types are not added up" };
    const ids = dependsOn(expression);
    all |= ids;
    const own = kind === "store" ? { lanes: 1, dimensions: [], ids: 0 } : classWithout(ids, sizes);
    const known = classes.findIndex((each) => each.ids === own.ids);
    classOf.set(expression, known < 0 ? classes.push(own) - 1 : known);
  }
  if (classes.length > mostClasses) return { why: "it is accessed in too many ways" };
  return { kind, varies: decidingMemory(all), classes, classOf };
}

/** Returns true for 32-bit numbers, and for vectors of two or four. */
function isSummable(type: Type): boolean {
  if (type.kind === "vector") return type.size !== 3 && isSummable(type.element);
  return type.kind === "scalar" && /^[fiu]32$/.test(type.name);
}

function classWithout(ids: Dependences, sizes: readonly number[]): SumClass {
  const dimensions = ([0, 1, 2] as const).filter((i) => !(ids & dependence.workgroup[i]));
  const lanes = dependence.local.map((bit, i) => (ids & bit ? 1 : sizes[i]!));
  const free = [
    ...dimensions.map((i) => dependence.workgroup[i]),
    ...dependence.local.filter((_, i) => lanes[i]! > 1),
  ];
  return {
    dimensions,
    lanes: lanes.reduce((product, each) => product * each),
    ids: free.reduce((sum, each) => sum | each, 0),
  };
}

/** Returns the sum of the weights with which one word is added on a grid. */
export function weightOf(classes: readonly Omit<SumClass, "ids">[], grid: readonly number[]): number {
  return classes.reduce((sum, { lanes, dimensions }, i) => {
    const same = dimensions.reduce((product, dimension) => Math.imul(product, grid[dimension] ?? 1), lanes);
    return (sum + Math.imul(2 ** i, 2 * same - 1)) >>> 0;
  }, 0);
}

/** Returns the number of words of a place's value. */
export const wordsIn = ({ type }: Place): 1 | 2 | 4 => (type.kind === "vector" ? (type.size as 2 | 4) : 1);
