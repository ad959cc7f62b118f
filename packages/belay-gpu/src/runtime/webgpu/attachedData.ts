/**
 * The data of Belay about an object of the program. It is in a private field, which programs cannot
 * see. A `WeakMap` would cost the garbage collector more than the calls that it serves.
 */
export class AttachedData {
  /** The overlaid members of the object; undefined if it has those of its class. */
  members: object | undefined = undefined;
  /** Tells which hardened device made the object. */
  ownership: object | undefined = undefined;
  // Most objects have at most two values, and a map takes more memory than an object of WebGPU.
  #firstKey: object | undefined = undefined;
  #first: unknown = undefined;
  #secondKey: object | undefined = undefined;
  #second: unknown = undefined;
  #others: Map<object, unknown> | undefined = undefined;

  /** Returns the value that is kept for a key. */
  get(key: object): unknown {
    if (this.#firstKey === key) return this.#first;
    return this.#secondKey === key ? this.#second : this.#others?.get(key);
  }

  /** Keeps a value for a key. */
  set(key: object, value: unknown): void {
    this.delete(key);
    if (this.#firstKey === undefined) {
      this.#firstKey = key;
      this.#first = value;
    } else if (this.#secondKey === undefined) {
      this.#secondKey = key;
      this.#second = value;
    } else {
      this.#others ??= new Map();
      this.#others.set(key, value);
    }
  }

  delete(key: object): void {
    if (this.#firstKey === key) {
      this.#firstKey = undefined;
      this.#first = undefined;
    } else if (this.#secondKey === key) {
      this.#secondKey = undefined;
      this.#second = undefined;
    } else {
      this.#others?.delete(key);
    }
  }

  /** Forgets everything: another hardened device is going to have the object. */
  clear(): void {
    this.members = undefined;
    this.ownership = undefined;
    this.#firstKey = undefined;
    this.#first = undefined;
    this.#secondKey = undefined;
    this.#second = undefined;
    this.#others = undefined;
  }
}

/** A class whose constructor returns its argument, so that derived classes add fields to it. */
class Itself {
  constructor(object: object) {
    // biome-ignore lint/correctness/noConstructorReturn: fields of derived classes go to the result
    return object;
  }
}

class Attached extends Itself {
  readonly #data: AttachedData;

  constructor(object: object, data: AttachedData) {
    super(object);
    this.#data = data;
  }

  /** Returns the data of an object; undefined if it has none. */
  static to(object: object): AttachedData | undefined {
    // A method of a class can be called on anything.
    return typeof object === "object" && object !== null && #data in object ? object.#data : undefined;
  }
}

/** Returns the data about an object; undefined if there is none. */
export const dataOf = (object: object): AttachedData | undefined => Attached.to(object);

/** Returns the data about an object, which is empty at first. */
export function dataOn(object: object): AttachedData {
  const known = Attached.to(object);
  if (known) return known;
  const data = new AttachedData();
  new Attached(object, data);
  return data;
}
