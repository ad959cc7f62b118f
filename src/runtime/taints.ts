import { CommandRecord } from "./commandRecord.ts";
import type { Epoch, QueueEvent } from "./epoch.ts";
import type { Refusal } from "./found.ts";
import type { Kernel } from "./kernel.ts";
import type { Resource } from "./resources.ts";

/** The resources whose contents a fault may have reached, and the faults. */
export class Taints {
  readonly #tainted = new WeakMap<Resource, Refusal>();

  of(resource: Resource): Refusal | undefined {
    return this.#tainted.get(resource);
  }

  add(resource: Resource, refusal: Refusal): void {
    this.#tainted.set(resource, refusal);
  }

  /** Nothing that these epochs wrote can be relied on. */
  addWritten(epochs: readonly Epoch[], refusal: Refusal): void {
    for (const event of epochs.flatMap(({ events }) => events)) {
      const written = event instanceof CommandRecord ? event.written : [event.target];
      for (const resource of written) this.add(resource, refusal);
    }
  }

  /** What an event computes or copies from faulty kernels or tainted contents is tainted, and what it replaces no longer is. */
  follow(event: QueueEvent, errors: ReadonlyMap<Kernel | Resource, Refusal>): void {
    if (!(event instanceof CommandRecord)) {
      if (event.whole) this.#tainted.delete(event.target);
      return;
    }
    const source =
      firstOf(event.dispatches.keys(), (kernel) => errors.get(kernel)) ??
      firstOf(event.read, (resource) => errors.get(resource) ?? this.of(resource));
    if (source) for (const resource of event.written) this.add(resource, source);
    else for (const resource of event.replaced) this.#tainted.delete(resource);
  }
}

function firstOf<T, R>(items: Iterable<T>, find: (item: T) => R | undefined): R | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}
