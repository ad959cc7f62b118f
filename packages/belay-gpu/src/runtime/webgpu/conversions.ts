/**
 * The conversions of values that programs pass to WebGPU. Each value is read once, and the device
 * gets the converted value that Belay records. Node.js accepts fewer values than Web IDL demands.
 * Source: Web IDL, 3.2 "JavaScript type mapping".
 */

/** The result for a value that the device rejects with a `TypeError`. */
export const rejected = Symbol("rejected");

/** Returns the converted value, or `rejected`. */
export type Conversion = (given: unknown) => unknown;

/** True if this host rejects numbers, booleans and sequences of other types. */
let isStrict = false;

/** Finds out which values this host accepts. */
export function learnConversions(device: GPUDevice): void {
  try {
    device.createSampler({ lodMinClamp: "0" as unknown as number });
    isStrict = false;
  } catch {
    isStrict = true;
  }
}

export const asGiven: Conversion = (given) => given;

/** Returns the conversion to integers from `least` to `most`. A fraction is cut off. */
const integer =
  (least: number, most: number): Conversion =>
  (given) => {
    if (Number.isInteger(given))
      return least <= (given as number) && (given as number) <= most ? given : rejected;
    const number = toNumber(given);
    if (number === rejected || !Number.isFinite(number)) return rejected;
    // Node.js compares before it cuts the fraction off.
    const compared = isStrict ? (number as number) : Math.trunc(number as number);
    return least <= compared && compared <= most ? Math.trunc(number as number) : rejected;
  };

export const unsignedLong = integer(0, 2 ** 32 - 1);
export const unsignedLongLong = integer(0, Number.MAX_SAFE_INTEGER);
export const long = integer(-(2 ** 31), 2 ** 31 - 1);

/** Converts to a number, and rejects values that Web IDL rejects. */
export function toNumber(given: unknown): number | typeof rejected {
  if (typeof given === "number") return given;
  return isStrict || typeof given === "bigint" || typeof given === "symbol" ? rejected : Number(given);
}

export const boolean: Conversion = (given) => {
  if (typeof given === "boolean") return given;
  return isStrict ? rejected : Boolean(given);
};

/** Converts to a string. The values of an enumeration are strings too. */
export const string: Conversion = (given) => {
  const isKept = given === undefined || typeof given === "symbol" || (given === null && isStrict);
  return isKept ? given : String(given);
};

/** Returns the conversion of an argument that the program can leave out. */
export const optional =
  (convert: Conversion): Conversion =>
  (given) =>
    isAbsent(given) ? undefined : convert(given);

/** Returns whether an optional argument is absent. */
export function isAbsent(given: unknown): boolean {
  return given === undefined || (given === null && isStrict);
}

/** Returns the conversion of a value that can be null or absent. */
export const nullable =
  (convert: Conversion): Conversion =>
  (given) =>
    given === undefined || given === null ? given : convert(given);

/** Returns the conversion to a list, from an iterable that is read once. */
export const sequence =
  (item: Conversion): Conversion =>
  (given) => {
    if (!isSequence(given)) return rejected;
    const items: unknown[] = [];
    for (const each of given) {
      const converted = item(each);
      if (converted === rejected) return rejected;
      items.push(converted);
    }
    return items;
  };

function isSequence(given: unknown): given is Iterable<unknown> {
  return isStrict ? Array.isArray(given) : isObject(given) && Symbol.iterator in given;
}

/**
 * Returns the conversion to a plain object with these members, which are read once. Other members
 * are kept, as devices may know more.
 */
export const dictionary = (
  members: Readonly<Record<string, Conversion>>,
  required: readonly string[] = [],
): Conversion => {
  const known = Object.entries(members);
  const names = new Set(Object.keys(members));
  return (given) => {
    if (!isObject(given)) {
      const isEmpty = given === undefined || given === null;
      // Node.js aborts without a required descriptor, and takes other values for an empty one.
      if (isStrict && (isEmpty || required.length === 0)) return given;
      return isEmpty && required.length === 0 ? {} : rejected;
    }
    const converted: Record<string, unknown> = {};
    for (const [name, convert] of known) {
      const member: unknown = Reflect.get(given, name);
      if (member === undefined) continue;
      const value = convert(member);
      if (value === rejected) return rejected;
      converted[name] = value;
    }
    for (const name of required) if (!(name in converted)) return rejected;
    for (const name in given) if (!names.has(name)) converted[name] = Reflect.get(given, name);
    return converted;
  };
};

/** Returns the conversion to a map from names to values. */
export const record =
  (value: Conversion): Conversion =>
  (given) => {
    if (!isObject(given)) return given;
    const converted: Record<string, unknown> = {};
    for (const name in given) {
      const each = value(Reflect.get(given, name));
      if (each === rejected) return rejected;
      converted[name] = each;
    }
    return converted;
  };

/** Returns the conversion to a list, such as `[width, height]`, or to a dictionary. */
export const listOr = (item: Conversion, other: Conversion): Conversion => {
  const list = sequence(item);
  return (given) => (isSequence(given) ? list(given) : other(given));
};

const typedArray: object = Object.getPrototypeOf(Uint8Array.prototype);
const viewMembers = ["buffer", "byteLength", "byteOffset", "length", "BYTES_PER_ELEMENT"];
/** The prototypes of the host's own buffers and views. */
const ownPrototypes = new Set<object>(
  Object.getOwnPropertyNames(globalThis)
    .filter((name) =>
      /^((Big)?(Ui|I)nt\d+(Clamped)?Array|Float\d+Array|DataView|(Shared)?ArrayBuffer)$/.test(name),
    )
    .map((name) => Reflect.get(globalThis, name).prototype),
);
const typeOfArray = getterOf(typedArray, Symbol.toStringTag);

/**
 * Converts data of the host. Returns a view of the same memory if the program has overridden the
 * members of its own view, which WebGPU never reads.
 */
export const bufferSource: Conversion = (given) => {
  if (!isObject(given)) return rejected;
  const hasOwn = viewMembers.some((name) => Object.hasOwn(given, name));
  if (!hasOwn && ownPrototypes.has(Object.getPrototypeOf(given))) return given;
  if (!ArrayBuffer.isView(given)) return isBuffer(given) ? new Uint8Array(given) : rejected;
  const type = Reflect.apply(typeOfArray, given, []) as "Uint8Array" | undefined;
  const from = type ? typedArray : DataView.prototype;
  const read = (name: string): unknown => Reflect.apply(getterOf(from, name), given, []);
  const View = (type ? globalThis[type] : DataView) as Uint8ArrayConstructor;
  const length = read(type ? "length" : "byteLength") as number;
  return new View(read("buffer") as ArrayBuffer, read("byteOffset") as number, length);
};

/** Returns whether an argument is an array of offsets, whatever its class says. */
export function isUint32Array(given: unknown): boolean {
  return ArrayBuffer.isView(given) && Reflect.apply(typeOfArray, given, []) === "Uint32Array";
}

function isBuffer(given: object): given is ArrayBuffer {
  return (
    given instanceof ArrayBuffer ||
    (typeof SharedArrayBuffer === "function" && given instanceof SharedArrayBuffer)
  );
}

function getterOf(prototype: object, name: PropertyKey): () => unknown {
  return Reflect.getOwnPropertyDescriptor(prototype, name)!.get!;
}

export function isObject(given: unknown): given is object {
  return (typeof given === "object" && given !== null) || typeof given === "function";
}
