import { Layer } from "./layer.ts";
import { flags, makeSilently, membersOf } from "./nativeObjects.ts";
import { isTexture, type Resource, type Textures, textureLike } from "./resources.ts";

const MAP = flags.bufferMapRead | flags.bufferMapWrite;

/** What Belay does with the program's resources, and the program need not have asked for. */
export interface HiddenUses {
  /** Copies them. */
  readonly copies: boolean;
  /** Reads the arguments of indirect dispatches. */
  readonly readsArguments: boolean;
  /** Verifies buffers, which are to take this many bytes then; undefined for one that it leaves alone. */
  readonly verifies?: (descriptor: GPUBufferDescriptor) => number | undefined;
}

/**
 * Makes the program's resources with the usages that Belay needs besides, and remembers the ones the program declared.
 * Where the program uses a resource as it must not, a twin of just the declared usage goes to the device instead, whose
 * validation then finds the mistake.
 */
export class DeclaredUsages {
  readonly #device: GPUDevice;
  readonly #uses: HiddenUses;
  /** Tells the program the usage that it declared. */
  readonly #usages = new Layer<Resource, number>((_, usageOf) => ({
    get usage() {
      return usageOf(this as never);
    },
  }));
  /** Have the device refuse what the program asks of resources themselves, where it did not declare the usage. */
  readonly #mappings: Layer<GPUBuffer>;
  readonly #views: Layer<GPUTexture>;
  /** Tells the program the size that it declared of a buffer that was allocated larger, to be verified. */
  readonly #sizes = new Layer<GPUBuffer, number>((_, sizeOf) => ({
    get size() {
      return sizeOf(this as never);
    },
  }));
  /** Resources of the declared usage only, made when the program needs to be told of its mistake. */
  readonly #twins = new WeakMap<Resource, Resource>();

  constructor(device: GPUDevice, uses: HiddenUses) {
    this.#device = device;
    this.#uses = uses;
    const used: typeof this.used = (resource, usages) => this.used(resource, usages);
    const twinOf = (texture: GPUTexture) => this.#twinOf(texture, texture.usage);
    this.#mappings = new Layer((native) => ({
      mapAsync(...args) {
        return native.mapAsync.apply(used(this, MAP), args);
      },
    }));
    this.#views = new Layer((native) => ({
      createView(descriptor) {
        const isMistake = ((descriptor?.usage ?? 0) & ~this.usage) !== 0;
        return native.createView.call(isMistake ? twinOf(this) : this, descriptor);
      },
    }));
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
    this.#usages.cover(made, usage);
    this.#mappings.cover(made, undefined);
    if (isVerified) this.#sizes.cover(made, size);
    return made;
  }

  /** Whether a buffer was made to be verified. */
  isVerified(buffer: GPUBuffer): boolean {
    return this.#sizes.stateOf(buffer) !== undefined;
  }

  createTexture(descriptor: GPUTextureDescriptor): GPUTexture {
    const { usage } = descriptor;
    const isCopyable = usage !== 0 && (usage & flags.transientAttachment) === 0;
    if (!this.#uses.copies || !isCopyable) return this.#device.createTexture(descriptor);
    const hidden = flags.textureCopySrc | flags.textureCopyDst;
    const made = this.#device.createTexture({ ...membersOf(descriptor), usage: usage | hidden });
    this.#usages.cover(made, usage);
    this.#views.cover(made, undefined);
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

  /** What to hand to a native method that uses `resource` in one of these ways. */
  used<T extends Resource>(resource: T, usages: number): T {
    return this.#checked(resource, usages, 0);
  }

  /** As `used`, for a view. */
  usedView<T extends GPUTextureView | GPUTexture>(
    view: T,
    textures: Textures,
    usages: number,
  ): T | GPUTextureView {
    const texture = textures.behind(view);
    const used = texture && this.used(texture, usages);
    return used === texture ? view : textures.sameView(view, used!);
  }

  #checked<T extends Resource>(resource: T, usage: number, end: number): T {
    const declared = this.#usages.stateOf(resource);
    const isInside = isTexture(resource) || end <= (this.#sizes.stateOf(resource) ?? end);
    if (declared === undefined || ((declared & usage) !== 0 && isInside)) return resource;
    return this.#twinOf(resource, declared);
  }

  #twinOf<T extends Resource>(resource: T, declared: number): T {
    const known = this.#twins.get(resource);
    const twin = known ?? makeSilently(this.#device, () => this.#twin(resource, declared)).made;
    this.#twins.set(resource, twin);
    return twin as T;
  }

  #twin(resource: Resource, usage: number): Resource {
    const { label } = resource;
    return isTexture(resource)
      ? this.#device.createTexture({ label, ...textureLike(resource, usage) })
      : this.#device.createBuffer({ label, size: resource.size, usage });
  }
}
