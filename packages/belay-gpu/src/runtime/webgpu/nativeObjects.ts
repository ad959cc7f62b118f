import { likeNative, redirectAllMembers } from "./overlaidMembers.ts";

/**
 * The objects between a program and WebGPU. The program gets a proxy of the device and of its
 * queue, so its own device stays plain. All other objects are the native ones with overlays. The
 * program can pass them to anything that takes native objects, and nothing has to be unwrapped.
 */

/** The flag values of the specification. Hosts without WebGPU globals lack their names. */
export const flags = {
  bufferMapRead: 0x1,
  bufferMapWrite: 0x2,
  bufferCopySrc: 0x4,
  bufferCopyDst: 0x8,
  bufferIndex: 0x10,
  bufferVertex: 0x20,
  bufferUniform: 0x40,
  bufferStorage: 0x80,
  bufferIndirect: 0x100,
  bufferQueryResolve: 0x200,
  mapRead: 0x1,
  mapWrite: 0x2,
  shaderStageCompute: 0x4,
  textureCopySrc: 0x1,
  textureCopyDst: 0x2,
  textureBinding: 0x4,
  textureStorage: 0x8,
  renderAttachment: 0x10,
  transientAttachment: 0x20,
} as const;

const BUFFER_USAGES = 0x3ff;
const TEXTURE_USAGES = 0x3f;

/** Returns whether the flags are at least one usage, and only usages of buffers. */
export function isBufferUsage(usage: number): boolean {
  return usage > 0 && (usage & ~BUFFER_USAGES) === 0;
}

/** Returns whether the flags are at least one usage, and only usages of textures. */
export function isTextureUsage(usage: number): boolean {
  return usage > 0 && (usage & ~TEXTURE_USAGES) === 0;
}

/**
 * Returns a proxy that has `members`, and is like `native` otherwise, `instanceof` included. Its
 * methods are those of the class, which look up the object that they are called on. Called without
 * an object, they throw as the class does. Properties that the program sets on the proxy come
 * first. Belay itself never calls them.
 */
export function proxyOf<T extends object, M extends object>(native: T, members: M): T & M {
  const made = new Map<PropertyKey, unknown>();
  const own: object = {};
  const get = (name: PropertyKey): unknown => {
    if (Object.hasOwn(members, name)) return Reflect.get(members, name);
    if (made.has(name)) return made.get(name);
    const value: unknown = Reflect.get(native, name, native);
    // Native methods and accessors accept no other `this` than the native object.
    if (typeof value !== "function" || name === "constructor" || isAccessor(native, name)) return value;
    const method = likeNative(function (this: unknown, ...args: unknown[]): unknown {
      return Reflect.apply(value, this === shown ? native : this, args);
    }, value);
    made.set(name, method);
    return method;
  };
  const prototype: object = Object.getPrototypeOf(native);
  const methods = new Set(Reflect.ownKeys(prototype).filter((name) => isMethod(prototype, name)));
  const shown = new Proxy(native, {
    get: (_, name) => {
      if (Object.hasOwn(own, name)) return Reflect.get(own, name);
      return methods.has(name) ? Reflect.get(prototype, name) : get(name);
    },
    set: (_, name, value) =>
      isAccessor(native, name) ? Reflect.set(native, name, value, native) : Reflect.set(own, name, value),
    has: (_, name) => [own, members].some((each) => Object.hasOwn(each, name)) || Reflect.has(native, name),
    defineProperty: (_, name, descriptor) => Reflect.defineProperty(own, name, descriptor),
    deleteProperty: (_, name) => Reflect.deleteProperty(own, name),
    // Node.js keeps attributes such as `limits` as own properties of a device.
    getOwnPropertyDescriptor: (_, name) => {
      const descriptor = Reflect.getOwnPropertyDescriptor(own, name);
      if (descriptor || !Object.hasOwn(native, name)) return descriptor;
      return { ...Reflect.getOwnPropertyDescriptor(native, name), value: get(name) };
    },
    ownKeys: () => [...new Set([...Reflect.ownKeys(native), ...Reflect.ownKeys(own)])],
  }) as T & M;
  // The class's own methods, called on the proxy, do not see the properties that the program set on
  // it.
  redirectAllMembers(shown, native, (name) => {
    if (!Object.hasOwn(members, name) && isAccessor(native, name))
      return { get: () => get(name), set: (value) => Reflect.set(native, name, value, native) };
    return Object.getOwnPropertyDescriptor(members, name) ?? { value: get(name) };
  });
  return shown;
}

/** Returns true for a value that WebGPU takes as a sequence. */
export function isIterable(value: unknown): value is Iterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.iterator in value;
}

/**
 * Returns whether the class itself has a method of this name. Such methods look up the overlaid
 * members of each object.
 */
function isMethod(prototype: object, name: PropertyKey): boolean {
  if (typeof name !== "string" || name === "constructor") return false;
  return typeof Reflect.getOwnPropertyDescriptor(prototype, name)?.value === "function";
}

/** Returns whether a property is an attribute of the object's class, such as `label`. */
function isAccessor(object: object | null, name: PropertyKey): boolean {
  if (object === null) return false;
  const found = Reflect.getOwnPropertyDescriptor(object, name);
  return found ? !("value" in found) : isAccessor(Reflect.getPrototypeOf(object), name);
}

/**
 * Creates a bind group that the program did not request. The program does not see its errors. A
 * bind group takes no memory that a device may lack, so there are only errors of validation.
 */
export function makeGroupSilently(device: GPUDevice, descriptor: GPUBindGroupDescriptor): GPUBindGroup {
  device.pushErrorScope("validation");
  try {
    return device.createBindGroup(descriptor);
  } finally {
    device.popErrorScope().catch(() => null);
  }
}

/**
 * Creates an object that the program did not request. Errors are returned, and the program does not
 * see them. A lost device reports no errors.
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
