import { dataOf, dataOn } from "./attachedData.ts";
import { signatureOf } from "./signatures.ts";

/**
 * The overlaid members of objects of a hardened device. Each object stays the native object that
 * its class created. The methods on the prototype of its class look up the members of each object
 * here. Objects of plain devices have none, and the native method runs.
 */

/** The members of an object. Their `this` is the object. */
type Members = object;

/**
 * The native members that were replaced on a prototype. All others are inherited from the
 * prototype.
 */
const natives = new WeakMap<object, Members>();
const prototypes = new WeakMap<Members, object>();
/** The native objects for which others stand in. */
const represented = new WeakMap<object, object>();

/** Returns the current members of an object: its overlaid members, or those of its class. */
export function overlaidMembersOf<T extends object>(object: T, data = dataOf(object)): T {
  return (data?.members ?? nativeOf(Object.getPrototypeOf(object))) as T;
}

/**
 * Makes a class look up these members for each of its objects. Members that the class lacks stay
 * absent.
 */
export function redirectMembers(members: object, names: Iterable<PropertyKey>): void {
  let native = members;
  while (!prototypes.has(native)) native = Object.getPrototypeOf(native);
  const prototype = prototypes.get(native)!;
  for (const name of names) {
    if (Object.hasOwn(native, name)) continue;
    const descriptor = descriptorOf(prototype, name);
    if (!descriptor?.configurable) continue;
    Object.defineProperty(native, name, descriptor);
    Object.defineProperty(prototype, name, redirecting(name, descriptor, prototype));
  }
}

function nativeOf(prototype: object): Members {
  let native = natives.get(prototype);
  if (!native) {
    native = Object.create(prototype) as Members;
    natives.set(prototype, native);
    prototypes.set(native, prototype);
  }
  return native;
}

function descriptorOf(object: object | null, name: PropertyKey): PropertyDescriptor | undefined {
  if (object === null) return undefined;
  return Reflect.getOwnPropertyDescriptor(object, name) ?? descriptorOf(Reflect.getPrototypeOf(object), name);
}

function redirecting(name: PropertyKey, native: PropertyDescriptor, prototype: object): PropertyDescriptor {
  const { value, get, set } = native;
  if (typeof value === "function") {
    const convert = signatureOf(prototype, name);
    const isAsync = String(name).endsWith("Async");
    const method = function (this: object, ...args: unknown[]): unknown {
      const members = dataOf(this)?.members as Record<PropertyKey, typeof value> | undefined;
      if (!members) return Reflect.apply(value, this, args);
      let isConverted: boolean;
      try {
        isConverted = !convert || convert(args);
      } catch (error) {
        // An accessor of the program may throw.
        if (isAsync) return Promise.reject(error);
        throw error;
      }
      // The device rejects such arguments in its own words, and nothing is recorded.
      if (!isConverted) return Reflect.apply(value, represented.get(this) ?? this, args);
      return Reflect.apply(members[name]!, this, args);
    };
    return { ...native, value: likeNative(method, value) };
  }
  const asked: PropertyDescriptor = { ...native };
  if (get) {
    const getter = function (this: object): unknown {
      const members = dataOf(this)?.members;
      return members ? Reflect.get(members, name, this) : Reflect.apply(get, this, []);
    };
    asked.get = likeNative(getter, get);
  }
  if (set) {
    const setter = function (this: object, value: unknown): void {
      const members = dataOf(this)?.members;
      if (members) Reflect.set(members, name, value, this);
      else Reflect.apply(set, this, [value]);
    };
    asked.set = likeNative(setter, set);
  }
  return asked;
}

/** Returns a function with the name and the parameter count of the native one. */
export function likeNative<F extends (...args: never[]) => unknown>(made: F, native: object): F {
  for (const name of ["name", "length"]) {
    const descriptor = Reflect.getOwnPropertyDescriptor(native, name);
    if (descriptor) Object.defineProperty(made, name, descriptor);
  }
  return made;
}

/**
 * Makes a class look up all members of an object that stands in for one of its instances, `native`.
 * `memberOf` returns the member of each name.
 */
export function redirectAllMembers(
  object: object,
  native: object,
  memberOf: (name: PropertyKey) => PropertyDescriptor,
): void {
  const prototype: object = Object.getPrototypeOf(native);
  represented.set(object, native);
  const names = Reflect.ownKeys(prototype).filter(
    (name) => typeof name === "string" && name !== "constructor",
  );
  redirectMembers(nativeOf(prototype), names);
  const members: Members = {};
  for (const name of names) Object.defineProperty(members, name, memberOf(name));
  dataOn(object).members = members;
}
