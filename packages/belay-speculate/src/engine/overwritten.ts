import { storedOnly } from "../loops/analysis/storedOnly.ts";
import type { Loop } from "../loops/ir.ts";
import { addressLoop } from "../loops/kernels/addressLoop.ts";
import { offsetsOf } from "../loops/kernels/marks.ts";
import { readBuffers } from "./readBuffers.ts";
import type { Workspace } from "./workspace.ts";

/** Executions of one loop that are kept. */
const mostKept = 8;

const known = new WeakMap<Loop, Map<string, readonly string[]>>();

/**
 * Names of the arrays that an execution of a loop overwrites completely and never loads from, as an earlier one with the same `numbers` (see
 * `provenWindows.ts`) has shown: they need not be sent to the device. Null when none has been looked at.
 */
export function recallOverwritten(loop: Loop, numbers: string | null): readonly string[] | null {
  return numbers === null ? null : (known.get(loop)?.get(numbers) ?? null);
}

/** Whether that can be shown: each execution with the same numbers must store to the same elements. */
export function mayOverwrite(loop: Loop): boolean {
  const addresses = addressLoop(loop);
  return storedOnly(loop).length > 0 && addresses?.isExact === true && addresses.followsFromNumbers;
}

/** Keeps what an execution of all iterations overwrote. */
export function rememberOverwritten(loop: Loop, numbers: string, names: readonly string[]): void {
  const all = known.get(loop) ?? new Map<string, readonly string[]>();
  known.set(loop, all);
  all.set(numbers, names);
  if (all.size > mostKept) all.delete(all.keys().next().value!);
}

/** Bytes of a bit for each place of a loop's written arrays. */
export function coveredBytes(loop: Loop, lengths: Readonly<Record<string, number>>): number {
  const ends = [...offsetsOf(loop, lengths)].map(([name, offset]) => offset + lengths[name]!);
  return 4 * Math.ceil(Math.max(0, ...ends) / 32);
}

/** Names of the arrays that are only stored to whose elements all have their bit set. */
export async function readOverwritten(
  workspace: Workspace,
  loop: Loop,
  lengths: Readonly<Record<string, number>>,
  covered: GPUBuffer,
): Promise<string[]> {
  const read = await readBuffers(workspace, [{ buffer: covered, bytes: coveredBytes(loop, lengths) }]);
  let names: string[] = [];
  read((bytes) => {
    const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
    const offsets = offsetsOf(loop, lengths);
    names = storedOnly(loop).filter((name) => areSet(words, offsets.get(name)!, lengths[name]!));
  });
  return names;
}

/** Whether so many bits from one on are set. */
function areSet(words: Uint32Array, from: number, count: number): boolean {
  const isSet = (bit: number) => ((words[bit >>> 5]! >>> (bit & 31)) & 1) === 1;
  let bit = from;
  const end = from + count;
  for (; bit < end && (bit & 31) !== 0; bit++) if (!isSet(bit)) return false;
  for (; bit + 32 <= end; bit += 32) if (words[bit >>> 5] !== 0xffffffff) return false;
  for (; bit < end; bit++) if (!isSet(bit)) return false;
  return true;
}
