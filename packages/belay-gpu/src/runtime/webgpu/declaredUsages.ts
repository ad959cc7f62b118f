import type { BindingKind } from "../../compiler/contract.ts";
import type { ErrorScopes } from "./errorScopes.ts";
import { flags, isBufferUsage, isTextureUsage, makeSilently } from "./nativeObjects.ts";
import { Overlay } from "./overlay.ts";
import {
  type GpuResource,
  isMapMode,
  isMappable,
  isTexture,
  type Textures,
  textureLike,
} from "./resources.ts";

/** The usages of the program's resources that Belay adds. */
export interface HiddenUses {
  /** True if Belay copies resources. */
  readonly copies: boolean;
  /** True if Belay reads the arguments of indirect dispatches. */
  readonly readsArguments: boolean;
}

/**
 * The declared usages and sizes of the program's resources, which Belay creates with more. If the
 * program uses a resource in an undeclared way, the device gets a twin with exactly the declared
 * usage and size. WebGPU validation then reports the mistake.
 */
export class DeclaredUsages {
  readonly #device: GPUDevice;
  readonly #scopes: ErrorScopes;
  readonly #uses: HiddenUses;
  /** Shows the program the usage that it declared. */
  readonly #usages = new Overlay<GpuResource, number>((_, usageOf) => ({
    get usage() {
      return usageOf(this as never);
    },
  }));
  /**
   * These overlays use a twin for calls of a resource's own methods that the declared usage does
   * not allow.
   */
  readonly #mappings: Overlay<GPUBuffer>;
  readonly #views: Overlay<GPUTexture>;
  /** Shows the program the size that it declared for a buffer with more memory for verification. */
  readonly #sizes = new Overlay<GPUBuffer, number>((_, sizeOf) => ({
    get size() {
      return sizeOf(this as never);
    },
  }));
  /**
   * The twins, which are resources with exactly the declared usage. Each is created on the first
   * mistake.
   */
  readonly #twins = new WeakMap<GpuResource, GpuResource>();

  constructor(device: GPUDevice, scopes: ErrorScopes, uses: HiddenUses) {
    this.#device = device;
    this.#scopes = scopes;
    this.#uses = uses;
    const twinOf = <T extends GpuResource>(resource: T): T => this.#twinOf(resource, resource.usage);
    const twins = this.#twins;
    this.#mappings = new Overlay((native) => ({
      mapAsync(mode, ...range) {
        // Without a range, Belay itself maps the whole buffer.
        const isRight = (range.length === 0 && isMapMode(this, mode)) || isMappable(this, mode, ...range);
        // A device accepts no mapping before it has rejected the one before.
        const isWaiting = (twins.get(this) as GPUBuffer | undefined)?.mapState === "pending";
        return native.mapAsync.call(isRight && !isWaiting ? this : twinOf(this), mode, ...range);
      },
    }));
    this.#views = new Overlay((native) => ({
      createView(descriptor) {
        const isMistake = ((descriptor?.usage ?? 0) & ~this.usage) !== 0;
        return native.createView.call(isMistake ? twinOf(this) : this, descriptor);
      },
    }));
  }

  /**
   * Creates a buffer. `allocated` is its size in bytes with check words; undefined for a buffer
   * without them.
   */
  createBuffer(descriptor: GPUBufferDescriptor, allocated: number | undefined): GPUBuffer {
    const { usage, size } = descriptor;
    // A descriptor that the device rejects must reach it unchanged.
    if (!isBufferUsage(usage)) return this.#device.createBuffer(descriptor);
    const isMappable = (usage & (flags.bufferMapRead | flags.bufferMapWrite)) !== 0;
    const isVerified = allocated !== undefined;
    const copies = this.#uses.copies || isVerified ? flags.bufferCopySrc | flags.bufferCopyDst : 0;
    const isRead = this.#uses.readsArguments && (usage & flags.bufferIndirect) !== 0;
    const hidden = isMappable ? 0 : copies | (isRead || isVerified ? flags.bufferStorage : 0);
    if (hidden === 0 && !isVerified) return this.#device.createBuffer(descriptor);
    const made = this.#device.createBuffer({
      ...descriptor,
      usage: usage | hidden,
      size: allocated ?? size,
    });
    this.#usages.attach(made, usage);
    this.#mappings.attach(made, undefined);
    if (isVerified) this.#sizes.attach(made, size);
    return made;
  }

  /** Returns whether a buffer was created with check words. */
  isVerified(buffer: GPUBuffer): boolean {
    return this.#sizes.stateOf(buffer) !== undefined;
  }

  createTexture(descriptor: GPUTextureDescriptor): GPUTexture {
    const { usage } = descriptor;
    const isCopyable = isTextureUsage(usage) && (usage & flags.transientAttachment) === 0;
    if (!this.#uses.copies || !isCopyable) return this.#device.createTexture(descriptor);
    const hidden = flags.textureCopySrc | flags.textureCopyDst;
    const made = this.#scopes.make(
      () => this.#device.createTexture({ ...descriptor, usage: usage | hidden }),
      () => this.#device.createTexture(descriptor),
    );
    this.#usages.attach(made, usage);
    this.#views.attach(made, undefined);
    return made;
  }

  /**
   * Returns the resource to pass to a native method that copies from `resource`, up to the byte
   * `end` of a buffer.
   */
  source<T extends GpuResource>(resource: T, end = 0): T {
    return this.#checked(resource, isTexture(resource) ? flags.textureCopySrc : flags.bufferCopySrc, end);
  }

  /**
   * Returns the resource to pass to a native method that copies to `resource`, up to the byte `end`
   * of a buffer.
   */
  target<T extends GpuResource>(resource: T, end = 0): T {
    return this.#checked(resource, isTexture(resource) ? flags.textureCopyDst : flags.bufferCopyDst, end);
  }

  /**
   * Returns the buffer to bind to a shader, up to the byte `end`. The kind is unknown for the
   * default layout of a pipeline whose shaders are unknown.
   */
  bound(buffer: GPUBuffer, kind: BindingKind | undefined, end: number): GPUBuffer {
    const isUniform = kind ? kind === "uniform" : (buffer.usage & flags.bufferUniform) !== 0;
    return this.#checked(buffer, isUniform ? flags.bufferUniform : flags.bufferStorage, end);
  }

  /**
   * Returns the resource to pass to a native method that needs one of `usages`, up to the byte
   * `end` of a buffer.
   */
  used<T extends GpuResource>(resource: T, usages: number, end = 0): T {
    return this.#checked(resource, usages, end);
  }

  /** Returns whether the byte `end` is past the end of the program's buffer. */
  isPast(buffer: GPUBuffer, end: number): boolean {
    return end > (this.#sizes.stateOf(buffer) ?? end);
  }

  /** Returns a buffer with exactly the declared usage and size. */
  asDeclared(buffer: GPUBuffer): GPUBuffer {
    const declared = this.#usages.stateOf(buffer);
    return declared === undefined ? buffer : this.#twinOf(buffer, declared);
  }

  /** Returns the view to pass to a native method that needs one of `usages`. */
  usedView<T extends GPUTextureView | GPUTexture>(
    view: T,
    textures: Textures,
    usages: number,
  ): T | GPUTextureView {
    const texture = textures.textureOf(view);
    const used = texture && this.used(texture, usages);
    return used === texture ? view : textures.sameView(view, used!);
  }

  #checked<T extends GpuResource>(resource: T, usage: number, end: number): T {
    const declared = this.#usages.stateOf(resource);
    const isInside = isTexture(resource) || !this.isPast(resource, end);
    if (declared === undefined || ((declared & usage) !== 0 && isInside)) return resource;
    return this.#twinOf(resource, declared);
  }

  #twinOf<T extends GpuResource>(resource: T, declared: number): T {
    const known = this.#twins.get(resource);
    const twin = known ?? makeSilently(this.#device, () => this.#twin(resource, declared)).made;
    this.#twins.set(resource, twin);
    return twin as T;
  }

  #twin(resource: GpuResource, usage: number): GpuResource {
    const { label } = resource;
    return isTexture(resource)
      ? this.#device.createTexture({ label, ...textureLike(resource, usage) })
      : this.#device.createBuffer({ label, size: resource.size, usage });
  }
}
