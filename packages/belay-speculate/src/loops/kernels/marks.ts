import type { Loop, LoopArray, NumberType } from "../tree/ir.ts";
import { oncePerLoop } from "../tree/oncePerLoop.ts";
import { wgslName } from "./code/names.ts";
import { parametersOf } from "./code/parameters.ts";
import { type AtomicWord, conflictKinds, none, slotBits } from "./control.ts";

/**
 * Marks: one word for each element of the tracked arrays, and each carried variable, by which
 * iterations of a window find out about each other. A mark names a round and an iteration; the
 * larger of two marks is of the later round or, within a round, of the earlier iteration.
 * `atomicMax` thus finds the first iteration, and no mark ever has to be cleared.
 */
export const markFunctions = `
const NONE = 0x${none.toString(16)}u;
const CONFLICT_FLOW = ${conflictKinds.flow}u;
const CONFLICT_ORDER = ${conflictKinds.order}u;
const CONFLICT_UNCLEAR = ${conflictKinds.unclear}u;
const SLOT_BITS = ${slotBits}u;

fn mark_of(epoch: u32, slot: u32) -> u32 { return (epoch << ${slotBits}u) | (${2 ** slotBits - 1}u - slot); }

/** The iteration of the window that made a mark; none when it is of another round. */
fn slot_of(mark: u32, epoch: u32) -> u32 {
  return select(NONE, ${2 ** slotBits - 1}u - (mark & ${2 ** slotBits - 1}u), mark >> ${slotBits}u == epoch);
}`.trim();

/**
 * What kernels of many invocations tell the scheduler about conflicts; most find that somebody else
 * has told it already.
 */
export const reportConflict = `
fn report_conflict(kinds: u32) {
  if ((kinds & ~atomicLoad(&control.conflicts)) != 0u) { atomicOr(&control.conflicts, kinds); }
}`.trim();

/** The same about single iterations. */
export const cutAt = `
/** Nothing from this iteration of the window on may be committed. */
fn cut_at(slot: u32) {
  if (slot < atomicLoad(&control.cut)) { atomicMin(&control.cut, slot); }
}`.trim();

const endAt = `
fn end_at(slot: u32) {
  if (slot < atomicLoad(&control.end)) { atomicMin(&control.end, slot); }
}`.trim();

/** For kernels behind those that change it. */
export const limitFunction = `
/** How many iterations of the window may be committed: none from the cut on, and none after the one that ends the loop. */
fn limit() -> u32 {
  return min(control.cut, select(control.end + 1u, NONE, control.end == NONE));
}`.trim();

/** The words that kernels change which first meet an iteration, and by what. */
export const reportedWords = ["cut", "end", "conflicts", "escape"] as const satisfies readonly AtomicWord[];
export const reportFunctions = [reportConflict, cutAt, endAt].join("\n\n");

/** Effects on the scheduler that every kernel has which first meets an iteration. */
export const reports = {
  escape: `  cut_at(slot);
  if (slot == 0u) { atomicStore(&control.escape, reason); }`,
  endLoop: "  end_at(slot);",
};

/** Whether any two iterations can depend on each other. */
export function hasMarks(loop: Loop): boolean {
  return loop.arrays.some(({ role }) => role === "tracked") || loop.carried.length > 0;
}

/**
 * The first place, among the marks and in the log, of each written array: carried variables first,
 * then tracked arrays, then owned ones.
 */
export function offsetsOf(loop: Loop, lengths: Readonly<Record<string, number>>): Map<string, number> {
  const offsets = new Map<string, number>();
  let offset = loop.carried.length;
  for (const role of ["tracked", "owned"]) {
    for (const array of loop.arrays) {
      if (array.role !== role) continue;
      offsets.set(array.name, offset);
      offset += lengths[array.name]!;
    }
  }
  return offsets;
}

/** How many places have marks: those of carried variables and tracked arrays. */
export function markedElements(loop: Loop, lengths: Readonly<Record<string, number>>): number {
  return loop.arrays.reduce(
    (sum, { name, role }) => sum + (role === "tracked" ? lengths[name]! : 0),
    loop.carried.length,
  );
}

/** The place of an element; see {@link offsetsOf}. */
export function identify(array: LoopArray): string {
  return `${offsetOf(array)} + element`;
}

/** The place of an array's first element. */
function offsetOf({ name }: LoopArray): string {
  return `params.offset_${wgslName(name)}`;
}

/**
 * The parameters of the default engine's kernels: those of the loop, `offset_a` of each written
 * array (see {@link offsetsOf}), how many elements are `marked`, turns of inner loops per iteration
 * (`fuel`), what an iteration may log (`most_loads`, `most_stores`), the iterations there is room
 * for (`capacity`) and those of the longest window now (`longest`), the window that the program
 * asked for (`window`, 0 for none), and where the bits of claims are (`claim_shift`), and how many
 * versions elements have (`versions`).
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
    "claim_shift",
    "versions",
  ]);
});

/** The value of the index in iteration `iteration`, counted from 0. */
export function indexAt({ index }: Loop, iteration: string): string {
  return index.type === "i32"
    ? `params.first + bitcast<i32>(${iteration}) * params.step`
    : `params.first + ${iteration} * bitcast<u32>(params.step)`;
}

/** `fn poke_place(place, bits)`: stores to a place, of whichever array or variable. */
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
