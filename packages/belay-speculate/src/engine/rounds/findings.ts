/**
 * The findings of an execution for later ones with the same numbers: windows without dependences,
 * and overwritten arrays.
 */

import { addressLoop } from "../../loops/analysis/addressLoop.ts";
import { storedOnly } from "../../loops/analysis/storedOnly.ts";
import { offsetsOf } from "../../loops/kernels/marks.ts";
import { mostWindows } from "../../loops/kernels/scheduling.ts";
import type { Loop } from "../../loops/tree/ir.ts";
import { readBuffers } from "../device/readBuffers.ts";
import type { Workspace } from "../device/workspace.ts";
import type { Part } from "./execution.ts";
import type { Plan } from "./plans.ts";

/**
 * Keeps the findings of a plan's rounds that executed all iterations: the overwritten arrays, and
 * the lengths of the `windows`. Windows are kept if they are all without dependences and were found
 * in sequence.
 */
export async function keepFindings(
  workspace: Workspace,
  { loop, lengths }: Part,
  numbers: string,
  plan: Plan,
  buffers: Readonly<Record<string, GPUBuffer>>,
  windows: number | null,
): Promise<void> {
  const profile = workspace.profileOf(loop);
  if (plan.recordsStores) {
    const names = await readOverwritten(workspace, loop, lengths, buffers.stored_bits!);
    profile.overwritten.set(numbers, names);
  }
  if (windows === null || windows > mostWindows) return;
  const read = await readBuffers(workspace, [{ buffer: buffers.windows!, bytes: 4 * windows }]);
  read((bytes) => profile.windows.set(numbers, [...new Uint32Array(bytes.slice().buffer)]));
}

/**
 * Returns true if executions can find overwritten arrays. With the same numbers, each must store to
 * the same elements.
 */
export function mayOverwrite(loop: Loop): boolean {
  const addresses = addressLoop(loop);
  return storedOnly(loop).length > 0 && addresses?.isExact === true && addresses.followsFromNumbers;
}

/** Returns the number of bytes that hold one bit for each place of a loop's written arrays. */
export function storedBytes(loop: Loop, lengths: Readonly<Record<string, number>>): number {
  const ends = [...offsetsOf(loop, lengths)].map(([name, offset]) => offset + lengths[name]!);
  return 4 * Math.ceil(Math.max(0, ...ends) / 32);
}

/**
 * Returns the names of the arrays that are only stored to and whose elements all have their bits
 * set.
 */
async function readOverwritten(
  workspace: Workspace,
  loop: Loop,
  lengths: Readonly<Record<string, number>>,
  storedBits: GPUBuffer,
): Promise<string[]> {
  const read = await readBuffers(workspace, [{ buffer: storedBits, bytes: storedBytes(loop, lengths) }]);
  let names: string[] = [];
  read((bytes) => {
    const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
    const offsets = offsetsOf(loop, lengths);
    names = storedOnly(loop).filter((name) => areSet(words, offsets.get(name)!, lengths[name]!));
  });
  return names;
}

/** Returns true if so many bits from one on are set. */
function areSet(words: Uint32Array, from: number, count: number): boolean {
  const isSet = (bit: number) => ((words[bit >>> 5]! >>> (bit & 31)) & 1) === 1;
  let bit = from;
  const end = from + count;
  for (; bit < end && (bit & 31) !== 0; bit++) if (!isSet(bit)) return false;
  for (; bit + 32 <= end; bit += 32) if (words[bit >>> 5] !== 0xffffffff) return false;
  for (; bit < end; bit++) if (!isSet(bit)) return false;
  return true;
}
