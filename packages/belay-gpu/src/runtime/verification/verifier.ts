import type { FaultOutcome } from "../context/detectedFault.ts";
import type { Events } from "../context/events.ts";
import type { OnFault } from "../context/policy.ts";
import type { Refusal } from "../context/recovery.ts";
import type { RuntimeContext } from "../context/runtimeContext.ts";
import { Signal } from "../context/signal.ts";
import { UnverifiedError } from "../context/unverified.ts";
import type { DamageDetection } from "../memory/memoryProtection.ts";
import type { ResourceRange } from "../webgpu/resources.ts";
import { blameOf, type CheckResult, errorOf, firstOf, isClean } from "./checkResult.ts";
import type { Epoch } from "./epoch.ts";
import { EpochReports, kernelsOf } from "./epochReports.ts";
import { FaultLog } from "./faultLog.ts";
import type { Journal } from "./journal.ts";
import { type PendingMapping, Reexecution } from "./reexecution.ts";
import type { StoreSearch } from "./storeSearch.ts";
import type { Taints } from "./taints.ts";

/** What came of checking an epoch. */
export interface Outcome {
  /** Set when data of the epoch is refused. */
  readonly refused?: Refusal;
  readonly lost?: UnverifiedError;
}

/** What verification has come to so far. */
export interface VerifierReport {
  /** Read-backs of the kernels' reports. */
  readonly checks: number;
  /** How often work was put back and run again. */
  readonly replays: number;
  /** Detected faults that were recovered from, and those that were not. */
  readonly recoveries: number;
  readonly giveUps: number;
  /** Time from detections to their outcomes, in all. */
  readonly recoveryMilliseconds: number;
}

/**
 * Checks submitted work, one epoch at a time and in order. When a check detects a fault, everything
 * unverified is put back and run again. Where that is not wanted or does not help, it marks the
 * resources that the fault may have reached: what the faulty kernel writes, and from there whatever
 * is computed or copied from it, until commands or the host replace the contents.
 */
export class Verifier {
  readonly #reports: EpochReports;
  readonly #journal: Journal;
  /**
   * Emitted before work runs again: a fault that was armed to happen once must not happen again.
   */
  readonly replaying = new Signal();
  readonly #onFault: OnFault;
  readonly #events: Events;
  readonly #memory: DamageDetection;
  readonly #reexecution: Reexecution;
  readonly #taints: Taints;
  /** Epochs whose outcome an earlier epoch's recovery has settled. */
  readonly #settled = new WeakMap<Epoch, { readonly result: Outcome; readonly outcome: FaultOutcome }>();
  #checked: Promise<Outcome> = Promise.resolve({});
  #recoveries = 0;
  #giveUps = 0;
  #recoveryMilliseconds = 0;

