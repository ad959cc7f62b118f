import type { Events } from "../context/events.ts";
import type { MemoryError } from "../context/memoryFault.ts";
import type { ReportArena, ReportSlot, ReportSnapshot } from "../context/reportArena.ts";
import type { RuntimeContext } from "../context/runtimeContext.ts";
import { observedIn } from "../injection/injector.ts";
import {
  type Corrected,
  type Damage,
  type Damaged,
  distinct,
  type KernelDamaged,
} from "../memory/memoryLog.ts";
import type { DamageDetection } from "../memory/memoryProtection.ts";
import type { Doubts } from "../memory/restingData.ts";
import type { ProtectedKernel } from "../pipelines/protectedKernels.ts";
import type { CommandRecord } from "../recording/commandRecord.ts";
import type { ExecutionTurn, SumsFindings } from "../recording/sumsChecking.ts";
import { type CheckResult, nothingFound } from "./checkResult.ts";
import { acceptedEvents, type Epoch } from "./epoch.ts";
import { type KernelFindings, readReport } from "./readReport.ts";
import type { Substitution } from "./storeSearch.ts";

/** The circumstances in which reports are read. */
interface ReadOptions {
  readonly substitutes?: Substitution["kernels"] | undefined;
  readonly execution?: ExecutionTurn;
  /** The errors that are known. Corrections of them do not count again. */
  readonly known?: readonly Damage[];
}

/** The report of a kernel, or of another one that ran in its place. */
interface Reading {
  readonly kernel: ProtectedKernel;
  readonly by: ProtectedKernel;
  readonly words: Uint32Array;
  readonly findings: KernelFindings;
}

/** The reports of kernels, and of protected memory, for epochs. */
export class EpochReports {
  readonly #arena: ReportArena;
  readonly #memory: DamageDetection;
  readonly #events: Events;
  readonly #doubts = new WeakMap<ReportSnapshot, Doubts>();
  #checks = 0;
  /** The number of the latest check of each epoch. */
  readonly #numbers = new WeakMap<Epoch, number>();
  /** The number of the last check whose corrections may be wrong. */
  #lastInDoubt = 0;
  /** The number of the last check whose work is not executed any more. */
  #settled = 0;

  constructor({ reports, events }: Pick<RuntimeContext, "reports" | "events">, memory: DamageDetection) {
    this.#arena = reports;
    this.#memory = memory;
    this.#events = events;
  }

  /** The number of read-backs of reports so far. */
  get checks(): number {
    return this.#checks;
  }

  /**
   * Submits a copy of the reports of all kernels in the epochs. Resolves to its contents. Returns
   * undefined if there is no report.
   */
  takeSnapshot(
    epochs: readonly Epoch[],
    substitutes: Substitution["kernels"] = new Map(),
  ): Promise<ReportSnapshot> | undefined {
    const kernels = [...kernelsOf(epochs), ...substitutes.values()];
    const checked = [...kernels, ...sumsOf(epochs).keys()];
    const slots = [...this.#memory.slots, ...checked.map(({ slot }) => slot)];
    if (slots.length === 0) return undefined;
    this.#checks++;
    for (const epoch of epochs) this.#numbers.set(epoch, this.#checks);
    return this.#take(slots, this.#memory.beginCheck(this.#checks));
  }

  /** Copies reports, for a check with these doubts about memory. */
  async #take(slots: Iterable<ReportSlot>, doubts: Doubts): Promise<ReportSnapshot> {
    const snapshot = await this.#arena.takeSnapshot(slots);
    this.#doubts.set(snapshot, doubts);
    return snapshot;
  }

