import type { ErrorScopes } from "./errorScopes.ts";
import { Layer } from "./layer.ts";
import { flags, isBufferUsage, isTextureUsage, makeSilently, membersOf } from "./nativeObjects.ts";
import { isMapMode, isMappable, isTexture, type Resource, type Textures, textureLike } from "./resources.ts";
import { copyDescriptor } from "./steps.ts";

/** What Belay does with the program's resources, and the program need not have asked for. */
export interface HiddenUses {
  /** Copies them. */
  readonly copies: boolean;
  /** Reads the arguments of indirect dispatches. */
  readonly readsArguments: boolean;
}

/**
 * Makes the program's resources with the usages and the bytes that Belay needs besides, and
 * remembers the ones the program declared. Where the program uses a resource as it must not, a twin
 * of just the declared usage and size goes to the device instead, whose validation then finds the
 * mistake.
 */
export class DeclaredUsages {
  readonly #device: GPUDevice;
  readonly #scopes: ErrorScopes;
  readonly #uses: HiddenUses;
  /** Tells the program the usage that it declared. */
  readonly #usages = new Layer<Resource, number>((_, usageOf) => ({
    get usage() {
      return usageOf(this as never);
    },
  }));
  /**
   * Have the device refuse what the program asks of resources themselves, where it did not declare
   * the usage.
   */
  readonly #mappings: Layer<GPUBuffer>;
  readonly #views: Layer<GPUTexture>;
  /**
   * Tells the program the size that it declared of a buffer that was allocated larger, to be
   * verified.
   */
  readonly #sizes = new Layer<GPUBuffer, number>((_, sizeOf) => ({
    get size() {
      return sizeOf(this as never);
    },
  }));
  /**
   * Resources of the declared usage only, made when the program needs to be told of its mistake.
   */
  readonly #twins = new WeakMap<Resource, Resource>();

  constructor(device: GPUDevice, scopes: ErrorScopes, uses: HiddenUses) {
    this.#device = device;
    this.#scopes = scopes;
    this.#uses = uses;
    const twinOf = <T extends Resource>(resource: T): T => this.#twinOf(resource, resource.usage);
    this.#mappings = new Layer((native) => ({
      mapAsync(mode, ...range) {
        // Without a range, Belay maps all that was allocated.
        const isRight = (range.length === 0 && isMapMode(this, mode)) || isMappable(this, mode, ...range);
        return native.mapAsync.call(isRight ? this : twinOf(this), mode, ...range);
      },
    }));
    this.#views = new Layer((native) => ({
      createView(descriptor) {
        const isMistake = ((descriptor?.usage ?? 0) & ~this.usage) !== 0;
        return native.createView.call(isMistake ? twinOf(this) : this, descriptor);
      },
    }));
  }

  /**
   * `allocated`: the bytes that a buffer takes which is to be verified; undefined for one that is
   * not.
   */
  createBuffer(descriptor: GPUBufferDescriptor, allocated: number | undefined): GPUBuffer {
    const { usage, size } = descriptor;
    // A descriptor that the device refuses has to reach it as it is.
    if (!isBufferUsage(usage)) return this.#device.createBuffer(descriptor);
    const isMappable = (usage & (flags.bufferMapRead | flags.bufferMapWrite)) !== 0;
    const isVerified = allocated !== undefined;
    const copies = this.#uses.copies || isVerified ? flags.bufferCopySrc | flags.bufferCopyDst : 0;
    const isRead = this.#uses.readsArguments && (usage & flags.bufferIndirect) !== 0;
    const hidden = isMappable ? 0 : copies | (isRead || isVerified ? flags.bufferStorage : 0);
    if (hidden === 0 && !isVerified) return this.#device.createBuffer(descriptor);
    const made = this.#device.createBuffer({
      ...membersOf(descriptor),
      usage: usage | hidden,
      size: allocated ?? size,
    });
    this.#usages.attach(made, usage);
    this.#mappings.attach(made, undefined);
    if (isVerified) this.#sizes.attach(made, size);
    return made;
  }

  /** Whether a buffer was made to be verified. */
  isVerified(buffer: GPUBuffer): boolean {
    return this.#sizes.stateOf(buffer) !== undefined;
  }

  createTexture(descriptor: GPUTextureDescriptor): GPUTexture {
    const { usage } = descriptor;
    const isCopyable = isTextureUsage(usage) && (usage & flags.transientAttachment) === 0;
    if (!this.#uses.copies || !isCopyable) return this.#device.createTexture(descriptor);
    const hidden = flags.textureCopySrc | flags.textureCopyDst;
    const declared = copyDescriptor(descriptor);
    const made = this.#scopes.make(
      () => this.#device.createTexture({ ...membersOf(descriptor), usage: usage | hidden }),
      () => this.#device.createTexture(declared),
    );
    this.#usages.attach(made, usage);
    this.#views.attach(made, undefined);
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

  /**
   * What to bind, up to byte `end`, to a shader as a buffer of this type; of a default layout, the
   * type is not known.
   */
  bound(buffer: GPUBuffer, type: GPUBufferBindingType | undefined, end: number): GPUBuffer {
    const isUniform = type ? type === "uniform" : (buffer.usage & flags.bufferUniform) !== 0;
    return this.#checked(buffer, isUniform ? flags.bufferUniform : flags.bufferStorage, end);
  }

  /**
   * Returns what to hand to a native method that uses `resource` in one of these ways, up to byte
   * `end` of a buffer.
   */
  used<T extends Resource>(resource: T, usages: number, end = 0): T {
    return this.#checked(resource, usages, end);
  }

  /** Whether a use of a buffer up to byte `end` goes further than the program's buffer. */
  isPast(buffer: GPUBuffer, end: number): boolean {
    return end > (this.#sizes.stateOf(buffer) ?? end);
  }

  /**
   * Returns a buffer of just the declared usage and size, if the device has been given another one.
   */
  asDeclared(buffer: GPUBuffer): GPUBuffer {
    const declared = this.#usages.stateOf(buffer);
    return declared === undefined ? buffer : this.#twinOf(buffer, declared);
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
    const isInside = isTexture(resource) || !this.isPast(resource, end);
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
