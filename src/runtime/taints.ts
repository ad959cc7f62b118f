import type { CommandRecord } from "./commandRecord.ts";
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
      const written = "record" in event ? event.record.written : [event.target];
      for (const resource of written) this.add(resource, refusal);
    }
  }

  /**
   * Taints what an epoch computes or copies from faulty kernels or tainted contents, and clears what it replaces. What the
   * device has refused does neither, unless a protected kernel may be to blame.
   */
  follow({ events, refused }: Epoch, errors: ReadonlyMap<Kernel | Resource, Refusal>): void {
    for (const event of events) {
      if (!refused.has(event)) this.#followEvent(event, errors);
      else if ("record" in event) this.#followLost(event.record, errors);
    }
  }

  /** Taints what a valid program would have written if the device had not refused a protected kernel or what it needs. */
  #followLost({ kernels, written }: CommandRecord, errors: ReadonlyMap<Kernel | Resource, Refusal>): void {
    const lost = firstOf(kernels, (kernel) => kernel.refused !== undefined && errors.get(kernel));
    if (lost) for (const resource of written) this.add(resource, lost);
  }

  #followEvent(event: QueueEvent, errors: ReadonlyMap<Kernel | Resource, Refusal>): void {
    if (!("record" in event)) {
      if (event.whole) this.#tainted.delete(event.target);
      return;
    }
    const { kernels, read, written, replaced } = event.record;
    const source =
      firstOf(kernels, (kernel) => errors.get(kernel)) ??
      firstOf(read, (resource) => errors.get(resource) ?? this.of(resource));
    if (source) for (const resource of written) this.add(resource, source);
    else for (const resource of replaced) this.#tainted.delete(resource);
  }
}

function firstOf<T, R>(items: Iterable<T>, find: (item: T) => R | undefined | false): R | undefined {
  for (const item of items) {
    const found = find(item);
    if (found) return found;
  }
  return undefined;
}
