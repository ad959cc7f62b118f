import { askForFace, faceOf, setFace } from "./faces.ts";

/** Methods that stand before a class's own; each is called with the native object as `this`. */
type Methods<T> = { readonly [K in keyof T]?: T[K] } & ThisType<T>;

/**
 * Where a layer stands among those of an object: a higher rank answers first, and of one rank the
 * latest.
 */
export const rank = { inner: 0, destruction: 1, mapping: 2 } as const;
type Rank = (typeof rank)[keyof typeof rank];

interface AnyLayer {
  readonly rank: Rank;
  on(below: object): object;
}

/** The layer that a face has on top, and the face below it; a class's own face has none. */
const tops = new WeakMap<object, { readonly layer: AnyLayer; readonly below: object }>();

/**
 * Puts methods between native objects and their class. Nothing is made per object but its state,
 * and it stays the native object, with the prototype of its class.
 *
 * `methods` is called once for a class, with the members below, from which the originals are to be
 * called.
 */
export class Layer<T extends object, State = undefined> implements AnyLayer {
  readonly rank: Rank;
  readonly #states = new WeakMap<T, State>();
  readonly #faces = new WeakMap<object, object>();
  readonly #methods: (native: T, stateOf: (object: T) => State) => Methods<T>;

  constructor(methods: (native: T, stateOf: (object: T) => State) => Methods<T>, at: Rank = rank.inner) {
    this.#methods = methods;
    this.rank = at;
  }

  /** The state of an object; undefined for one that was never put under this layer. */
  stateOf(object: T): State | undefined {
    return this.#states.get(object);
  }

  /** Lets the methods of this layer answer for an object from now on. */
  attach(object: T, state: State): void {
    if (state !== undefined) this.#states.set(object, state);
    setFace(object, put(this, faceOf(object)));
  }

  /** Lets the native methods of an object answer for it again, which has this layer on top. */
  detach(object: T): void {
    this.#states.delete(object);
    setFace(object, tops.get(faceOf(object))!.below);
  }

  /** The members of an object below this layer. */
  below(object: T): T {
    let face: object = faceOf(object);
    for (let top = tops.get(face); top; top = tops.get(face)) {
      face = top.below;
      if (top.layer === this) break;
    }
    return face as T;
  }

  /** The face of objects that have this layer on top of another face. */
  on(below: object): object {
    const known = this.#faces.get(below);
    if (known) return known;
    const methods = this.#methods(below as T, (each) => this.#states.get(each)!);
    const face: object = Object.create(below, Object.getOwnPropertyDescriptors(methods));
    askForFace(face, Object.keys(methods));
    this.#faces.set(below, face);
    tops.set(face, { layer: this, below });
    return face;
  }
}

/** A face with one more layer, where its rank belongs. */
function put(layer: AnyLayer, face: object): object {
  const top = tops.get(face);
  return top && top.layer.rank > layer.rank ? top.layer.on(put(layer, top.below)) : layer.on(face);
}
