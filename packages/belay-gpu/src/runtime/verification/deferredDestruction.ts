import { Overlay, rank } from "../webgpu/overlay.ts";
import type { GpuResource } from "../webgpu/resources.ts";

/**
 * The resources that the program destroys while unverified work may have to run on them again. They
 * are destroyed later.
 */
export class DeferredDestruction {
  readonly #doomed = new Set<GpuResource>();
  readonly #destroyed = new WeakSet<GpuResource>();
  readonly #isNeeded: (resource: GpuResource) => boolean;
  readonly #overlay: Overlay<GpuResource>;

  /**
   * `isNeeded` returns whether unverified work touches a resource. `onDeferred` is called when a
   * destruction is deferred.
   */
  constructor(isNeeded: (resource: GpuResource) => boolean, onDeferred: () => void) {
    this.#isNeeded = isNeeded;
    const [doomed, destroyed] = [this.#doomed, this.#destroyed];
    this.#overlay = new Overlay(
      (native) => ({
        destroy() {
          if (isNeeded(this) && !destroyed.has(this)) {
            doomed.add(this);
            onDeferred();
          } else {
            destroyed.add(this);
            native.destroy.call(this);
          }
        },
      }),
      rank.destruction,
    );
  }

  /** Defers the destruction of a resource from now on while unverified work needs it. */
  defer(resource: GpuResource): void {
    this.#overlay.attach(resource, undefined);
  }

  /** Destroys a resource now if the program has destroyed it. Returns whether it has. */
  destroyNow(resource: GpuResource): boolean {
    if (!this.#doomed.delete(resource)) return false;
    this.#destroyed.add(resource);
    this.#overlay.below(resource).destroy.call(resource);
    return true;
  }

  /** Returns whether a resource is destroyed on the device. */
  isDestroyed(resource: GpuResource): boolean {
    return this.#destroyed.has(resource);
  }

  /** Destroys all resources that no unverified work needs any longer. */
  destroyUnneeded(): void {
    for (const resource of this.#doomed) if (!this.#isNeeded(resource)) this.destroyNow(resource);
  }
}
