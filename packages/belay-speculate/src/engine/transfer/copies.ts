/**
 * Plain arrays and strings in loops. The host copies their numbers to typed arrays for a call, and
 * the changed numbers back afterwards.
 */
import type { LoopData } from "../../loops/javascript/sequential.ts";

/** The values to copy, by the names of their arrays in the loop. */
export interface CopiedValues {
  /** The class of the copy. */
  readonly as: "Float64Array" | "Int32Array" | "Uint16Array";
  readonly value: unknown;
  readonly isChanged: boolean;
}

/** The end of a loop that accesses a plain array or a string where it has no element. */
class AccessOutside extends Error {}

const classes = { Float64Array, Int32Array, Uint16Array };

/**
 * Executes a loop on copies of plain arrays and strings. Afterwards it copies changed numbers back.
 * Returns false if the loop has to run as it is written. Then an element is no number of the copy's
 * type, or the loop accesses an element that does not exist. The values and the arrays of `changed`
 * then are as before. `toHost` brings arrays of the program up to date.
 */
export async function onCopies(
  values: Readonly<Record<string, CopiedValues>>,
  changed: readonly LoopData[],
  toHost: () => Promise<void>,
  execute: (copies: Readonly<Record<string, LoopData>>) => Promise<void>,
): Promise<boolean> {
  // A value has one copy, so that the engine notices if two arrays of the loop are the same.
  const made = new Map<unknown, LoopData>();
  const copies: Record<string, LoopData> = {};
  for (const [name, { as, value, isChanged }] of Object.entries(values)) {
    const copy = made.get(value) ?? copyOf(value, as);
    if (copy?.constructor !== classes[as] || (isChanged && Object.isFrozen(value))) return false;
    made.set(value, copy);
    copies[name] = copy;
  }
  if (changed.length > 0) await toHost();
  const saved = changed.map((array) => array.slice());
  try {
    await execute(copies);
  } catch (error) {
    if (!(error instanceof AccessOutside)) throw error;
    if (changed.length > 0) await toHost();
    for (const [at, array] of changed.entries()) array.set(saved[at]!);
    return false;
  }
  for (const [name, { value, isChanged }] of Object.entries(values)) {
    if (isChanged) copyBack(value as number[], copies[name]!);
  }
  return true;
}

/** Returns a copy of a value; undefined if the copy would not have the same elements. */
function copyOf(value: unknown, as: CopiedValues["as"]): LoopData | undefined {
  const { length } = value as { length: number };
  const copy = new classes[as](length);
  if (typeof value === "string") {
    for (let at = 0; at < length; at++) copy[at] = value.charCodeAt(at);
  } else {
    if (Object.getPrototypeOf(value) !== Array.prototype) return undefined;
    for (let at = 0; at < length; at++) {
      const element: unknown = (value as unknown[])[at];
      if (typeof element !== "number") return undefined;
      copy[at] = element;
      if (as === "Int32Array" && !Object.is(copy[at], element)) return undefined;
    }
  }
  const leave = () => {
    throw new AccessOutside();
  };
  return Object.defineProperty(copy, "leave", { value: leave });
}

function copyBack(array: number[], copy: LoopData): void {
  for (let at = 0; at < copy.length; at++) array[at] = copy[at]!;
}
