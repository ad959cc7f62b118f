/**
 * Plain arrays, arrays of arrays or objects, and strings in loops. The host copies their numbers to
 * typed arrays for a call, and the changed numbers back afterwards.
 */
import type { LoopData } from "../../loops/javascript/sequential.ts";

/** The values to copy, by the names of their arrays in the loop. */
export interface CopiedValues {
  /** The class of the copy. */
  readonly as: "Float64Array" | "Int32Array" | "Uint16Array";
  readonly value: unknown;
  readonly isChanged: boolean;
  /**
   * The property of each object in the value; null for all elements of each array in it. Undefined
   * for the elements of the value itself.
   */
  readonly of?: string | null;
}

/** The end of a loop that accesses a plain array or a string where it has no element. */
class AccessOutside extends Error {}

const classes = { Float64Array, Int32Array, Uint16Array };

/**
 * Executes a loop on copies of plain arrays and strings. Afterwards it copies changed numbers back.
 * Returns false if the loop has to run as it is written. Then an element is no number of the copy's
 * type, two arrays share what the loop changes, or the loop accesses an element that does not
 * exist. The values and the arrays of `changed` then are as before. `toHost` brings arrays of the
 * program up to date.
 */
export async function onCopies(
  values: Readonly<Record<string, CopiedValues>>,
  changed: readonly LoopData[],
  toHost: () => Promise<void>,
  execute: (copies: Readonly<Record<string, LoopData>>) => Promise<void>,
): Promise<boolean> {
  // A value has one copy, so that the engine notices if two arrays of the loop are the same.
  const made: { readonly of: CopiedValues["of"]; readonly value: unknown; readonly copy: LoopData }[] = [];
  const copies: Record<string, LoopData> = {};
  for (const [name, one] of Object.entries(values)) {
    const { as, value, of } = one;
    const copy = made.find((other) => other.value === value && other.of === of)?.copy ?? copyOf(one);
    if (copy?.constructor !== classes[as] || (one.isChanged && !mayChange(one))) return false;
    made.push({ of, value, copy });
    copies[name] = copy;
  }
  if (Object.values(values).some(({ isChanged }) => isChanged) && shareRows(Object.values(values)))
    return false;
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
  for (const [name, one] of Object.entries(values)) if (one.isChanged) copyBack(one, copies[name]!);
  return true;
}

/** Returns a copy of a value; undefined if the copy would not have the same elements. */
function copyOf({ as, value, of }: CopiedValues): LoopData | undefined {
  const copy =
    typeof value === "string"
      ? Uint16Array.from({ length: value.length }, (_, at) => value.charCodeAt(at))
      : of === undefined
        ? copyOfNumbers(value, as)
        : of === null
          ? copyOfRows(value, as)
          : copyOfProperty(value, as, of);
  const leave = () => {
    throw new AccessOutside();
  };
  return copy && Object.defineProperty(copy, "leave", { value: leave });
}

const isPlain = (value: unknown): value is readonly unknown[] =>
  Array.isArray(value) && Object.getPrototypeOf(value) === Array.prototype;

function copyOfNumbers(value: unknown, as: CopiedValues["as"]): LoopData | undefined {
  if (!isPlain(value)) return undefined;
  const copy = new classes[as](value.length);
  return setAll(copy, 0, value) ? copy : undefined;
}

/** Copies the elements of all arrays in an array, one array after another. */
function copyOfRows(value: unknown, as: CopiedValues["as"]): LoopData | undefined {
  if (!isPlain(value)) return undefined;
  const width = isPlain(value[0]) ? value[0].length : 0;
  for (let at = 0; at < value.length; at++) {
    const row = value[at];
    if (!isPlain(row) || row.length !== width) return undefined;
  }
  const copy = new classes[as](value.length * width);
  const isCopied = value.every((row, at) => setAll(copy, at * width, row as readonly unknown[]));
  return isCopied ? copy : undefined;
}

/** Copies a property of all objects in an array, which must be a property of their own. */
function copyOfProperty(value: unknown, as: CopiedValues["as"], name: string): LoopData | undefined {
  if (!isPlain(value)) return undefined;
  const copy = new classes[as](value.length);
  for (let at = 0; at < value.length; at++) {
    if (!setNumber(copy, at, propertyOf(value[at], name)?.value)) return undefined;
  }
  return copy;
}

const propertyOf = (value: unknown, name: string): PropertyDescriptor | undefined =>
  typeof value === "object" && value !== null ? Object.getOwnPropertyDescriptor(value, name) : undefined;

function setAll(copy: LoopData, start: number, elements: readonly unknown[]): boolean {
  for (let at = 0; at < elements.length; at++) {
    if (!setNumber(copy, start + at, elements[at])) return false;
  }
  return true;
}

/** Sets an element of a copy. Returns false if the copy cannot hold the value. */
function setNumber(copy: LoopData, at: number, value: unknown): boolean {
  if (typeof value !== "number") return false;
  copy[at] = value;
  return !(copy instanceof Int32Array) || Object.is(copy[at], value);
}

/** Returns true if the program may change all numbers of a value. */
function mayChange({ value, of }: CopiedValues): boolean {
  if (of === undefined) return !Object.isFrozen(value);
  const elements = value as readonly unknown[];
  if (of === null) return !elements.some((row) => Object.isFrozen(row));
  return elements.every((one) => propertyOf(one, of)?.writable);
}

/** Returns true if an array or an object is in two places of different values, or of one value. */
function shareRows(values: readonly CopiedValues[]): boolean {
  const seen = new Set<unknown>();
  const distinct = new Set(values.map(({ value }) => value));
  for (const value of distinct) {
    const isTable = values.some((one) => one.value === value && one.of !== undefined);
    const parts: readonly unknown[] = isTable ? (value as readonly unknown[]) : [value];
    for (const part of parts) {
      if (typeof part === "object" && seen.has(part)) return true;
      seen.add(part);
    }
  }
  return false;
}

function copyBack({ value, of }: CopiedValues, copy: LoopData): void {
  if (of === undefined) {
    const array = value as number[];
    for (let at = 0; at < copy.length; at++) array[at] = copy[at]!;
  } else if (of === null) {
    let at = 0;
    for (const row of value as number[][])
      for (let place = 0; place < row.length; place++) row[place] = copy[at++]!;
  } else {
    const objects = value as Record<string, number>[];
    for (let at = 0; at < copy.length; at++) objects[at]![of] = copy[at]!;
  }
}
