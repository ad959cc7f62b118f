/**
 * How an object of a hardened device answers, while it stays the native object that its class made:
 * the methods on the class's prototype ask here, for each object, who is to answer. Objects of
 * plain devices have no face, and get the native method.
 */

/** The members by which an object answers; `this` is the object. */
type Members = object;

const faces = new WeakMap<object, Members>();
/**
 * By a class's prototype: its native members that were replaced there. The others are inherited
 * from it.
 */
const natives = new WeakMap<object, Members>();
const prototypes = new WeakMap<Members, object>();

/** The members by which an object answers now: its class's own, unless it has a face. */
export function faceOf<T extends object>(object: T): T {
  return (faces.get(object) ?? nativeOf(Object.getPrototypeOf(object))) as T;
}

/** Has an object answer by members, for which its class has to ask. */
export function setFace(object: object, members: Members): void {
  faces.set(object, members);
}

/**
 * Has the class of a face ask for it where these members of its objects are used. Members that the
 * class lacks stay absent.
 */
export function askForFace(face: object, names: Iterable<PropertyKey>): void {
  let native = face;
  while (!prototypes.has(native)) native = Object.getPrototypeOf(native);
  const prototype = prototypes.get(native)!;
  for (const name of names) {
    if (Object.hasOwn(native, name)) continue;
    const descriptor = descriptorOf(prototype, name);
    if (!descriptor?.configurable) continue;
    Object.defineProperty(native, name, descriptor);
    Object.defineProperty(prototype, name, asking(name, descriptor));
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

function asking(name: PropertyKey, native: PropertyDescriptor): PropertyDescriptor {
  const { value, get, set } = native;
  if (typeof value === "function") {
    const method = function (this: object, ...args: unknown[]): unknown {
      const face = faces.get(this);
      return Reflect.apply(face ? (face as Record<PropertyKey, typeof value>)[name] : value, this, args);
    };
    return { ...native, value: likeNative(method, value) };
  }
  const asked: PropertyDescriptor = { ...native };
  if (get) {
    const getter = function (this: object): unknown {
      const face = faces.get(this);
      return face ? Reflect.get(face, name, this) : Reflect.apply(get, this, []);
    };
    asked.get = likeNative(getter, get);
  }
  if (set) {
    const setter = function (this: object, value: unknown): void {
      const face = faces.get(this);
      if (face) Reflect.set(face, name, value, this);
      else Reflect.apply(set, this, [value]);
    };
    asked.set = likeNative(setter, set);
  }
  return asked;
}

/** A function that tells the native one's name and count of parameters. */
export function likeNative<F extends (...args: never[]) => unknown>(made: F, native: object): F {
  for (const name of ["name", "length"]) {
    const descriptor = Reflect.getOwnPropertyDescriptor(native, name);
    if (descriptor) Object.defineProperty(made, name, descriptor);
  }
  return made;
}

/**
 * Has a class ask for the face of an object at every member, where the object is a stand-in for one
 * of its class.
 */
export function standIn(object: object, prototype: object, members: Members): void {
  const names = Reflect.ownKeys(prototype).filter(
    (name) => typeof name === "string" && name !== "constructor",
  );
  askForFace(nativeOf(prototype), names);
  setFace(object, members);
}
