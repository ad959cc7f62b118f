import { addressLoop } from "../analysis/addressLoop.ts";
import type { Loop } from "../tree/ir.ts";
import { addressEffects, addressKernel, control, inWindow } from "./addressKernel.ts";
import type { KernelMakers, LoopKernel } from "./code/kernel.ts";
import { limitFunction, reportConflict, reportedWords, reportFunctions, reports } from "./marks.ts";

/**
 * The kernels that check with a write bitmap whether iterations of a window depend on each other.
 * Random accesses to the bitmap are the cost of the check. A bit per element in place of a word
 * reduces the accessed memory to a 32nd. The bitmap keeps neither the writing iteration nor the
 * kind of a dependence. Its result is therefore final only if there is no conflict.
 * - `fillBitmap`: each iteration of the window sets the bits of its stores. Two iterations that set
 *   the same bit conflict.
 * - `checkBitmap`: an iteration that loads an element whose bit is set conflicts, unless it stores
 *   there itself.
 * An iteration knows the last four elements that it stored to. An iteration that stores to more may
 * conflict with itself, which costs time only. All bits must be zero before the round.
 */
export function writeBitmapKernels(loop: Loop): KernelMakers<"fillBitmap" | "checkBitmap"> {
  const addresses = addressLoop(loop)?.loop ?? loop;
  return { fillBitmap: () => fillKernel(addresses), checkBitmap: () => checkKernel(addresses) };
}

/** The largest number of stores for which an iteration cannot conflict with itself. */
export const mostBitmapStores = 4;

/** Returns the binary logarithm of the number of words that hold the bits of so many elements. */
export function bitmapShift(elements: number): number {
  return Math.max(0, Math.ceil(Math.log2(elements / 32)));
}

const bitmapFunctions = `
/** The last elements that the iteration stored to. */
var<private> own: vec4u = vec4u(NONE);

fn owns(id: u32) -> bool { return any(own == vec4u(id)); }

/**
 * Returns the word of an element's bit. Neighbors have neighboring words, which a subgroup accesses
 * at once.
 */
fn word_of(id: u32) -> u32 { return id & ((1u << params.bitmap_shift) - 1u); }
fn bit_of(id: u32) -> u32 { return 1u << (id >> params.bitmap_shift); }`.trim();

function fillKernel(loop: Loop): LoopKernel {
  const effects = addressEffects({
    load: () => "",
    store: (id) => `  let id = ${id};
  if (owns(id)) { return; }
  own = vec4u(id, own.xyz);
  if ((atomicOr(&bitmap[word_of(id)], bit_of(id)) & bit_of(id)) != 0u) { report_conflict(CONFLICT_UNCLEAR); }`,
    ...reports,
  });
  return addressKernel(loop, "fillBitmap", {
    atomics: reportedWords,
    reports: reportFunctions,
    resources: [control, { name: "bitmap", access: "write", type: "array<atomic<u32>>" }],
    effects,
    variables: bitmapFunctions,
    where: inWindow,
    before: "",
    after: "",
  });
}

function checkKernel(loop: Loop): LoopKernel {
  const effects = addressEffects({
    load: (id) => `  let id = ${id};
  if (checking && (bitmap[word_of(id)] & bit_of(id)) != 0u && !owns(id)) { found = true; }`,
    store: (id) => `  let id = ${id};
  if (!checking && !owns(id)) { own = vec4u(id, own.xyz); }`,
    bailOut: "",
    endLoop: "",
  });
  return addressKernel(loop, "checkBitmap", {
    atomics: ["conflicts"],
    reports: `${reportConflict}\n\n${limitFunction}`,
    resources: [control, { name: "bitmap", access: "read", type: "array<u32>" }],
    effects,
    variables: `${bitmapFunctions}\n
/**
 * True while loads are checked. Stores are collected before, because a store may follow a load in
 * the iteration.
 */
var<private> checking: bool;
var<private> found: bool;`,
    where: inWindow,
    before: "if (slot >= limit()) { return; }",
    evaluations: ["checking = false;", "checking = true;"],
    after: "if (found) { report_conflict(CONFLICT_UNCLEAR); }",
  });
}