  constructor(context: RuntimeContext, memory: DamageDetection, journal: Journal, search: StoreSearch) {
    const { policy, events } = context;
    this.#reports = new EpochReports(context, memory);
    this.#journal = journal;
    this.#memory = memory;
    this.#taints = journal.taints;
    this.#onFault = policy.onFault;
    this.#events = events;
    this.#reexecution = new Reexecution({
      device: context.device,
      reports: this.#reports,
      journal,
      memory,
      retries: policy.retries,
      search,
      onReplay: () => this.replaying.emit(),
    });
    journal.pressure.subscribe(() => void this.verify());
  }

  get report(): VerifierReport {
    return {
      checks: this.#reports.checks,
      replays: this.#reexecution.replays,
      recoveries: this.#recoveries,
      giveUps: this.#giveUps,
      recoveryMilliseconds: this.#recoveryMilliseconds,
    };
  }

  /** The mappings that wait for verification. */
  get mappings(): Set<PendingMapping> {
    return this.#reexecution.mappings;
  }

  /**
   * Resolves when everything submitted so far has been checked, and run again if need be. Never
   * rejects.
   */
  verify(): Promise<Outcome> {
    return this.#journal.openEvents > 0 ? this.verifyAnyway() : this.#checked;
  }

  /** As `verify`, though the program may have submitted nothing since the check before. */
  verifyAnyway(): Promise<Outcome> {
    this.#checked = this.#check(this.#journal.close(), this.#checked);
    return this.#checked;
  }

  /**
   * Returns why contents must not be released: the fault that may have reached them. Ask after
   * `verify`.
   */
  taintOf(place: ResourceRange): Refusal | undefined {
    return this.#taints.of(place);
  }

  async #check(epoch: Epoch, previous: Promise<Outcome>): Promise<Outcome> {
    try {
      // Begun before anything is awaited, so that the snapshot stands in the queue right behind the
      // epoch.
      const taking = this.#reports.takeSnapshot([epoch]);
      const proving = [...kernelsOf([epoch])].map((kernel) => kernel.acceptance);
      const [{ lost }, snapshot] = await Promise.all([previous, taking, ...proving, ...epoch.answers]);
      if (lost) return { lost };
      const noMemory = await this.#memory.failed;
      if (noMemory) return { lost: new UnverifiedError(`no memory for check words: ${noMemory.message}`) };
      const found = await this.#reports.scrubbed(this.#reports.read([epoch], snapshot));
      const settled = this.#settled.get(epoch);
      if (!settled) return await this.#judge(epoch, found);
      // An earlier epoch's recovery ran this one again; what it had detected before shares that
      // outcome.
      this.#announce(new FaultLog(found), settled.outcome);
      return settled.result;
    } catch (error) {
      return { lost: new UnverifiedError(error) };
    }
  }

  async #judge(epoch: Epoch, found: CheckResult): Promise<Outcome> {
    const log = new FaultLog(found);
    if (isClean(found) || this.#onFault !== "recover") {
      return this.#settle([epoch], found, log, this.#onFault === "report" ? "reported" : "refused");
    }
    const start = performance.now();
    const { epochs, last, attempts, failure } = await this.#reexecution.untilClean(epoch, found, log);
    const milliseconds = performance.now() - start;
    this.#recoveryMilliseconds += milliseconds;
    if (isClean(last)) {
      this.#recoveries++;
      const errors = log.damage.map(({ error }) => error);
      this.#events.emit("recovery", { faults: log.faults, damage: errors, attempts, milliseconds });
      return this.#settle(epochs, last, log, "recovered");
    }
    this.#giveUps++;
    const reason = failure ?? this.#journal.obstacle ?? `the fault came back ${attempts} times`;
    const outcome = this.#settle(epochs, last, log, "refused", reason);
    const error = errorOf(last, reason);
    if (failure !== undefined) this.#taints.addWritten(epochs, error);
    this.#events.emit("giveUp", { error, attempts, reason });
    return outcome;
  }

  /** Ends epochs: their outcome is known, and what they kept for running again is let go. */
  #settle(
    epochs: readonly Epoch[],
    found: CheckResult,
    log: FaultLog,
    outcome: FaultOutcome,
    reason?: string,
  ): Outcome {
    const blame = blameOf(found, kernelsOf(epochs), reason);
    // Damage comes first: the epochs may have replaced it. A flip after that does not fit its check
    // word, and is found again.
    for (const { place, refusal } of blame.damage) this.#taints.add(place, refusal);
    for (const epoch of epochs) this.#taints.follow(epoch, blame);
    // Damage in a place that nobody knows may have reached all that was written.
    if (blame.elsewhere) this.#taints.addWritten(epochs, blame.elsewhere);
    this.#journal.forget(epochs);
    if (outcome === "refused") {
      // Contents that were written since may be right again: only a check can tell.
      const known = blame.damage
        .map(({ place }) => place)
        .filter((place) => this.#taints.coverAll(place) && !this.#journal.isWritten(place.buffer));
      this.#memory.accept(known);
    }
    this.#announce(log, outcome);
    const isRefused = outcome === "refused" || isClean(found);
    const refused = isRefused ? firstOf(blame) : undefined;
    const result: Outcome = refused ? { refused } : {};
    for (const epoch of epochs) this.#settled.set(epoch, { result, outcome });
    return result;
  }

  #announce({ faults, damage }: FaultLog, outcome: FaultOutcome): void {
    for (const fault of faults) this.#events.emit("fault", { ...fault, outcome });
    for (const { error } of damage) this.#events.emit("memoryFault", { ...error, outcome });
  }
}
