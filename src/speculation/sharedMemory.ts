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

/** Says that an array has a copy from now on. */
export function addCopy(array: Copied): void {
  const others = copied.get(array.host.buffer);
  if (others) others.add(array);
  else copied.set(array.host.buffer, new Set([array]));
}

/** Says that an array has no copy any more. */
export function removeCopy(array: Copied): void {
  copied.get(array.host.buffer)?.delete(array);
}

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
  const others = [...copied.get(host.buffer)!].filter((other) => other !== own && overlap(other.host, host));
  await rescue(others);
  if (isWritten) for (const other of others) other.hostChanged();
}
