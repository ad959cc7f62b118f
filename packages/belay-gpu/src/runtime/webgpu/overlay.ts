import { dataOf, dataOn } from "./attachedData.ts";
import { overlaidMembersOf, redirectMembers } from "./overlaidMembers.ts";

/** The methods of an overlay. Each is called with the native object as `this`. */
export type Methods<T> = { readonly [K in keyof T]?: T[K] } & ThisType<T>;

/**
 * The order of the overlays of one object. A higher rank is called first, and within a rank the
 * latest.
 */
export const rank = { inner: 0, destruction: 1, mapping: 2 } as const;
type Rank = (typeof rank)[keyof typeof rank];

interface AnyOverlay {
  readonly rank: Rank;
  over(below: object): object;
}

/**
 * The topmost overlay of each set of overlaid members, and the members below it. A class's own
 * members have no entry.
 */
const tops = new WeakMap<object, { readonly overlay: AnyOverlay; readonly below: object }>();

/**
 * An overlay puts methods between native objects and their class. Each object only gets a state. It
 * stays the native object, with the prototype of its class.
 *
 * `methods` is called once for a class. Its argument has the members below the overlay, from which
 * the original methods are called.
 */
export class Overlay<T extends object, State = undefined> implements AnyOverlay {
  readonly rank: Rank;
  readonly #overlaid = new WeakMap<object, object>();
  readonly #methods: (native: T, stateOf: (object: T) => State) => Methods<T>;

  constructor(methods: (native: T, stateOf: (object: T) => State) => Methods<T>, at: Rank = rank.inner) {
    this.#methods = methods;
    this.rank = at;
  }

  /** Returns the state of an object. Undefined if this overlay was never attached to it. */
  stateOf(object: T): State | undefined {
    return dataOf(object)?.get(this) as State | undefined;
  }

  /** Attaches the overlay to an object: its methods are called from now on. */
  attach(object: T, state: State): void {
    const data = dataOn(object);
    if (state !== undefined) data.set(this, state);
    data.members = put(this, overlaidMembersOf(object, data));
  }

  /** Detaches the overlay, which must be the topmost of the object. */
  detach(object: T): void {
    const data = dataOn(object);
    data.delete(this);
    data.members = tops.get(overlaidMembersOf(object, data))!.below;
  }

  /** Returns the members of an object below this overlay. */
  below(object: T): T {
    let members: object = overlaidMembersOf(object);
    for (let top = tops.get(members); top; top = tops.get(members)) {
      members = top.below;
      if (top.overlay === this) break;
    }
    return members as T;
  }

  /** Returns members with this overlay on top of the given ones. */
  over(below: object): object {
    const known = this.#overlaid.get(below);
    if (known) return known;
    const methods = this.#methods(below as T, (each) => this.stateOf(each)!);
    const members: object = Object.create(below, Object.getOwnPropertyDescriptors(methods));
    redirectMembers(members, Object.keys(methods));
    this.#overlaid.set(below, members);
    tops.set(members, { overlay: this, below });
    return members;
  }
}

/**
 * Returns all methods of a class but the named ones. Each calls `note` with its object first.
 * `native` has the original methods.
 */
export function noting<T extends object>(
  native: T,
  except: readonly string[],
  note: (object: T, name: string) => void,
): Methods<T> {
  const methods: Record<string, unknown> = {};
  for (let members: object = native; members !== Object.prototype; members = Object.getPrototypeOf(members)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(members))) {
      if (typeof value !== "function" || name === "constructor" || except.includes(name)) continue;
      methods[name] ??= function (this: T, ...args: unknown[]): unknown {
        note(this, name);
        return Reflect.apply(value, this, args);
      };
    }
  }
  return methods as Methods<T>;
}

/** Returns members with one more overlay, at the position of its rank. */
function put(overlay: AnyOverlay, members: object): object {
  const top = tops.get(members);
  return top && top.overlay.rank > overlay.rank
    ? top.overlay.over(put(overlay, top.below))
    : overlay.over(members);
}
