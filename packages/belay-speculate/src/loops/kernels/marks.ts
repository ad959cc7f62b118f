import type { Loop, LoopArray, NumberType } from "../tree/ir.ts";
import { oncePerLoop } from "../tree/oncePerLoop.ts";
import { wgslName } from "./code/names.ts";
import { parametersOf } from "./code/parameters.ts";
import { type AtomicWord, conflictKinds, none, slotBits } from "./control.ts";

/**
 * The functions of marks. Each element of the tracked arrays and each carried variable has a mark
 * of one word, by which iterations of a window detect conflicts. A mark names a round and an
 * iteration. The larger of two marks belongs to the later round or, within a round, to the earlier
 * iteration. `atomicMax` thus finds the first iteration, and marks are not cleared between rounds.
 */
export const markFunctions = `
const NONE = 0x${none.toString(16)}u;
const CONFLICT_FLOW = ${conflictKinds.flow}u;
const CONFLICT_ORDER = ${conflictKinds.order}u;
const CONFLICT_UNCLEAR = ${conflictKinds.unclear}u;
const SLOT_BITS = ${slotBits}u;

fn mark_of(epoch: u32, slot: u32) -> u32 { return (epoch << ${slotBits}u) | (${2 ** slotBits - 1}u - slot); }

/** Returns the iteration of the window that made a mark; NONE if the mark is of another round. */
fn slot_of(mark: u32, epoch: u32) -> u32 {
  return select(NONE, ${2 ** slotBits - 1}u - (mark & ${2 ** slotBits - 1}u), mark >> ${slotBits}u == epoch);
}`.trim();

/**
 * The function that reports conflicts to the scheduler. Most invocations find the conflict already
 * reported and skip the atomic.
 */
export const reportConflict = `
fn report_conflict(kinds: u32) {
  if ((kinds & ~atomicLoad(&control.conflicts)) != 0u) { atomicOr(&control.conflicts, kinds); }
}`.trim();

/** The function that reports the first iteration that must not be committed. */
export const cutAt = `
/** Nothing from this iteration of the window on may be committed. */
fn cut_at(slot: u32) {
  if (slot < atomicLoad(&control.cut)) { atomicMin(&control.cut, slot); }
}`.trim();

const endAt = `
fn end_at(slot: u32) {
  if (slot < atomicLoad(&control.end)) { atomicMin(&control.end, slot); }
}`.trim();

/**
 * The function that gives the number of committable iterations, for kernels that run after `cut`
 * and `end` are final.
 */
export const limitFunction = `
/**
 * Returns the number of iterations of the window that may be committed: those before the cut, up to
 * the one that ends the loop.
 */
fn limit() -> u32 {
  return min(control.cut, select(control.end + 1u, NONE, control.end == NONE));
}`.trim();

/** The control words that change in the kernels that evaluate an iteration first. */
export const reportedWords = [
  "cut",
  "end",
  "conflicts",
  "bail_out_reason",
] as const satisfies readonly AtomicWord[];
export const reportFunctions = [reportConflict, cutAt, endAt].join("\n\n");

/** The effects on these control words in every kernel that evaluates an iteration first. */
export const reports = {
  bailOut: `  cut_at(slot);
  if (slot == 0u) { atomicStore(&control.bail_out_reason, reason); }`,
  endLoop: "  end_at(slot);",
};

/** Returns true if two iterations of the loop can depend on each other. */
export function hasMarks(loop: Loop): boolean {
  return loop.arrays.some(({ role }) => role === "tracked") || loop.carried.length > 0;
}

/**
 * Returns the first place of each written array, among the marks and in the log. Carried variables
 * come first, then tracked arrays, then owned ones, then combined ones.
 */
export function offsetsOf(loop: Loop, lengths: Readonly<Record<string, number>>): Map<string, number> {
  const offsets = new Map<string, number>();
  let offset = loop.carried.length;
  for (const role of ["tracked", "owned", "combined"]) {
    for (const array of loop.arrays) {
      if (array.role !== role) continue;
      offsets.set(array.name, offset);
      offset += lengths[array.name]!;
    }
  }
  return offsets;
}

/** Returns the number of places with marks: those of carried variables and tracked arrays. */
export function markedElements(loop: Loop, lengths: Readonly<Record<string, number>>): number {
  return loop.arrays.reduce(
    (sum, { name, role }) => sum + (role === "tracked" ? lengths[name]! : 0),
    loop.carried.length,
  );
}

/** Returns the WGSL expression of an element's place; see {@link offsetsOf}. */
export function identify(array: LoopArray): string {
  return `${offsetOf(array)} + element`;
}

/** Returns the WGSL expression of the place of an array's first element. */
function offsetOf({ name }: LoopArray): string {
  return `params.offset_${wgslName(name)}`;
}

/**
 * The parameters of the default engine's kernels, in addition to those of the loop:
 * - `offset_a`: the first place of each written array (see {@link offsetsOf})
 * - `marked`: the number of places with marks
 * - `fuel`: the iterations of inner loops per iteration
 * - `most_loads`, `most_stores`: the size of an iteration's log
 * - `capacity`: the iterations for which there is memory
 * - `longest`: the iterations of the longest window now
 * - `window`: the window that the program asked for; 0 if none
 * - `bitmap_shift`: the binary logarithm of the write bitmap's words
 * - `versions`: the versions of an element
 */
export const engineParameters = oncePerLoop((loop): Map<string, NumberType> => {
  const written = loop.arrays.filter(({ role }) => role !== "read");
  const offsets = written.map(({ name }) => `offset_${wgslName(name)}`);
  return parametersOf(loop, [
    ...offsets,
    "marked",
    "fuel",
    "most_loads",
    "most_stores",
    "capacity",
    "longest",
    "window",
    "bitmap_shift",
    "versions",
  ]);
});

/** Returns the WGSL expression of the index in iteration `iteration`, counted from 0. */
export function indexAt({ index }: Loop, iteration: string): string {
  return index.type === "i32"
    ? `params.first + bitcast<i32>(${iteration}) * params.step`
    : `params.first + ${iteration} * bitcast<u32>(params.step)`;
}

/** Returns `fn poke_place(place, bits)`, which stores to a place of any array or variable. */
export function pokePlace(loop: Loop): string {
  const inOrder = ["owned", "tracked"].flatMap((role) =>
    loop.arrays.filter((array) => array.role === role).reverse(),
  );
  const cases = inOrder.map((array) => {
    const first = offsetOf(array);
    return `  if (place >= ${first}) { poke_${wgslName(array.name)}(place - ${first}, bits); return; }`;
  });
  const carried = loop.carried.length > 0 ? ["  control.carried[place] = bits;"] : [];
  return ["fn poke_place(place: u32, bits: u32) {", ...cases, ...carried, "}"].join("\n");
}
