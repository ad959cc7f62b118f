import { Overlay, rank } from "../webgpu/overlay.ts";
import type { GpuResource } from "../webgpu/resources.ts";

/**
 * Resources that the program destroys while unverified work may have to run on them again: they are
 * destroyed later.
 */
export class DeferredDestruction {
  readonly #doomed = new Set<GpuResource>();
  readonly #isNeeded: (resource: GpuResource) => boolean;
  readonly #layer: Overlay<GpuResource>;

  /**
   * `isNeeded`: whether unverified work touches a resource. `onDeferred` is told that something
   * waits.
   */
  constructor(isNeeded: (resource: GpuResource) => boolean, onDeferred: () => void) {
    this.#isNeeded = isNeeded;
    const doomed = this.#doomed;
    this.#layer = new Overlay(
      (native) => ({
        destroy() {
          if (!isNeeded(this)) return native.destroy.call(this);
          doomed.add(this);
          onDeferred();
        },
      }),
      rank.destruction,
    );
  }

  /** Lets a resource outlive the program's `destroy` from now on, where it has to. */
  keep(resource: GpuResource): void {
    this.#layer.attach(resource, undefined);
  }

  /** Destroys a resource at once if the program has; returns whether. */
  finish(resource: GpuResource): boolean {
    if (!this.#doomed.delete(resource)) return false;
    this.#layer.below(resource).destroy.call(resource);
    return true;
  }

  /** Destroys what no work needs any longer. */
  finishUnneeded(): void {
    for (const resource of this.#doomed) if (!this.#isNeeded(resource)) this.finish(resource);
  }
}
