/**
 * How Belay stands between a program and WebGPU. The device and its queue are shown through a front, so that the
 * program's own device stays plain. Everything made through them is the native object itself, some of whose methods
 * are overlaid: the program can pass it to anything that takes native objects, and nothing has to be unwrapped.
 */

/** Flag values, fixed by the specification; hosts without WebGPU globals lack the names. */
export const flags = {
  bufferMapRead: 0x1,
  bufferMapWrite: 0x2,
  bufferCopySrc: 0x4,
  bufferCopyDst: 0x8,
  bufferUniform: 0x40,
  bufferStorage: 0x80,
  bufferIndirect: 0x100,
  mapRead: 0x1,
  shaderStageCompute: 0x4,
  textureCopySrc: 0x1,
  textureCopyDst: 0x2,
  textureStorage: 0x8,
  renderAttachment: 0x10,
  transientAttachment: 0x20,
} as const;

/** Gives one native object own members that hide its prototype's, and are enumerated as those are. */
export function overlay<T extends object>(native: T, members: Partial<T>): void {
  Object.defineProperties(native, Object.getOwnPropertyDescriptors(members));
}

/** The original of a method that is about to be overlaid, bound to its object. */
export function original<T extends object, K extends keyof T>(native: T, name: K): T[K] {
  const method = native[name];
  return typeof method === "function" ? method.bind(native) : method;
}

/**
 * An object that answers from `members` first and is `native` otherwise, `instanceof` included. What the program puts on
 * it, such as a method of its own around one of these, goes before both and is nothing that Belay itself ever calls.
 */
export function front<T extends object, M extends object>(native: T, members: M): T & M {
  const bound = new Map<PropertyKey, unknown>();
  const own: object = {};
  return new Proxy(native, {
    get(_, name) {
      if (Object.hasOwn(own, name)) return Reflect.get(own, name);
      if (Object.hasOwn(members, name)) return Reflect.get(members, name);
      if (bound.has(name)) return bound.get(name);
      const value: unknown = Reflect.get(native, name, native);
      // Native methods and accessors accept no other `this` than the native object.
      if (typeof value !== "function" || name === "constructor" || isAccessor(native, name)) return value;
      const method = value.bind(native);
      bound.set(name, method);
      return method;
    },
    set: (_, name, value) =>
      isAccessor(native, name) ? Reflect.set(native, name, value, native) : Reflect.set(own, name, value),
    has: (_, name) => [own, members].some((each) => Object.hasOwn(each, name)) || Reflect.has(native, name),
    defineProperty: (_, name, descriptor) => Reflect.defineProperty(own, name, descriptor),
    deleteProperty: (_, name) => Reflect.deleteProperty(own, name),
    getOwnPropertyDescriptor: (_, name) => Reflect.getOwnPropertyDescriptor(own, name),
    ownKeys: () => Reflect.ownKeys(own),
  }) as T & M;
}

/**
 * A descriptor's members, the inherited ones too: WebGPU reads them by name, so that a buffer or an instance of a class
 * is a descriptor as well.
 */
export function membersOf<T extends object>(descriptor: T): T {
  const members: Partial<T> = {};
  for (const name in descriptor) members[name] = descriptor[name];
  return members as T;
}

/** Whether a property is an attribute of the object's class, such as `label`. */
function isAccessor(object: object | null, name: PropertyKey): boolean {
  if (object === null) return false;
  const found = Reflect.getOwnPropertyDescriptor(object, name);
  return found ? !("value" in found) : isAccessor(Reflect.getPrototypeOf(object), name);
}

/**
 * Makes what the program did not ask for: an error in doing so is not shown to the program, but returned.
 * A lost device has no errors.
 */
export function makeSilently<T>(
  device: GPUDevice,
  make: () => T,
): { readonly made: T; readonly failed: Promise<GPUError | null> } {
  const filters = ["validation", "out-of-memory"] as const;
  for (const filter of filters) device.pushErrorScope(filter);
  let errors: Promise<GPUError | null>[] = [];
  try {
    return {
      made: make(),
      failed: Promise.resolve().then(async () => (await Promise.all(errors)).find(Boolean) ?? null),
    };
  } finally {
    errors = filters.map(() => device.popErrorScope().catch(() => null));
  }
}
