/** Whether a kernel can add up what it loads from a buffer, or stores to it, and what for. */

import type { MemoryAccess } from "../../analysis/memoryAccesses.ts";
import { containsAtomic, type Place } from "../../analysis/places.ts";
import { type Dependences, dependence } from "../../analysis/valueDependences.ts";
import { knownWorkgroupSize } from "../../analysis/workgroupSize.ts";
import type { Expression, FunctionDeclaration, GlobalVariable } from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import type { Type } from "../../wgsl/types.ts";

/**
 * Accesses that ids decide alike. Invocations that differ in the other ids only access the same,
 * which is then added as often: by the first of them with one weight, by the others with twice
 * that, so that the sum of the weights is odd.
 */
export interface SumClass {
  /** Invocations of a workgroup that differ in such ids only. */
  readonly lanes: number;
  /** The dimensions of the grid that do not matter. */
  readonly dimensions: readonly (0 | 1 | 2)[];
  /** The ids that do not matter. */
  readonly ids: Dependences;
}

export interface SummedAccesses {
  readonly kind: "load" | "store";
  /** Whether the contents of memory, too, decide what is accessed. */
  readonly varies: boolean;
  readonly classes: readonly SumClass[];
  /** The number of an access's class. */
  readonly classOf: ReadonlyMap<Expression, number>;
}

/** More classes would make weights that take the top bits of the sums. */
const mostClasses = 4;
/** Accesses of which each is tried alone. */
const mostSites = 8;

/**
 * `dependsOn`: what decides which place an access is to, and whether it happens. `site`: the number
 * of the only access to be summed, for loads of more than one.
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
  let varies = false;
  if (site !== undefined && (kind === "store" || accesses.length === 1))
    return { why: "what is accessed of it differs from word to word" };
  const summed = site === undefined ? accesses : accesses.slice(0, mostSites).slice(site, site + 1);
  if (summed.length === 0) return { why: "no access to it is to each word as often" };
  for (const { expression, place } of summed) {
    if (!place || !isSummable(place.type)) return { why: "values of its types are not added up" };
    const ids = dependsOn(expression);
    varies ||= (ids & dependence.contents) !== 0;
    const own = kind === "store" ? { lanes: 1, dimensions: [], ids: 0 } : classWithout(ids, sizes);
    const known = classes.findIndex((each) => each.ids === own.ids);
    classOf.set(expression, known < 0 ? classes.push(own) - 1 : known);
  }
  if (classes.length > mostClasses) return { why: "it is accessed in too many ways" };
  return { kind, varies, classes, classOf };
}

/** Numbers of 32 bits, and vectors of two or four. */
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

/** The weights of all accesses to one word, on a grid. */
export function weightOf(classes: readonly Omit<SumClass, "ids">[], grid: readonly number[]): number {
  return classes.reduce((sum, { lanes, dimensions }, i) => {
    const same = dimensions.reduce((product, dimension) => Math.imul(product, grid[dimension] ?? 1), lanes);
    return (sum + Math.imul(2 ** i, 2 * same - 1)) >>> 0;
  }, 0);
}

/** The words that a place is made of, from its index in words on. */
export const wordsIn = ({ type }: Place): 1 | 2 | 4 => (type.kind === "vector" ? (type.size as 2 | 4) : 1);
