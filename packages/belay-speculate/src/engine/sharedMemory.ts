import type { LoopData } from "../loops/sequential.ts";
import { type Downloadable, rescue } from "./downloads.ts";

/** An array with a copy on a device. */
export interface Copied extends Downloadable {
  readonly host: LoopData;
  /** Says that the array itself has been changed. */
  hostChanged(): void;
}

/** By the memory that the arrays are views of. */
const copied = new WeakMap<ArrayBufferLike, Set<Copied>>();
/** Every array that has a copy, for as long as something else keeps it. */
const everyCopied = new Set<WeakRef<Copied>>();
const references = new WeakMap<Copied, WeakRef<Copied>>();
const forgotten = new FinalizationRegistry<WeakRef<Copied>>((reference) => everyCopied.delete(reference));

/** Says that an array has a copy from now on. */
export function addCopy(array: Copied): void {
  let reference = references.get(array);
  if (!reference) {
    reference = new WeakRef(array);
    references.set(array, reference);
    forgotten.register(array, reference);
  }
  everyCopied.add(reference);
  const others = copied.get(array.host.buffer);
  if (others) others.add(array);
  else copied.set(array.host.buffer, new Set([array]));
}

/** Says that an array has no copy any more. */
export function removeCopy(array: Copied): void {
  copied.get(array.host.buffer)?.delete(array);
  const reference = references.get(array);
  if (reference) everyCopied.delete(reference);
}

/** Every array that has a copy. */
export const allCopied = (): readonly Copied[] =>
  [...everyCopied].flatMap((reference) => reference.deref() ?? []);

/** Arrays with copies, the array itself among them, that have elements in common with it. */
export const copiesOf = (host: LoopData): readonly Copied[] =>
  [...(copied.get(host.buffer) ?? [])].filter((copy) => overlap(copy.host, host));

/** Whether only a device has some element of the array as it is. */
export const isStale = (host: LoopData): boolean => copiesOf(host).some(({ pending }) => pending !== null);

/** Whether views of the array's memory have copies besides its own. */
export function hasOtherCopies({ buffer }: LoopData, own: Copied | null): boolean {
  const copies = copied.get(buffer);
  return copies !== undefined && copies.size > (own && copies.has(own) ? 1 : 0);
}

/** Whether some byte belongs to both arrays. */
export function overlap(one: LoopData, other: LoopData): boolean {
  return (
    one.buffer === other.buffer &&
    one.byteOffset < other.byteOffset + other.byteLength &&
    other.byteOffset < one.byteOffset + one.byteLength
  );
}

/**
 * Keeps all copies of one memory coherent, before a view of it is used, and changed where `isWritten` says so: what a device has
 * changed through another view comes home, and the copies of other views are sent anew before they are used again.
 */
export async function settle(host: LoopData, own: Copied | null, isWritten: boolean): Promise<void> {
  if (!hasOtherCopies(host, own)) return;
  const others = copiesOf(host).filter((other) => other !== own);
  await rescue(others);
  if (isWritten) for (const other of others) other.hostChanged();
}
