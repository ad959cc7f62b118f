/** Computes subgroup operations from the operands of the active lanes. */
import type { ScalarType } from "../wgsl/types.ts";
import type { SubgroupSite } from "./codeWriter.ts";
import { f16Format, f32Format } from "./floatFormat.ts";
import { Undecided } from "./undecided.ts";
import { isFloat } from "./values.ts";

/** The operands of a lane, which its results replace: low and high bounds where `width` is two. */
export type Exchange = Float64Array;

/**
 * Executes one operation of a subgroup. `lanes` has the operands of each lane; undefined for a lane
 * that does not exist or has ended. `library` has the arithmetic of floats.
 */
export function executeSubgroup(
  site: SubgroupSite,
  lanes: readonly (Exchange | undefined)[],
  inexact: boolean,
  library: Readonly<Record<string, unknown>>,
): void {
  const { operation } = site;
  const active = lanes.flatMap((lane, i) => (lane ? [i] : []));
  const width = inexact && isFloat(site.scalar) ? 2 : 1;
  const count = site.components * width;
  const before = lanes.map((lane) => lane?.slice());
  const take = (from: number): ArrayLike<number> => {
    const lane = before[from];
    if (!lane) throw new Undecided(`${operation} reads a lane that is not active`);
    return lane.subarray(0, count);
  };
  /** Reads a lane that may be inactive only if nobody uses the value. */
  const argument = (lane: number) => before[lane]![count]!;
  const set = (result: (lane: number) => ArrayLike<number>) => {
    for (const i of active) lanes[i]!.set(Array.from(result(i)));
  };
  const result = moved(operation);
  if (result) set(result);
  else reduce(site, lanes, active, before as (Exchange | undefined)[], width, library);

  /** Returns what each lane takes of the others, or undefined for a reduction or a scan. */
  function moved(name: string): ((lane: number) => ArrayLike<number>) | undefined {
    switch (name) {
      case "subgroupElect":
        return (i) => [i === active[0] ? 1 : 0];
      case "subgroupAll":
        return () => [active.every((i) => before[i]![0] !== 0) ? 1 : 0];
      case "subgroupAny":
        return () => [active.some((i) => before[i]![0] !== 0) ? 1 : 0];
      case "subgroupBallot": {
        const words = [0, 0, 0, 0];
        for (const i of active) if (before[i]![0] !== 0) words[i >> 5]! |= 1 << (i & 31);
        return () => words.map((word) => word >>> 0);
      }
      case "subgroupBroadcastFirst":
        return () => take(active[0]!);
      case "subgroupBroadcast":
      case "subgroupShuffle":
        return (i) => take(argument(i));
      case "subgroupShuffleXor":
        return (i) => take((i ^ argument(i)) >>> 0);
      case "subgroupShuffleUp":
        return (i) => take(i - argument(i));
      case "subgroupShuffleDown":
        return (i) => take(i + argument(i));
      case "quadBroadcast":
        return (i) => take((i & ~3) + argument(i));
      case "quadSwapX":
        return (i) => take(i ^ 1);
      case "quadSwapY":
        return (i) => take(i ^ 2);
      case "quadSwapDiagonal":
        return (i) => take(i ^ 3);
      default:
        return undefined;
    }
  }
}

/** Computes a reduction or a scan. Sums and products of floats may be added up in any order. */
function reduce(
  { operation, scalar, components }: SubgroupSite,
  lanes: readonly (Exchange | undefined)[],
  active: readonly number[],
  before: readonly (Exchange | undefined)[],
  width: number,
  library: Readonly<Record<string, unknown>>,
): void {
  const [, scan, name] = /^subgroup(Exclusive|Inclusive)?(\w+)$/.exec(operation)!;
  const combine = combiner(name!, scalar, width === 2, library);
  const terms = (lane: number, component: number): Bound => {
    const operands = before[lane]!;
    const low = operands[component * width]!;
    return [low, width === 2 ? operands[component * width + 1]! : low];
  };
  for (let component = 0; component < components; component++) {
    const total = combine(active.map((lane) => terms(lane, component)));
    active.forEach((lane, i) => {
      const [low, high] = !scan
        ? total
        : combine(active.slice(0, scan === "Inclusive" ? i + 1 : i).map((each) => terms(each, component)));
      lanes[lane]![component * width] = low;
      if (width === 2) lanes[lane]![component * width + 1] = high;
    });
  }
}

type Bound = readonly [low: number, high: number];

/** The integer that combining begins with, and the function that combines it with others. */
const integerSteps: Readonly<Record<string, readonly [number, (a: number, b: number) => number]>> = {
  Add: [0, (a, b) => a + b],
  Mul: [1, Math.imul],
  And: [-1, (a, b) => a & b],
  Or: [0, (a, b) => a | b],
  Xor: [0, (a, b) => a ^ b],
  Min: [Number.POSITIVE_INFINITY, Math.min],
  Max: [Number.NEGATIVE_INFINITY, Math.max],
};

/** Returns the function that combines the operands of several lanes. */
function combiner(
  name: string,
  scalar: ScalarType,
  inexact: boolean,
  library: Readonly<Record<string, unknown>>,
): (terms: readonly Bound[]) => Bound {
  const type = scalar.name;
  if (inexact && (name === "Add" || name === "Mul"))
    return floatCombiner(name, type === "f32" ? f32Format : f16Format);
  const [start, integers] = integerSteps[name]!;
  const wrap = (x: number) => (type === "u32" ? x >>> 0 : x | 0);
  const floats = inexact ? integers : (library[`${type}_${name.toLowerCase()}`] as typeof integers);
  const step = isFloat(scalar) ? floats : (a: number, b: number) => wrap(integers(a, b));
  return (terms) => {
    const all = (i: 0 | 1) => terms.reduce((sum, term) => step(sum, term[i]), start);
    return [all(0), all(1)];
  };
}

/** Returns sums or products of floats as intervals, which bound those of every order. */
function floatCombiner(name: "Add" | "Mul", { round, name: format }: typeof f32Format) {
  const unit = format === "f32" ? 2 ** -23 : 2 ** -10;
  const step = (a: number, b: number) => (name === "Add" ? a + b : a * b);
  const start = name === "Add" ? 0 : 1;
  return (terms: readonly Bound[]): Bound => {
    if (name === "Mul" && terms.some(([low, high]) => low !== high || low < 0))
      return [Number.NaN, Number.NaN];
    const low = terms.reduce((sum, [x]) => step(sum, x), start);
    const high = terms.reduce((sum, [, x]) => step(sum, x), start);
    const size = terms.reduce((sum, [a, b]) => step(sum, Math.max(Math.abs(a), Math.abs(b))), start);
    const error = terms.length * unit * size;
    return [round(low - error), round(high + error)];
  };
}
