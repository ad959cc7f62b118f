/** One command of a pass or an encoder, as a function that encodes it again. */
export type ReplayStep<Encoder> = (again: Encoder) => void;

/** A native method with several signatures, called with the program's arguments. */
export type AnyMethod = (...args: unknown[]) => undefined;

export const noOffsets: readonly unknown[] = [];

/**
 * Copies arguments of a command, such as dynamic offsets. The program may change its arrays and
 * buffers later.
 */
export function copyArguments(args: readonly unknown[]): readonly unknown[] {
  return args.length === 0 ? noOffsets : args.map(copyArgument);
}

function copyArgument(given: unknown): unknown {
  if (Array.isArray(given)) return [...given];
  if (given instanceof DataView)
    return new DataView(given.buffer.slice(given.byteOffset, given.byteOffset + given.byteLength));
  const isBytes = typeof given === "object" && given !== null && "byteLength" in given;
  return isBytes ? (given as Uint8Array | ArrayBuffer).slice(0) : given;
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
