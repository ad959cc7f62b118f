/** One command of a pass or an encoder, as a function that encodes it again. */
export type ReplayStep<Encoder> = (again: Encoder) => void;

/** A native method with several signatures, called with the program's arguments. */
export type AnyMethod = (...args: unknown[]) => undefined;

export const noOffsets: readonly unknown[] = [];

/** Copies dynamic offsets, as the program may change its array later. */
export function copyOffsets(offsets: readonly unknown[]): readonly unknown[] {
  if (offsets.length === 0) return noOffsets;
  return offsets.map((each) => {
    if (ArrayBuffer.isView(each)) return (each as Uint32Array).slice();
    return Array.isArray(each) ? [...each] : each;
  });
}

/**
 * Copies a descriptor: plain objects and lists are copied, all other values are shared. Reads
 * members from accessors of a prototype, as WebGPU does.
 */
export function copyDescriptor<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(copyDescriptor) as T;
  if (Object.getPrototypeOf(value) !== Object.prototype && Symbol.iterator in value)
    return [...(value as unknown as Iterable<unknown>)].map(copyDescriptor) as T;
  if (Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, copyDescriptor(member)])) as T;
}
