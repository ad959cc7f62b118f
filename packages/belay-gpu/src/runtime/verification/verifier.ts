import { explainAbort } from "../../diagnostics/explainAbort.ts";
import type { FaultOutcome } from "../context/detectedFault.ts";
import type { Events } from "../context/events.ts";
import type { OnFault } from "../context/policy.ts";
import type { Refusal } from "../context/recovery.ts";
import type { RuntimeContext } from "../context/runtimeContext.ts";
import { Signal } from "../context/signal.ts";
import { UnverifiedError } from "../context/unverified.ts";
import type { Damage } from "../memory/memoryLog.ts";
import type { MemoryProtection } from "../memory/memoryProtection.ts";
import type { ResourceRange } from "../webgpu/resources.ts";
import { blameOf, type CheckResult, errorOf, firstOf, isAvoidable, isClean } from "./checkResult.ts";
import type { Epoch } from "./epoch.ts";
import { EpochReports, kernelsOf } from "./epochReports.ts";
import { FaultLog } from "./faultLog.ts";
import type { Journal } from "./journal.ts";
import { type PendingMapping, Reexecution } from "./reexecution.ts";
import type { StoreSearch } from "./storeSearch.ts";
import type { Taints } from "./taints.ts";

/** The outcome of the check of an epoch. */
export interface VerificationOutcome {
  /** Set if data of the epoch is refused. */
  readonly refused?: Refusal;
  readonly lost?: UnverifiedError;
}

/** Epochs whose check has ended. */
interface SettledEpochs {
  readonly epochs: readonly Epoch[];
  /** True if no check of the epochs found anything. */
  readonly isClean: boolean;
}

/** The counts of verification so far. */
export interface VerifierReport {
  /** The number of read-backs of reports. */
  readonly checks: number;
  /** The number of re-executions. */
  readonly replays: number;
  /** The number of detected faults that were recovered from. */
  readonly recoveries: number;
  /** The number of detected faults that were not recovered from. */
  readonly giveUps: number;
  /** The total time from detections to their outcomes. */
  readonly recoveryMs: number;
}

/**
 * Checks submitted work, one epoch at a time and in order. If a check detects a fault, all
 * unverified work is executed again. If the policy excludes that, or if it does not help, the
 * resources that the fault may have reached are tainted. These are the outputs of the faulty kernel
 * and all results that were computed or copied from them, until they are replaced.
 */
export class Verifier {
  readonly #device: GPUDevice;
  readonly #reports: EpochReports;
  readonly #journal: Journal;
  /** Emitted before work is executed again. A transient fault must then be disarmed. */
  readonly replaying = new Signal();
  /** Emitted when the check of epochs has ended, before their results are released. */
  readonly settled = new Signal<SettledEpochs>();
  readonly #onFault: OnFault;
  readonly #events: Events;
  readonly #memory: MemoryProtection;
  readonly #reexecution: Reexecution;
  readonly #taints: Taints;
  /** The epochs whose outcome the recovery of an earlier epoch has decided. */
  readonly #outcomes = new WeakMap<
    Epoch,
    {
      readonly result: VerificationOutcome;
      readonly outcome: FaultOutcome;
      /** The granules that the recovery corrected. */
      readonly corrected: readonly Damage[];
    }
  >();
  #checked: Promise<VerificationOutcome> = Promise.resolve({});
  #recoveries = 0;
  #giveUps = 0;
  #recoveryMs = 0;

