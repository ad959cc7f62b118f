/** Methods that stand before a class's own; each is called with the native object as `this`. */
type Methods<T> = { readonly [K in keyof T]?: T[K] } & ThisType<T>;

/**
 * Puts methods between native objects and their class: an object is given a prototype that has these methods and is
 * the native one otherwise. Nothing is made per object, and it stays the native object, `instanceof` included.
 *
 * `methods` is called once for a class, with its native prototype, from which the originals are to be called.
 */
export class Layer<T extends object, State> {
  readonly #states = new WeakMap<T, State>();
  readonly #prototypes = new WeakMap<T, T>();
  readonly #methods: (native: T, stateOf: (object: T) => State) => Methods<T>;

  constructor(methods: (native: T, stateOf: (object: T) => State) => Methods<T>) {
    this.#methods = methods;
  }

  /** What is kept for an object; undefined for one that was never put under this layer. */
  stateOf(object: T): State | undefined {
    return this.#states.get(object);
  }

  /** Lets the methods of this layer answer for an object from now on. */
  cover(object: T, state: State): void {
    this.#states.set(object, state);
    const native: T = Object.getPrototypeOf(object);
    let covered = this.#prototypes.get(native);
    if (!covered) {
      const methods = this.#methods(native, (each) => this.#states.get(each)!);
      covered = Object.create(native, Object.getOwnPropertyDescriptors(methods)) as T;
      this.#prototypes.set(native, covered);
    }
    Object.setPrototypeOf(object, covered);
  }

  /** Lets the native methods of an object answer for it again. */
  uncover(object: T): void {
    this.#states.delete(object);
    Object.setPrototypeOf(object, Object.getPrototypeOf(Object.getPrototypeOf(object)));
  }
}
