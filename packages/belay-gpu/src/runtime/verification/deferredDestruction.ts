import { flags, makeSilently } from "../webgpu/nativeObjects.ts";
import { Overlay, rank } from "../webgpu/overlay.ts";
import { type GpuResource, isTexture, textureLike } from "../webgpu/resources.ts";

/** Commands that use resources. */
interface Touching {
  forEachTouched(visit: (resource: GpuResource) => void): void;
}

/** The resources of dispatches with the same bind groups. */
interface BoundResources {
  readonly touched: ReadonlySet<GpuResource>;
  /** The number of destructions after which all of them were known to be alive. */
  aliveAt: number;
}

const none: readonly GPUCommandBuffer[] = [];

/**
 * The resources that the program destroys while unverified work may have to run on them again. They
 * are destroyed later.
 */
export class DeferredDestruction {
  readonly #doomed = new Set<GpuResource>();
  readonly #destroyed = new WeakSet<GpuResource>();
  #destructions = 0;
  readonly #device: GPUDevice;
  readonly #isNeeded: (resource: GpuResource) => boolean;
  readonly #overlay: Overlay<GpuResource>;

  /**
   * `isNeeded` returns whether unverified work touches a resource. `leaving` is called when the
   * program destroys a resource, and `onDeferred` when its destruction is deferred.
   */
  constructor(
    device: GPUDevice,
    isNeeded: (resource: GpuResource) => boolean,
    leaving: (resource: GpuResource) => void,
    onDeferred: () => void,
  ) {
    this.#device = device;
    this.#isNeeded = isNeeded;
    const [doomed, isDestroyed] = [this.#doomed, this.isDestroyed];
    const destroy = (resource: GpuResource) => this.#destroy(resource);
    this.#overlay = new Overlay<GpuResource>(
      () => ({
        destroy() {
          leaving(this);
          if (isNeeded(this) && !isDestroyed(this)) {
            doomed.add(this);
            onDeferred();
          } else {
            destroy(this);
          }
        },
      }),
      rank.destruction,
    );
  }

  /** Defers the destruction of a resource from now on while unverified work needs it. */
  follow(resource: GpuResource): void {
    this.#overlay.attach(resource, undefined);
  }

  /** Returns a destroyed resource like one whose destruction is deferred; else undefined. */
  twinOf<T extends GpuResource>(resource: T): T | undefined {
    return this.#doomed.has(resource) ? (this.#destroyedLike(resource) as T) : undefined;
  }

  /** Returns commands for each resource of the records whose destruction is deferred. */
  usesIn(records: readonly (Touching | undefined)[]): readonly GPUCommandBuffer[] {
    if (this.#doomed.size === 0) return none;
    const used = new Set<GpuResource>();
    for (const record of records) {
      record?.forEachTouched((resource) => {
        if (this.#doomed.has(resource)) used.add(resource);
      });
    }
    return [...used].map((each) => this.#use(each));
  }

  /** Returns whether a resource is destroyed on the device. */
  readonly isDestroyed = (resource: GpuResource): boolean => this.#destroyed.has(resource);

  /** Returns whether no resource of dispatches is destroyed on the device. */
  readonly areAlive = (use: BoundResources): boolean => {
    // Programs repeat their work more often than they destroy something.
    if (use.aliveAt === this.#destructions) return true;
    for (const resource of use.touched) if (this.#destroyed.has(resource)) return false;
    use.aliveAt = this.#destructions;
    return true;
  };

  #destroy(resource: GpuResource): void {
    this.#destroyed.add(resource);
    this.#destructions++;
    this.#overlay.below(resource).destroy.call(resource);
  }

  /** Destroys all resources that no unverified work needs any longer. */
  destroyUnneeded(): void {
    for (const resource of this.#doomed) {
      if (this.#isNeeded(resource)) continue;
      this.#doomed.delete(resource);
      this.#destroy(resource);
    }
  }

  /** Returns commands that use a destroyed resource with the same label. */
  #use(resource: GpuResource): GPUCommandBuffer {
    const { label } = resource;
    const encoder = this.#device.createCommandEncoder();
    if (isTexture(resource)) {
      const usage = flags.textureCopySrc | flags.textureCopyDst;
      const texture = this.#device.createTexture({ label, size: [1, 1, 2], format: "rgba8unorm", usage });
      texture.destroy();
      encoder.copyTextureToTexture({ texture }, { texture, origin: [0, 0, 1] }, [1, 1]);
    } else {
      const buffer = this.#device.createBuffer({ label, size: 4, usage: flags.bufferCopyDst });
      buffer.destroy();
      encoder.clearBuffer(buffer);
    }
    return encoder.finish();
  }

  /** Returns a resource with the declared size and usage of another, destroyed. */
  #destroyedLike(resource: GpuResource): GpuResource {
    const { label, usage } = resource;
    const { made } = makeSilently(this.#device, () =>
      isTexture(resource)
        ? this.#device.createTexture({ label, ...textureLike(resource, usage) })
        : this.#device.createBuffer({ label, size: resource.size, usage }),
    );
    made.destroy();
    return made;
  }
}