  constructor(context: RuntimeContext, memory: MemoryProtection, journal: Journal, search: StoreSearch) {
    const { device, policy, events } = context;
    this.#device = device;
    this.#reports = new EpochReports(context, memory);
    this.#journal = journal;
    this.#memory = memory;
    this.#taints = journal.taints;
    this.#onFault = policy.onFault;
    this.#events = events;
    this.#reexecution = new Reexecution({
      device,
      reports: this.#reports,
      journal,
      memory,
      retries: policy.onFault === "recover" ? policy.retries : 0,
      search,
      comparesStores: policy.comparesStores,
      onReplay: () => this.replaying.emit(),
    });
    journal.pressure.subscribe(() => void this.verify());
    // The signal may come while work is executed again. Only the check of that work may begin then.
    memory.trustEnded.subscribe(() =>
      queueMicrotask(() => {
        if (journal.openEvents === 0) void this.verifyAnyway();
      }),
    );
  }

  get report(): VerifierReport {
    return {
      checks: this.#reports.checks,
      replays: this.#reexecution.replays,
      recoveries: this.#recoveries,
      giveUps: this.#giveUps,
      recoveryMs: this.#recoveryMs,
    };
  }

  /** The mappings that wait for verification. */
  get mappings(): Set<PendingMapping> {
    return this.#reexecution.mappings;
  }

  /**
   * Resolves when all work submitted so far is checked, and executed again if necessary. Never
   * rejects.
   */
  verify(): Promise<VerificationOutcome> {
    return this.#journal.openEvents > 0 ? this.verifyAnyway() : this.#checked;
  }

  /** Checks the open epoch even if it has no events. */
  verifyAnyway(): Promise<VerificationOutcome> {
    this.#checked = this.#check(this.#journal.close(), this.#checked);
    return this.#checked;
  }

  /**
   * Returns the fault that may have reached a range, if its contents must not be released. Call it
   * after `verify`.
   */
  taintOf(place: ResourceRange): Refusal | undefined {
    return this.#taints.of(place);
  }

  async #check(epoch: Epoch, previous: Promise<VerificationOutcome>): Promise<VerificationOutcome> {
    try {
      // The snapshot is submitted before anything is awaited, so it follows the epoch directly in
      // the queue.
      const taking = this.#reports.takeSnapshot([epoch]);
      this.#journal.saveInAdvance(epoch);
      const acceptances = [...kernelsOf([epoch])].map((kernel) => kernel.acceptance);
      const [{ lost }, snapshot] = await Promise.all([
        previous,
        taking,
        ...acceptances,
        ...epoch.acceptances,
      ]);
      if (lost) return { lost };
      const noMemory = await this.#memory.failed;
      if (noMemory) return { lost: new UnverifiedError(`no memory for check words: ${noMemory.message}`) };
      const settled = this.#outcomes.get(epoch);
      const execution = settled ? "replaced" : "first";
      const found = await this.#reports.scrubSuspects(
        [epoch],
        this.#reports.read([epoch], snapshot, { execution, known: settled?.corrected ?? [] }),
      );
      if (!settled) return await this.#judge(epoch, found);
      // The recovery of an earlier epoch executed this one again. The faults that this one detected
      // before have the same outcome.
      this.#announce(new FaultLog(found), settled.outcome);
      return settled.result;
    } catch (error) {
      return { lost: new UnverifiedError(await explainAbort(this.#device, error, "meanwhile")) };
    }
  }

  async #judge(epoch: Epoch, found: CheckResult): Promise<VerificationOutcome> {
    const log = new FaultLog(found);
    // A wait that ran out is no fault, and refuses nothing that another way can verify.
    const runsAgain = this.#onFault === "recover" || (this.#onFault === "throw" && isAvoidable(found));
    if (isClean(found) || !runsAgain || !this.#journal.recoverable) {
      return this.#settle([epoch], found, log, this.#onFault === "report" ? "reported" : "refused");
    }
    const start = performance.now();
    const { epochs, last, corrected, attempts, failure } = await this.#reexecution.untilClean(
      epoch,
      found,
      log,
    );
    const milliseconds = performance.now() - start;
    this.#recoveryMs += milliseconds;
    if (isClean(last)) {
      const errors = log.damage.map(({ error }) => error);
      // A wait that ran out is no fault, so there is nothing to recover from.
      if (log.faults.length + errors.length > 0) {
        this.#recoveries++;
        this.#events.emit("recovery", { faults: log.faults, damage: errors, attempts, milliseconds });
      }
      return this.#settle(epochs, last, log, "recovered", corrected);
    }
    this.#giveUps++;
    const reason = failure ?? this.#journal.obstacle ?? cameBack(attempts);
    const outcome = this.#settle(epochs, last, log, "refused", corrected, reason);
    const error = errorOf(last, reason);
    if (failure !== undefined) this.#taints.addWritten(epochs, error);
    this.#events.emit("giveUp", { error, attempts, reason });
    return outcome;
  }

  /**
   * Ends epochs: taints what their faults may have reached, releases their snapshots, and reports
   * the outcome.
   */
  #settle(
    epochs: readonly Epoch[],
    found: CheckResult,
    log: FaultLog,
    outcome: FaultOutcome,
    corrected: readonly Damage[] = [],
    reason?: string,
  ): VerificationOutcome {
    const blame = blameOf(found, kernelsOf(epochs), reason);
    // Damage is tainted first, as the epochs may have replaced it. A later bit flip does not match
    // its check word and is found again.
    for (const { place, refusal, isCorrected } of blame.damage)
      if (!isCorrected) this.#taints.add(place, refusal);
    for (const epoch of epochs) this.#taints.propagate(epoch, blame);
    // Damage at an unknown location may have reached all written resources.
    if (blame.elsewhere) this.#taints.addWritten(epochs, blame.elsewhere);
    this.#reports.settle(epochs);
    this.#journal.forget(epochs);
    if (outcome === "refused") {
      // Contents that were written since may be right again. Only a check can tell.
      const known = blame.damage
        .map(({ place }) => place)
        .filter((place) => this.#taints.coverAll(place) && !this.#journal.isWritten(place.buffer));
      this.#memory.accept(known);
    }
    this.#announce(log, outcome);
    const isRefused = outcome === "refused" || isClean(found);
    const refused = isRefused ? firstOf(blame) : undefined;
    const result: VerificationOutcome = refused ? { refused } : {};
    for (const epoch of epochs) this.#outcomes.set(epoch, { result, outcome, corrected });
    const hadNothing = isClean(found) && log.faults.length + log.damage.length + found.corrected.count === 0;
    this.settled.emit({ epochs, isClean: hadNothing });
    return result;
  }

  #announce({ faults, damage }: FaultLog, outcome: FaultOutcome): void {
    for (const fault of faults) this.#events.emit("fault", { ...fault, outcome });
    for (const { error, isCorrected } of damage)
      if (!isCorrected) this.#events.emit("memoryFault", { ...error, outcome });
  }
}

/** Returns the reason for giving up after so many runs again. */
function cameBack(attempts: number): string {
  if (attempts === 0) return "the policy allows no further run";
  return `the fault came back ${attempts === 1 ? "once" : `${attempts} times`}`;
}
