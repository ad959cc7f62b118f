import type { Epoch } from "./epoch.ts";
import { EpochReports, kernelsOf, type ReportHooks } from "./epochReports.ts";
import type { Detection, Fault, FaultOutcome } from "./fault.ts";
import { errorOf, type Found, faultError, isClean, note, type Refusal, type Seen, seenIn } from "./found.ts";
import type { Journal } from "./journal.ts";
import type { Kernel } from "./kernels.ts";
import type { Memory } from "./memory/memory.ts";
import { BelayMemoryError, type MemoryError, type MemoryFault } from "./memory/memoryFault.ts";
import type { OnFault } from "./policy.ts";
import type { ReportArena } from "./reportArena.ts";
import type { Resource } from "./resources.ts";
import { Taints } from "./taints.ts";
import { UnverifiedError } from "./unverified.ts";

/** What came of checking an epoch. */
export interface Outcome {
  /** Set when data of the epoch is refused. */
  readonly refused?: Refusal;
  readonly lost?: UnverifiedError;
}

/** A pending mapping of a buffer, which must get out of the way while work that uses the buffer runs again. */
export interface PendingMapping {
  suspend(): void;
  resume(): void;
}

/** Work was put back and run again until its check was clean. */
export interface Recovery {
  readonly faults: readonly Detection[];
  /** Damaged memory that it was because of. */
  readonly damage: readonly MemoryError[];
  /** How often it was run again. */
  readonly attempts: number;
  /** From the detection to the clean check. */
  readonly milliseconds: number;
}

/** Work could not be recovered; the data it may have reached is refused. */
export interface GiveUp {
  readonly error: Refusal;
  readonly attempts: number;
  readonly reason: string;
}

export interface VerifierHooks extends ReportHooks {
  /** Called once per fault, as soon as its outcome is known. */
  onFault(fault: Fault): void;
  /** As `onFault`, for memory that is damaged beyond what its code corrects. */
  onMemoryFault(fault: MemoryFault): void;
  onRecovery(recovery: Recovery): void;
  onGiveUp(giveUp: GiveUp): void;
  /** Called before work runs again: a fault that was armed to happen once must not happen again. */
  onReplay(): void;
}

/**
 * Checks submitted work, one epoch at a time and in order. When a check detects a fault, everything unverified is put
 * back and run again. Where that is not wanted or does not help, it marks the resources that the fault may have reached:
 * what the faulty kernel's command buffer writes, and from there whatever is computed or copied from it, until the
 * host replaces the contents.
 */
export class Verifier {
  readonly #reports: EpochReports;
  readonly #journal: Journal;
  readonly #onFault: OnFault;
  readonly #retries: number;
  readonly #hooks: VerifierHooks;
  readonly #memory: Memory | undefined;
  readonly #taints = new Taints();
  readonly #mappings = new Set<PendingMapping>();
  /** Epochs whose outcome an earlier epoch's recovery has settled. */
  readonly #settled = new WeakMap<Epoch, { readonly result: Outcome; readonly outcome: FaultOutcome }>();
  #checked: Promise<Outcome> = Promise.resolve({});
  #replays = 0;
  #recoveries = 0;
  #giveUps = 0;
  #recoveryMilliseconds = 0;

  constructor(
    arena: ReportArena,
    journal: Journal,
    memory: Memory | undefined,
    policy: { readonly onFault: OnFault; readonly retries: number },
    hooks: VerifierHooks,
  ) {
    this.#reports = new EpochReports(arena, memory, hooks);
    this.#journal = journal;
    this.#memory = memory;
    this.#onFault = policy.onFault;
    this.#retries = policy.retries;
    this.#hooks = hooks;
  }

  /** Read-backs of the reports so far. */
  get checks(): number {
    return this.#reports.checks;
  }

  /** How often work was put back and run again. */
  get replays(): number {
    return this.#replays;
  }

  /** Detections that ended with clean results, and those that did not. */
  get recoveries(): number {
    return this.#recoveries;
  }

  get giveUps(): number {
    return this.#giveUps;
  }

  /** Time from detections to their outcomes, in all. */
  get recoveryMilliseconds(): number {
    return this.#recoveryMilliseconds;
  }

  /** Resolves when everything submitted so far has been checked, and run again if need be. Never rejects. */
  verify(): Promise<Outcome> {
    return this.#journal.openEvents > 0 ? this.verifyAnyway() : this.#checked;
  }

  /** As `verify`, though the program may have submitted nothing since the check before. */
  verifyAnyway(): Promise<Outcome> {
    this.#checked = this.#check(this.#journal.close(), this.#checked);
    return this.#checked;
  }

  /** Why a resource's contents must not be released: the fault that may have reached them. Ask after `verify`. */
  taintOf(resource: Resource): Refusal | undefined {
    return this.#taints.of(resource);
  }

  pending(mapping: PendingMapping): void {
    this.#mappings.add(mapping);
  }

  settled(mapping: PendingMapping): void {
    this.#mappings.delete(mapping);
  }

