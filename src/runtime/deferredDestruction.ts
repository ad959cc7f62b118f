import { overlay } from "./nativeObjects.ts";
import type { Resource } from "./resources.ts";

/** Resources that the program destroys while unverified work may have to run on them again: they are destroyed later. */
export class DeferredDestruction {
  /** What was destroyed, and how to do that. */
  readonly #doomed = new Map<Resource, () => void>();
  readonly #isNeeded: (resource: Resource) => boolean;
  readonly #onDeferred: () => void;

  /** `isNeeded`: whether unverified work touches a resource. `onDeferred` is told that something waits. */
  constructor(isNeeded: (resource: Resource) => boolean, onDeferred: () => void) {
    this.#isNeeded = isNeeded;
    this.#onDeferred = onDeferred;
  }

  /** Lets a resource outlive the program's `destroy` from now on, where it has to. */
  keep(resource: Resource): void {
    // Looked up when it is called: what belongs to the resource by then is destroyed with it.
    const destroy = () => (Object.getPrototypeOf(resource) as Resource).destroy.call(resource);
    overlay<Resource>(resource, {
      destroy: (): undefined => {
        if (!this.#isNeeded(resource)) return destroy();
        this.#doomed.set(resource, destroy);
        this.#onDeferred();
      },
    });
  }

  /** Destroys a resource at once if the program has; returns whether. */
  finish(resource: Resource): boolean {
    const destroy = this.#doomed.get(resource);
    if (!destroy) return false;
    this.#doomed.delete(resource);
    destroy();
    return true;
  }

  /** Destroys what no work needs any longer. */
  finishUnneeded(): void {
    for (const resource of this.#doomed.keys()) if (!this.#isNeeded(resource)) this.finish(resource);
  }
}
