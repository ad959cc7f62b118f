import { flags, makeSilently, membersOf, overlay } from "./nativeObjects.ts";
import { isTexture, type Resource, textureLike } from "./resources.ts";

/** What Belay does with the program's resources, and the program need not have asked for. */
export interface HiddenUses {
  /** Copies them. */
  readonly copies: boolean;
  /** Reads the arguments of indirect dispatches. */
  readonly readsArguments: boolean;
  /** Verifies buffers, which are to take this many bytes then; undefined for one that it leaves alone. */
  readonly verifies?: (descriptor: GPUBufferDescriptor) => number | undefined;
}

interface Declared {
  readonly usage: number;
  /** Set for a buffer that was allocated larger than that, to be verified. */
  readonly size?: number;
  /** A resource of that usage only, made when the program needs to be told of its mistake. */
  twin?: Resource;
}

/**
 * Makes the program's resources with the usages that Belay needs besides, and remembers the ones the program declared.
 * Where the program uses a resource as it must not, a twin of just the declared usage goes to the device instead, whose
 * validation then finds the mistake.
 */
export class DeclaredUsages {
  readonly #device: GPUDevice;
  readonly #uses: HiddenUses;
  readonly #declared = new WeakMap<Resource, Declared>();

  constructor(device: GPUDevice, uses: HiddenUses) {
    this.#device = device;
    this.#uses = uses;
  }

  createBuffer(descriptor: GPUBufferDescriptor): GPUBuffer {
    const { usage, size } = descriptor;
    const isMappable = (usage & (flags.bufferMapRead | flags.bufferMapWrite)) !== 0;
    const allocated = this.#uses.verifies?.(descriptor);
    const isVerified = allocated !== undefined;
    const copies = this.#uses.copies || isVerified ? flags.bufferCopySrc | flags.bufferCopyDst : 0;
    const isRead = this.#uses.readsArguments && (usage & flags.bufferIndirect) !== 0;
    const hidden = isMappable || usage === 0 ? 0 : copies | (isRead || isVerified ? flags.bufferStorage : 0);
    if (hidden === 0 && !isVerified) return this.#device.createBuffer(descriptor);
    const made = this.#device.createBuffer({
      ...{ ...membersOf(descriptor), usage: usage | hidden, size: allocated ?? size },
    });
    const declared = isVerified ? { usage, size } : { usage };
    this.#declared.set(made, { ...declared });
    overlay(made, declared);
    return made;
  }

  /** Whether a buffer was made to be verified. */
  isVerified(buffer: GPUBuffer): boolean {
    return this.#declared.get(buffer)?.size !== undefined;
  }

  createTexture(descriptor: GPUTextureDescriptor): GPUTexture {
    const { usage } = descriptor;
    const isCopyable = usage !== 0 && (usage & flags.transientAttachment) === 0;
    if (!this.#uses.copies || !isCopyable) return this.#device.createTexture(descriptor);
    const hidden = flags.textureCopySrc | flags.textureCopyDst;
    const made = this.#device.createTexture({ ...membersOf(descriptor), usage: usage | hidden });
    this.#declared.set(made, { usage });
    overlay(made, { usage });
    return made;
  }

  /** What to hand to a native method that copies from `resource`, up to byte `end` of a buffer. */
  source<T extends Resource>(resource: T, end = 0): T {
    return this.#checked(resource, isTexture(resource) ? flags.textureCopySrc : flags.bufferCopySrc, end);
  }

  /** What to hand to a native method that copies into `resource`, up to byte `end` of a buffer. */
  target<T extends Resource>(resource: T, end = 0): T {
    return this.#checked(resource, isTexture(resource) ? flags.textureCopyDst : flags.bufferCopyDst, end);
  }

  /** What to bind, up to byte `end`, to a shader as a buffer of this type; of a default layout, the type is not known. */
  bound(buffer: GPUBuffer, type: GPUBufferBindingType | undefined, end: number): GPUBuffer {
    const isUniform = type ? type === "uniform" : (buffer.usage & flags.bufferUniform) !== 0;
    return this.#checked(buffer, isUniform ? flags.bufferUniform : flags.bufferStorage, end);
  }

  #checked<T extends Resource>(resource: T, usage: number, end: number): T {
    const declared = this.#declared.get(resource);
    const isInside = declared?.size === undefined || end <= declared.size;
    if (!declared || ((declared.usage & usage) !== 0 && isInside)) return resource;
    declared.twin ??= makeSilently(this.#device, () => this.#twin(resource, declared.usage)).made;
    return declared.twin as T;
  }

  #twin(resource: Resource, usage: number): Resource {
    const { label } = resource;
    return isTexture(resource)
      ? this.#device.createTexture({ label, ...textureLike(resource, usage) })
      : this.#device.createBuffer({ label, size: resource.size, usage });
  }
}