  #readMemory(snapshot: ReportSnapshot, known: readonly Damage[] = []): Damaged {
    return this.#memory.read(snapshot, this.#doubts.get(snapshot)!, this.#settled, known);
  }

  /** Returns the number of the latest check of epochs. */
  #numberOf(epochs: readonly Epoch[]): number {
    return Math.max(0, ...epochs.map((epoch) => this.#numbers.get(epoch) ?? 0));
  }

  /**
   * Returns the findings in a snapshot for the same epochs and substitutes. Adds them to the
   * kernels' counts and emits events. After a first execution, it must be known which events of the
   * epochs the device accepted.
   */
  read(
    epochs: readonly Epoch[],
    snapshot: ReportSnapshot | undefined,
    { substitutes = new Map(), execution = "later", known }: ReadOptions = {},
  ): CheckResult {
    if (!snapshot) return nothingFound;
    const found = new Map<ProtectedKernel, KernelFindings>();
    for (const [sums, dispatches] of sumsOf(epochs))
      if (sums.read(snapshot(sums.slot), execution, dispatches))
        found.set(sums.kernel, doubtAbout(sums.kernel));
    const own = this.#readMemory(snapshot, known);
    const reports: KernelDamaged[] = [];
    const unplaced = new Map<ProtectedKernel, { count: number; errors: MemoryError[] }>();
    const readings: Reading[] = [];
    const readOne = (kernel: ProtectedKernel, by: ProtectedKernel) => {
      const words = snapshot(by.slot);
      readings.push({ kernel, by, words, findings: readReport(by, words) });
    };
    for (const kernel of kernelsOf(epochs)) {
      readOne(kernel, kernel);
      const substitute = substitutes.get(kernel);
      if (substitute) readOne(kernel, substitute);
    }
    const late = readings.flatMap(({ findings }) =>
      findings.unverified.filter(({ cause }) => cause === "waitedTooLong"),
    );
    for (const { kernel, by, words, findings: own } of readings) {
      if (kernel.memory?.checks) {
        const damaged = this.#memory.readKernel(words, kernel.name);
        reports.push(damaged);
        const count = damaged.count - damaged.damage.filter(({ owner }) => owner).length;
        if (count > 0) {
          const before = unplaced.get(kernel) ?? { count: 0, errors: [] };
          const errors = distinct(damaged.damage).map(({ error }) => error);
          unplaced.set(kernel, { count: before.count + count, errors: [...before.errors, ...errors] });
        }
      }
      if (kernel.protection.faultSites.length > 0) kernel.observed = observedIn(words);
      if (own.count === 0) continue;
      const findings =
        own.unverified.length === 0 && by.interGroup?.shadows.length ? withLate(own, late) : own;
      kernel.detections += findings.detections;
      kernel.unverified += findings.undecided;
      if (own.unverified.some(({ cause }) => cause === "subgroupsMixed")) kernel.mixings++;
      this.#arena.forgetExchange(by.slot);
      for (const fault of findings.faults) this.#events.emit("detection", fault);
      for (const each of own.unverified) this.#events.emit("unverified", each);
      found.set(kernel, mergeFindings(found.get(kernel), findings));
    }
    // Kernels come first, as their errors say more about a granule.
    const all: readonly Damaged[] = [...reports, own];
    return {
      corrected: mergeCorrected(all.map(({ corrected }) => corrected)),
      isInDoubt:
        this.#numberOf(epochs) <= this.#lastInDoubt || reports.some(({ leavesDoubt }) => leavesDoubt),
      kernels: found,
      ...withoutRepetition(all),
      unplaced,
      suspects: new Set(reports.flatMap(({ owners }) => [...owners])),
    };
  }

  /** Takes it that the epochs are not executed any more. */
  settle(epochs: readonly Epoch[]): void {
    for (const sums of sumsOf(epochs).keys()) sums.settle();
    this.#settled = Math.max(this.#settled, this.#numberOf(epochs));
  }

  /**
   * Scrubs the buffers in which kernels of the epochs found errors, as kernels do not correct
   * memory. Adds the findings.
   *
   * A lane that stores alone to a granule may misjudge its old contents while other lanes store
   * parts of the granule (`Lines`). If it overlooks an error, right data gets a wrong check word. A
   * later check then takes the data for wrong. All corrections up to the scrub therefore count as
   * damage, and their work runs again. This includes epochs that were submitted before the scrub.
   */
  async scrubSuspects(epochs: readonly Epoch[], found: CheckResult): Promise<CheckResult> {
    if (found.suspects.size === 0) return this.#believed(found);
    if (found.isInDoubt) this.#lastInDoubt = this.#checks + 1;
    this.#memory.scrub(found.suspects);
    const doubts = this.#memory.continueCheck(this.#numberOf(epochs));
    const snapshot = await this.#take(this.#memory.slots, doubts);
    const { count, damage, corrected } = this.#readMemory(snapshot);
    return this.#believed({
      ...found,
      ...withoutRepetition([
        { count: found.damaged, damage: found.damage },
        { count, damage },
      ]),
      corrected: mergeCorrected([found.corrected, corrected]),
    });
  }

  #believed(found: CheckResult): CheckResult {
    const { corrected, isInDoubt } = found;
    if (!isInDoubt || corrected.count === 0) return found;
    return {
      ...found,
      damaged: found.damaged + corrected.count,
      damage: [...found.damage, ...this.#memory.untrusted(corrected)],
    };
  }
}

