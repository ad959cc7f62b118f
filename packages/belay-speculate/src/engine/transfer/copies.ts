/**
 * Plain arrays, arrays of arrays or objects, and strings in loops. The host copies their numbers to
 * typed arrays for a call, and the changed numbers back afterwards.
 */
import type { LoopData } from "../../loops/javascript/sequential.ts";
import { isPlainTypedArray, isTypedArray } from "./typedArrays.ts";

/** The values to copy, by the names of their arrays in the loop. */
export interface CopiedValues {
  /** The class of the copy. */
  readonly as: keyof typeof classes;
  readonly value: unknown;
  readonly isChanged: boolean;
  /**
   * The steps from an element of the value to a number: the names of properties, and null for all
   * elements of an array. Undefined for the elements of the value itself.
   */
  readonly path?: Path;
  /** True if typed arrays hold the numbers. */
  readonly isTyped?: boolean;
  /** The lowest index at which the loop may look for an element that does not exist. */
  readonly lowest?: number;
}

type Path = readonly (string | null)[];

/** The end of a loop that accesses a plain array or a string where it has no element. */
class AccessOutside extends Error {}

const classes = {
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
};

/** The typed arrays that a loop uses without a copy. */
export interface OwnArrays {
  readonly changed: readonly LoopData[];
  readonly read: readonly LoopData[];
}

/** A value with its copy. */
interface Copied extends CopiedValues {
  /** The arrays or objects that hold the copied numbers. A string has none. */
  readonly holders: readonly object[];
  readonly copy: LoopData;
}

/**
 * Executes a loop on copies of plain arrays and strings. Afterwards it copies changed numbers back.
 * `toHost` brings arrays of the program up to date.
 *
 * Returns false if the loop has to run as it is written, and leaves all values as they were. That
 * is so where an element is no number of the copy's type, or does not exist. It is also so where
 * two arrays share what the loop changes.
 */
export async function onCopies(
  values: Readonly<Record<string, CopiedValues>>,
  { changed, read }: OwnArrays,
  toHost: () => Promise<void>,
  execute: (copies: Readonly<Record<string, LoopData>>) => Promise<void>,
): Promise<boolean> {
  const given = Object.entries(values);
  if (changed.length > 0 || given.some(([, { isTyped }]) => isTyped)) await toHost();
  if (!hasPlainPrototypes()) return false;
  const copied: Copied[] = [];
  for (const [, one] of given) {
    // A value has one copy, so that the engine notices if two arrays of the loop are the same.
    const made = copied.find(({ value, path }) => value === one.value && `${path}` === `${one.path}`);
    const holders = made?.holders ?? holdersIn(one);
    const copy = made?.copy ?? (holders && copyOf(one, holders));
    if (copy?.constructor !== classes[one.as] || (one.isChanged && !mayChange(one, holders!))) return false;
    copied.push({ ...one, holders: holders!, copy });
  }
  const isChanging = copied.some(({ isChanged }) => isChanged);
  if (isChanging && shareHolders(copied)) return false;
  if ((isChanging || changed.length > 0) && shareMemory(copied, [...changed, ...read])) return false;
  const restore = changed.map(restorerOf);
  try {
    await execute(Object.fromEntries(given.map(([name], at) => [name, copied[at]!.copy])));
  } catch (error) {
    if (!(error instanceof AccessOutside)) throw error;
    if (changed.length > 0) await toHost();
    for (const each of restore) each();
    return false;
  }
  for (const one of copied) if (one.isChanged) copyBack(one);
  return true;
}

/**
 * Returns a function that gives an array the contents that it has now. A loop may also have stored
 * at the index `undefined`, which sets a property.
 */
function restorerOf(array: LoopData): () => void {
  const saved = array.slice();
  const property = Object.getOwnPropertyDescriptor(array, "undefined");
  return () => {
    array.set(saved);
    if (property) Object.defineProperty(array, "undefined", property);
    else Reflect.deleteProperty(array, "undefined");
  };
}