  async #check(epoch: Epoch, previous: Promise<Outcome>): Promise<Outcome> {
    try {
      // Begun before anything is awaited, so that the snapshot stands in the queue right behind the epoch.
      const taking = this.#reports.takeSnapshot([epoch]);
      const proving = [...kernelsOf([epoch])].map((kernel) => kernel.proving);
      const [{ lost }, snapshot] = await Promise.all([previous, taking, ...proving]);
      if (lost) return { lost };
      const noMemory = await this.#memory?.buffers.failed;
      if (noMemory) return { lost: new UnverifiedError(`no memory for check words: ${noMemory.message}`) };
      const found = await this.#reports.scrubbed(this.#reports.read([epoch], snapshot));
      const settled = this.#settled.get(epoch);
      if (!settled) return await this.#judge(epoch, found);
      // An earlier epoch's recovery ran this one again; what it had detected before shares that outcome.
      this.#announce(seenIn(found), settled.outcome);
      return settled.result;
    } catch (error) {
      return { lost: new UnverifiedError(error) };
    }
  }

  async #judge(epoch: Epoch, found: Found): Promise<Outcome> {
    const seen = seenIn(found);
    if (isClean(found) || this.#onFault !== "recover") {
      return this.#settle([epoch], found, seen, this.#onFault === "report" ? "reported" : "refused");
    }
    const start = performance.now();
    const { epochs, last, attempts, failure } = await this.#recover(epoch, found, seen);
    const milliseconds = performance.now() - start;
    this.#recoveryMilliseconds += milliseconds;
    if (isClean(last)) {
      this.#recoveries++;
      this.#hooks.onRecovery({ ...seen, attempts, milliseconds });
      return this.#settle(epochs, last, seen, "recovered");
    }
    this.#giveUps++;
    const reason = failure ?? this.#journal.obstacle ?? `the fault came back ${attempts} times`;
    const outcome = this.#settle(epochs, last, seen, "refused", reason);
    const error = errorOf(last, reason);
    if (failure !== undefined) this.#taints.addWritten(epochs, error);
    this.#hooks.onGiveUp({ error, attempts, reason });
    return outcome;
  }

  /** Runs everything unverified again until a check is clean, a bounded number of times. */
  async #recover(epoch: Epoch, found: Found, seen: Seen) {
    let epochs: readonly Epoch[] = [epoch];
    let last = found;
    let attempts = 0;
    while (attempts < this.#retries && !isClean(last)) {
      if (this.#journal.obstacle !== undefined) break;
      attempts++;
      // From here to the snapshot nothing is awaited: what the program submits next finds everything run again.
      epochs = this.#journal.closeAll();
      this.#replays++;
      for (const mapping of this.#mappings) mapping.suspend();
      const discarding = this.#reports.takeSnapshot(epochs);
      this.#hooks.onReplay();
      const accepted = this.#journal.replay(epochs);
      // What runs again need not come upon damage that is still there.
      this.#memory?.scrub(last.damage.flatMap(({ owner }) => owner ?? []));
      const taking = this.#reports.takeSnapshot(epochs);
      for (const mapping of this.#mappings) mapping.resume();
      const [discarded, snapshot, ran] = await Promise.all([discarding, taking, accepted]);
      note(seen, this.#reports.read(epochs, discarded));
      if (!ran) {
        const failure = this.#journal.obstacle ?? "the device refused to run it again";
        return { epochs, last, attempts, failure };
      }
      last = await this.#reports.scrubbed(this.#reports.read(epochs, snapshot));
      note(seen, last);
    }
    return { epochs, last, attempts, failure: undefined };
  }

  /** Ends epochs: their outcome is known, and what they kept for running again is let go. */
  #settle(
    epochs: readonly Epoch[],
    found: Found,
    seen: Seen,
    outcome: FaultOutcome,
    reason?: string,
  ): Outcome {
    const errors = new Map<Kernel | Resource, Refusal>();
    for (const { error, owner } of found.damage) {
      if (owner) errors.set(owner.buffer, new BelayMemoryError([error], reason));
    }
    for (const kernel of kernelsOf(epochs)) {
      const findings = found.kernels.get(kernel);
      if (findings) errors.set(kernel, faultError([findings], reason));
      // It was found out too late that the device refuses the protected code: nothing has run.
      else if (kernel.refused !== undefined) errors.set(kernel, new UnverifiedError(kernel.refused));
    }
    for (const { events } of epochs) for (const event of events) this.#taints.follow(event, errors);
    for (const { owner } of found.damage) {
      if (owner) this.#taints.add(owner.buffer, errors.get(owner.buffer)!);
    }
    this.#journal.forget(epochs);
    this.#announce(seen, outcome);
    const refused = outcome === "refused" || isClean(found) ? [...errors.values()][0] : undefined;
    const result: Outcome = refused ? { refused } : {};
    for (const epoch of epochs) this.#settled.set(epoch, { result, outcome });
    return result;
  }

  #announce({ faults, damage }: Seen, outcome: FaultOutcome): void {
    for (const fault of faults) this.#hooks.onFault({ ...fault, outcome });
    for (const error of damage) this.#hooks.onMemoryFault({ ...error, outcome });
  }
}
