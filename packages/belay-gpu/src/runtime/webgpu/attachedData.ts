/**
 * The data of Belay about an object of the program. It is in a private field, which programs cannot
 * see. A `WeakMap` would cost the garbage collector more than the calls that it serves.
 */
export interface AttachedData {
  /** The overlaid members of the object; undefined if it has those of its class. */
  members: object | undefined;
  /** The states of overlays on the object. */
  readonly states: Map<object, unknown>;
}

/** A class whose constructor returns its argument, so that derived classes add fields to it. */
class Itself {
  constructor(object: object) {
    // biome-ignore lint/correctness/noConstructorReturn: fields of derived classes go to the result
    return object;
  }
}

class Attached extends Itself {
  readonly #data: AttachedData = { members: undefined, states: new Map() };

  /** Returns the data of an object; undefined if it has none. */
  static to(object: object): AttachedData | undefined {
    // A method of a class can be called on anything.
    return typeof object === "object" && object !== null && #data in object ? object.#data : undefined;
  }
}

/** Returns the data about an object; undefined if there is none. */
export const dataOf = (object: object): AttachedData | undefined => Attached.to(object);

/** Returns the data about an object, which is empty at first. */
export const dataOn = (object: object): AttachedData =>
  Attached.to(object) ?? Attached.to(new Attached(object))!;