/** Yields the arrays and objects on the way to the numbers of a value, which may have any type. */
export function* partsOf(value: unknown, path: Path = []): Generator<object> {
  if (!isObject(value)) return;
  yield value;
  const [step, ...rest] = path;
  if (typeof step === "string") yield* partsOf(propertyOf(value, step)?.value, rest);
  else if (step === null && Array.isArray(value)) for (const one of value) yield* partsOf(one, rest);
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

const propertyOf = (value: unknown, name: string): PropertyDescriptor | undefined =>
  isObject(value) ? Object.getOwnPropertyDescriptor(value, name) : undefined;

/** Returns false if the program has given all arrays or all objects an element. */
const hasPlainPrototypes = () =>
  [Array.prototype, Object.prototype].every((prototype) =>
    Reflect.ownKeys(prototype).every((key) => typeof key === "symbol" || !/^\d/.test(key)),
  );

/** Returns true for a proxy, where the platform tells. */
const isProxy: (value: unknown) => boolean =
  globalThis.process?.getBuiltinModule?.("node:util")?.types.isProxy ?? (() => false);

const isPlain = (value: unknown): value is readonly unknown[] =>
  Array.isArray(value) && Object.getPrototypeOf(value) === Array.prototype && !isProxy(value);

/** Returns true for a typed array of exactly a class. */
const isTypedOf = (value: unknown, as: CopiedValues["as"]): value is LoopData =>
  isTypedArray(value) &&
  Object.getPrototypeOf(value) === classes[as].prototype &&
  isPlainTypedArray(value) &&
  !isProxy(value);

/**
 * Returns the arrays or objects that hold the numbers of a value. Undefined if the value is not as
 * declared, or if arrays at one place have different lengths.
 */
function holdersIn({ value, path, as, isTyped, lowest = 0 }: CopiedValues): readonly object[] | undefined {
  if (typeof value === "string") return [];
  const isArray = (one: unknown): one is readonly unknown[] => isPlain(one) && hasNothingBelow(one, lowest);
  if (!isArray(value)) return undefined;
  let parts: readonly unknown[] = path ? Array.from(value) : [value];
  for (const [at, step] of (path ?? []).entries()) {
    const isLast = at === path!.length - 1;
    if (step === null) {
      const areRows = parts.every((one) => (isLast && isTyped ? isTypedOf(one, as) : isArray(one)));
      const rows = parts as readonly (readonly unknown[])[];
      if (!areRows || rows.some(({ length }) => length !== rows[0]!.length)) return undefined;
      if (!isLast) parts = rows.flatMap((row) => Array.from(row));
    } else {
      if (!parts.every((one) => isObject(one) && !isProxy(one))) return undefined;
      if (!isLast) parts = parts.map((one) => propertyOf(one, step)?.value);
    }
  }
  return parts as readonly object[];
}

/** Returns true for an array that has no property at the negative indices from one on. */
function hasNothingBelow(array: object, lowest: number): boolean {
  for (let at = lowest; at < 0; at++) if (at in array) return false;
  return true;
}

/** Returns a copy of a value's numbers; undefined if the copy would not have the same. */
function copyOf({ as, value, path }: CopiedValues, holders: readonly object[]): LoopData | undefined {
  const copy =
    typeof value === "string"
      ? Uint16Array.from({ length: value.length }, (_, at) => value.charCodeAt(at))
      : typeof path?.at(-1) === "string"
        ? copyOfProperty(as, holders, path.at(-1)!)
        : copyOfElements(as, holders as readonly (readonly unknown[] | LoopData)[]);
  const leave = () => {
    throw new AccessOutside();
  };
  return copy && Object.defineProperty(copy, "leave", { value: leave });
}

/** Copies the elements of arrays of one length, one array after another. */
function copyOfElements(
  as: CopiedValues["as"],
  rows: readonly (readonly unknown[] | LoopData)[],
): LoopData | undefined {
  const width = rows[0]?.length ?? 0;
  const copy = new classes[as](rows.length * width);
  for (const [at, row] of rows.entries()) {
    if (isTypedArray(row)) copy.set(row, at * width);
    else if (!setAll(copy, at * width, row)) return undefined;
  }
  return copy;
}

function copyOfProperty(
  as: CopiedValues["as"],
  objects: readonly object[],
  name: string,
): LoopData | undefined {
  const copy = new classes[as](objects.length);
  for (const [at, one] of objects.entries())
    if (!setNumber(copy, at, propertyOf(one, name)?.value)) return undefined;
  return copy;
}

function setAll(copy: LoopData, start: number, elements: readonly unknown[]): boolean {
  for (let at = 0; at < elements.length; at++) if (!setNumber(copy, start + at, elements[at])) return false;
  return true;
}

/** Sets an element of a copy. Returns false if the copy cannot hold the value. */
function setNumber(copy: LoopData, at: number, value: unknown): boolean {
  if (typeof value !== "number") return false;
  copy[at] = value;
  return !(copy instanceof Int32Array) || Object.is(copy[at], value);
}

/** Returns true if the program may change all numbers of a value. */
function mayChange({ path }: CopiedValues, holders: readonly object[]): boolean {
  const name = path?.at(-1);
  return typeof name === "string"
    ? holders.every((one) => propertyOf(one, name)?.writable)
    : !holders.some((one) => Object.isFrozen(one));
}

/** Returns true if an array or an object holds the numbers of two places. */
function shareHolders(copied: readonly Copied[]): boolean {
  const seen = new Set<object>();
  const places = copied.filter(
    (one, at) =>
      !copied.slice(0, at).some((other) => other.value === one.value && haveSameHolders(one, other)),
  );
  for (const { holders } of places)
    for (const holder of holders) {
      if (seen.has(holder)) return true;
      seen.add(holder);
    }
  return false;
}

/** Returns true if two paths in one value lead to the same arrays or objects of numbers. */
const haveSameHolders = ({ path }: Copied, other: Copied) =>
  !path === !other.path && `${path?.slice(0, -1)}` === `${other.path?.slice(0, -1)}`;

/** Returns true if a typed array in a value has memory of another one, or of the loop's own. */
function shareMemory(copied: readonly Copied[], own: readonly LoopData[]): boolean {
  const held = new Set(copied.flatMap(({ holders, isTyped }) => (isTyped ? (holders as LoopData[]) : [])));
  const ranges = [...held, ...own]
    .filter(({ byteLength }) => byteLength > 0)
    .map((array) => ({ array, isHeld: held.has(array), start: array.byteOffset }))
    .sort((one, other) => one.start - other.start);
  /** The ends of the memory so far, and of that of arrays in values, in each buffer. */
  const ends = new Map<ArrayBufferLike, { all: number; held: number }>();
  for (const { array, isHeld, start } of ranges) {
    const end = ends.get(array.buffer) ?? { all: 0, held: 0 };
    if (start < (isHeld ? end.all : end.held)) return true;
    end.all = Math.max(end.all, start + array.byteLength);
    if (isHeld) end.held = Math.max(end.held, start + array.byteLength);
    ends.set(array.buffer, end);
  }
  return false;
}

/** Sets the numbers of a value that differ from those of its copy. */
function copyBack({ path, holders, copy }: Copied): void {
  const name = path?.at(-1);
  let next = 0;
  const set = (holder: Record<string | number, number>, key: string | number) => {
    const value = copy[next++]!;
    if (!Object.is(holder[key], value)) holder[key] = value;
  };
  for (const holder of holders as (Record<string | number, number> & { length: number })[]) {
    if (typeof name === "string") set(holder, name);
    else for (let at = 0; at < holder.length; at++) set(holder, at);
  }
}