/** Returns the findings of a kernel and of its substitute together. */
function mergeFindings(before: KernelFindings | undefined, more: KernelFindings): KernelFindings {
  if (!before) return more;
  return {
    faults: [...before.faults, ...more.faults],
    unverified: [...before.unverified, ...more.unverified],
    count: before.count + more.count,
    detections: before.detections + more.detections,
    undecided: before.undecided + more.undecided,
  };
}

/**
 * Returns the findings of a kernel with shadows, beside waits of other kernels that ran out.
 * Replicas that did not meet may have stored other values than their twins. The shadows then differ
 * from the buffers, and later replicas disagree without a fault.
 */
function withLate(findings: KernelFindings, late: KernelFindings["unverified"]): KernelFindings {
  if (late.length === 0) return findings;
  return { ...findings, faults: [], unverified: late, detections: 0, undecided: findings.count };
}

/** Adds up damaged granules, and counts each once if several checks found it. */
function withoutRepetition(
  all: readonly Pick<Damaged, "count" | "damage">[],
): Pick<CheckResult, "damaged" | "damage"> {
  const recorded = all.flatMap(({ damage }) => damage);
  const damage = distinct(recorded);
  const repeated = recorded.length - damage.length;
  return { damaged: all.reduce((sum, { count }) => sum + count, 0) - repeated, damage };
}

function mergeCorrected(all: readonly Corrected[]): Corrected {
  return {
    count: all.reduce((sum, { count }) => sum + count, 0),
    places: all.flatMap(({ places }) => places),
  };
}

/**
 * Returns the findings of checks by algebra in epochs, each with the number of dispatches whose
 * first execution leaves the decision to the host. The device is not known to have rejected them.
 */
function sumsOf(epochs: readonly Epoch[]): ReadonlyMap<SumsFindings, number> {
  const all = new Map<SumsFindings, number>();
  if (!recordsOf(epochs).some(({ sums }) => sums)) return all;
  for (const epoch of epochs)
    for (const event of acceptedEvents([epoch]))
      if ("record" in event)
        for (const [sums, dispatches] of event.record.sums ?? [])
          all.set(sums, (all.get(sums) ?? 0) + (epoch.decided.has(event) ? 0 : dispatches));
  return all;
}

/** Returns the finding that results of a kernel's dispatches may be wrong. */
const doubtAbout = ({ name, entryPoint }: ProtectedKernel): KernelFindings => ({
  faults: [],
  unverified: [{ kernel: name, entryPoint, cause: "sumsInDoubt", workgroup: [0, 0, 0] }],
  count: 1,
  detections: 0,
  undecided: 1,
});

/** Returns the kernels that epochs dispatch. */
export function kernelsOf(epochs: readonly Epoch[]): ReadonlySet<ProtectedKernel> {
  const records = recordsOf(epochs);
  // Programs that wait for each result have one command buffer in an epoch.
  if (records.length === 1) return records[0]!.kernels;
  return new Set(records.flatMap(({ kernels }) => [...kernels]));
}

/** Returns the records of epochs. Equal commands may share one. */
function recordsOf(epochs: readonly Epoch[]): CommandRecord[] {
  const records = new Set<CommandRecord>();
  for (const { events } of epochs)
    for (const event of events) if ("record" in event) records.add(event.record);
  return [...records];
}
