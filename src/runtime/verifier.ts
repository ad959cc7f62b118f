import { reportWords } from "../compiler/contract.ts";
import type { CommandRecord } from "./commands.ts";
import { BelayFaultError, type Fault, readFaults } from "./fault.ts";
import type { Kernel } from "./kernels.ts";
import type { ReportArena, ReportSnapshot } from "./reportArena.ts";
import type { Resource } from "./resources.ts";

/** Results could not be verified, mostly because the device was lost, so they are not released. */
export class UnverifiedError extends Error {
  override readonly name = "UnverifiedError";
  readonly code = "BELAY327";

  constructor(cause: unknown) {
    super(`results could not be verified: ${cause instanceof Error ? cause.message || cause.name : cause}`, {
      cause,
    });
  }
}

/** Something that happened on the queue: commands ran, or the host replaced all of a resource's contents. */
type QueueEvent = CommandRecord | { readonly replaced: Resource };

/** What came of checking an epoch: all work submitted between two checks. */
interface Outcome {
  readonly faults: readonly Fault[];
  readonly lost?: UnverifiedError;
}

/**
 * Checks submitted work, one epoch at a time and in order, and knows which resources a detected fault may have reached:
 * what the faulty kernel's command buffer writes, and from there whatever is computed or copied from it, until the
 * host replaces the contents.
 */
export class Verifier {
  readonly #arena: ReportArena;
  readonly #onFault: (fault: Fault) => void;
  readonly #tainted = new WeakMap<Resource, BelayFaultError>();
  #epoch: QueueEvent[] = [];
  #checked: Promise<Outcome> = Promise.resolve({ faults: [] });
  #checks = 0;

  constructor(arena: ReportArena, onFault: (fault: Fault) => void) {
    this.#arena = arena;
    this.#onFault = onFault;
  }

  /** Read-backs of the reports so far. */
  get checks(): number {
    return this.#checks;
  }

  submitted(record: CommandRecord): void {
    this.#epoch.push(record);
    for (const [kernel, count] of record.dispatches) kernel.dispatches += count;
  }

  replaced(resource: Resource): void {
    this.#epoch.push({ replaced: resource });
  }

  /** Resolves when everything submitted so far has been checked. Never rejects. */
  verify(): Promise<Outcome> {
    if (this.#epoch.length > 0) {
      const epoch = this.#epoch;
      this.#epoch = [];
      this.#checked = this.#check(epoch, this.#checked);
    }
    return this.#checked;
  }

  /** Why a resource's contents must not be released: the fault that may have reached them. Ask after `verify`. */
  taintOf(resource: Resource): BelayFaultError | undefined {
    return this.#tainted.get(resource);
  }

  async #check(epoch: readonly QueueEvent[], previous: Promise<Outcome>): Promise<Outcome> {
    const kernels = new Set(
      epoch.flatMap((event) => ("dispatches" in event ? [...event.dispatches.keys()] : [])),
    );
    try {
      // Begun before anything is awaited, so that the snapshot stands in the queue right behind the epoch.
      const taking = kernels.size > 0 ? this.#takeSnapshot(kernels) : undefined;
      const [{ lost }, snapshot] = await Promise.all([previous, taking]);
      if (lost) return { faults: [], lost };
      const errors = snapshot ? this.#readErrors(kernels, snapshot) : new Map<Kernel, BelayFaultError>();
      this.#spread(epoch, errors);
      return { faults: [...errors.values()].flatMap(({ faults }) => faults) };
    } catch (error) {
      return { faults: [], lost: new UnverifiedError(error) };
    }
  }

  #takeSnapshot(kernels: Iterable<Kernel>): Promise<ReportSnapshot> {
    this.#checks++;
    return this.#arena.takeSnapshot([...kernels].map(({ slot }) => slot));
  }

  #readErrors(kernels: Iterable<Kernel>, snapshot: ReportSnapshot): Map<Kernel, BelayFaultError> {
    const errors = new Map<Kernel, BelayFaultError>();
    for (const kernel of kernels) {
      const words = snapshot(kernel.slot);
      kernel.strikes = words[reportWords.strikes]!;
      const detections = words[reportWords.detections]!;
      if (detections === 0) continue;
      kernel.detections += detections;
      const faults = readFaults(kernel, words);
      errors.set(kernel, new BelayFaultError(faults));
      for (const fault of faults) this.#onFault(fault);
    }
    return errors;
  }

  #spread(epoch: readonly QueueEvent[], errors: ReadonlyMap<Kernel, BelayFaultError>): void {
    for (const event of epoch) {
      if ("replaced" in event) {
        this.#tainted.delete(event.replaced);
        continue;
      }
      const source =
        firstOf(event.dispatches.keys(), (kernel) => errors.get(kernel)) ??
        firstOf(event.touched, (resource) => this.#tainted.get(resource));
      if (!source) continue;
      for (const resource of event.written) this.#tainted.set(resource, source);
    }
  }
}

function firstOf<T, R>(items: Iterable<T>, find: (item: T) => R | undefined): R | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}
