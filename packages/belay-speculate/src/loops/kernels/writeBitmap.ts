import { addressLoop } from "../analysis/addressLoop.ts";
import type { Loop } from "../tree/ir.ts";
import { addressEffects, addressKernel, control, inWindow } from "./addressKernel.ts";
import type { Kernel } from "./code/kernel.ts";
import { limitFunction, reportConflict, reportedWords, reportFunctions, reports } from "./marks.ts";

/**
 * Whether iterations of a window depend on each other, with a bit for each element instead of a
 * word: a 32nd of the memory that is accessed at random, which is what checking costs. Which
 * iteration has claimed an element is not kept, nor what kind of dependence was found, so the bits
 * say all only where there is none.
 *
 * - `claim`: each iteration of the window sets the bits of what it stores; two that set the same
 *   one conflict.
 * - `checkClaims`: an iteration conflicts that loads what is claimed, unless it stores there
 *   itself.
 *
 * An iteration knows the last four elements that it stored to. One that stores to more of them may
 * conflict with itself, which is only a waste. All bits must be zero before.
 */
export function writeBitmapKernels(loop: Loop): Record<"claim" | "checkClaims", Kernel> {
  const addresses = addressLoop(loop)?.loop ?? loop;
  return { claim: claimKernel(addresses), checkClaims: checkKernel(addresses) };
}

/** Stores of an iteration up to which it does not conflict with itself. */
export const mostBitmapStores = 4;

/** How many words hold the bits of so many elements: 2 to the power of this. */
export function bitmapShift(elements: number): number {
  return Math.max(0, Math.ceil(Math.log2(elements / 32)));
}

const claiming = `
/** The elements that the iteration claimed last. */
var<private> own: vec4u = vec4u(NONE);

fn owns(id: u32) -> bool { return any(own == vec4u(id)); }

/** The bits of neighbours are in neighbouring words, which a subgroup accesses at once. */
fn word_of(id: u32) -> u32 { return id & ((1u << params.claim_shift) - 1u); }
fn bit_of(id: u32) -> u32 { return 1u << (id >> params.claim_shift); }`.trim();

function claimKernel(loop: Loop): Kernel {
  const effects = addressEffects({
    load: () => "",
    store: (id) => `  let id = ${id};
  if (owns(id)) { return; }
  own = vec4u(id, own.xyz);
  if ((atomicOr(&claims[word_of(id)], bit_of(id)) & bit_of(id)) != 0u) { report_conflict(CONFLICT_UNCLEAR); }`,
    ...reports,
  });
  return addressKernel(loop, "claim", {
    atomics: reportedWords,
    reports: reportFunctions,
    resources: [control, { name: "claims", access: "write", type: "array<atomic<u32>>" }],
    effects,
    variables: claiming,
    where: inWindow,
    before: "",
    after: "",
  });
}

function checkKernel(loop: Loop): Kernel {
  const effects = addressEffects({
    load: (id) => `  let id = ${id};
  if (checking && (claims[word_of(id)] & bit_of(id)) != 0u && !owns(id)) { found = true; }`,
    store: (id) => `  let id = ${id};
  if (!checking && !owns(id)) { own = vec4u(id, own.xyz); }`,
    escape: "",
    endLoop: "",
  });
  return addressKernel(loop, "checkClaims", {
    atomics: ["conflicts"],
    reports: `${reportConflict}\n\n${limitFunction}`,
    resources: [control, { name: "claims", access: "read", type: "array<u32>" }],
    effects,
    variables: `${claiming}\n
/** Whether loads are looked at; stores are before, as they may follow in the iteration. */
var<private> checking: bool;
var<private> found: bool;`,
    where: inWindow,
    before: "if (slot >= limit()) { return; }",
    turns: ["checking = false;", "checking = true;"],
    after: "if (found) { report_conflict(CONFLICT_UNCLEAR); }",
  });
}
