import { likeNative, standIn } from "./faces.ts";

/**
 * How Belay stands between a program and WebGPU. The device and its queue are shown through a
 * proxy, so that the program's own device stays plain. Everything made through them is the native
 * object itself, which answers by a face: the program can pass it to anything that takes native
 * objects, and nothing has to be unwrapped.
 */

/** Flag values, fixed by the specification; hosts without WebGPU globals lack the names. */
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

/** Whether these are usages of buffers, and at least one. */
export function isBufferUsage(usage: number): boolean {
  return usage > 0 && (usage & ~BUFFER_USAGES) === 0;
}

/** As `isBufferUsage`, for textures. */
export function isTextureUsage(usage: number): boolean {
  return usage > 0 && (usage & ~TEXTURE_USAGES) === 0;
}

/**
 * An object that answers from `members` first and is `native` otherwise, `instanceof` included. Its
 * methods are those of its class, which ask the object for which they are called: without one, they
 * refuse the call as the class does. What the program puts on the object, such as a method of its
 * own around one of these, goes before all and is nothing that Belay itself ever calls.
 */
export function proxyOf<T extends object, M extends object>(native: T, members: M): T & M {
  const made = new Map<PropertyKey, unknown>();
  const own: object = {};
  const get = (_: T, name: PropertyKey): unknown => {
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
  const shown = new Proxy(native, {
    get: (_, name) => {
      if (Object.hasOwn(own, name)) return Reflect.get(own, name);
      return isMethod(prototype, name) ? Reflect.get(prototype, name) : get(native, name);
    },
    set: (_, name, value) =>
      isAccessor(native, name) ? Reflect.set(native, name, value, native) : Reflect.set(own, name, value),
    has: (_, name) => [own, members].some((each) => Object.hasOwn(each, name)) || Reflect.has(native, name),
    defineProperty: (_, name, descriptor) => Reflect.defineProperty(own, name, descriptor),
    deleteProperty: (_, name) => Reflect.deleteProperty(own, name),
    getOwnPropertyDescriptor: (_, name) => Reflect.getOwnPropertyDescriptor(own, name),
    ownKeys: () => Reflect.ownKeys(own),
  }) as T & M;
  // The class's own methods, called with the proxy, do not find what the program has put on it.
  const set = (_: T, name: PropertyKey, value: unknown) => Reflect.set(native, name, value, native);
  standIn(shown, prototype, new Proxy(native, { get, set }));
  return shown;
}

/**
 * A descriptor's members, the inherited ones too: WebGPU reads them by name, so that a buffer or an
 * instance of a class is a descriptor as well.
 */
export function membersOf<T extends object>(descriptor: T): T {
  const members: Partial<T> = {};
  for (const name in descriptor) members[name] = descriptor[name];
  return members as T;
}

/** Whether a class has a method of this name itself, which asks each object for its face. */
function isMethod(prototype: object, name: PropertyKey): boolean {
  if (typeof name !== "string" || name === "constructor") return false;
  return typeof Reflect.getOwnPropertyDescriptor(prototype, name)?.value === "function";
}

/** Whether a property is an attribute of the object's class, such as `label`. */
function isAccessor(object: object | null, name: PropertyKey): boolean {
  if (object === null) return false;
  const found = Reflect.getOwnPropertyDescriptor(object, name);
  return found ? !("value" in found) : isAccessor(Reflect.getPrototypeOf(object), name);
}

/**
 * Makes what the program did not ask for: an error in doing so is not shown to the program, but
 * returned. A lost device has no errors.
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
