/** One command of a pass or an encoder, as a function that encodes it again. */
export type ReplayStep<Encoder> = (again: Encoder) => void;

/** A native method with several signatures, called with the program's arguments. */
export type AnyMethod = (...args: unknown[]) => undefined;

export const noOffsets: readonly unknown[] = [];

/**
 * Copies arguments of a command that are data, such as an array of dynamic offsets, as the program
 * may change its memory later. Descriptors and lists are copies already: they were converted.
 */
export function copyArguments(args: readonly unknown[]): readonly unknown[] {
  return args.length === 0 ? noOffsets : args.map(copyArgument);
}

/**
 * Copies the dynamic offsets of `setBindGroup`, which follow its bind group: a list, or numbers of
 * an array, a start and a length. An empty list is the same as none.
 */
export function copyOffsets(args: readonly unknown[]): readonly unknown[] {
  const [list, , length = (list as ArrayLike<number> | undefined)?.length] = args;
  return length === 0 ? noOffsets : copyArguments(args);
}

function copyArgument(given: unknown): unknown {
  if (given instanceof DataView)
    return new DataView(given.buffer.slice(given.byteOffset, given.byteOffset + given.byteLength));
  const isBytes = typeof given === "object" && given !== null && "byteLength" in given;
  return isBytes ? (given as Uint8Array | ArrayBuffer).slice(0) : given;
}
