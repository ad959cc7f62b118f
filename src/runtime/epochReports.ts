import type { Epoch } from "./epoch.ts";
import type { Detection } from "./fault.ts";
import { type Found, nothing } from "./found.ts";
import { observedIn } from "./injector.ts";
import type { Kernel } from "./kernel.ts";
import type { Memory } from "./memory/memory.ts";
import type { Damage, Damaged, KernelDamaged } from "./memory/memoryLog.ts";
import { type Findings, readReport } from "./readReport.ts";
import type { ReportArena, ReportSnapshot } from "./reportArena.ts";
import type { Unverified } from "./unverified.ts";

export interface ReportHooks {
  /** Called once per disagreement, as soon as it is read. */
  onDetection(detection: Detection): void;
  /** Called for work that nobody knows to be right or wrong, as soon as that is read. */
  onUnverified(unverified: Unverified): void;
}

/** What the kernels of epochs, and the memory that they work on, have reported. */
export class EpochReports {
  readonly #arena: ReportArena;
  readonly #memory: Memory | undefined;
  readonly #hooks: ReportHooks;
  #checks = 0;

  constructor(arena: ReportArena, memory: Memory | undefined, hooks: ReportHooks) {
    this.#arena = arena;
    this.#memory = memory;
    this.#hooks = hooks;
  }

  /** Read-backs so far. */
  get checks(): number {
    return this.#checks;
  }

  /** Puts a snapshot of the reports of all kernels in the epochs behind what is in the queue; undefined when there are none. */
  takeSnapshot(epochs: readonly Epoch[]): Promise<ReportSnapshot> | undefined {
    const own = this.#memory ? [this.#memory.slot] : [];
    const slots = [...own, ...[...kernelsOf(epochs)].map(({ slot }) => slot)];
    if (slots.length === 0) return undefined;
    this.#checks++;
    return this.#arena.takeSnapshot(slots);
  }

  /** What a snapshot for the same epochs has found. Kernels count it, and whoever listens is told. */
  read(epochs: readonly Epoch[], snapshot: ReportSnapshot | undefined): Found {
    if (!snapshot) return nothing;
    const found = new Map<Kernel, Findings>();
    const own = this.#memory?.read(snapshot(this.#memory.slot));
    const reports: KernelDamaged[] = [];
    for (const kernel of kernelsOf(epochs)) {
      const words = snapshot(kernel.slot);
      if (this.#memory && kernel.memory?.checks)
        reports.push(this.#memory.log.readKernel(words, kernel.name));
      kernel.observed = observedIn(words);
      const findings = readReport(kernel, words);
      if (findings.count === 0) continue;
      kernel.detections += findings.detections;
      kernel.unverified += findings.count - findings.detections;
      this.#arena.forgetExchange(kernel.slot);
      for (const fault of findings.faults) this.#hooks.onDetection(fault);
      for (const each of findings.unverified) this.#hooks.onUnverified(each);
      found.set(kernel, findings);
    }
    const all: readonly Damaged[] = own ? [own, ...reports] : reports;
    return {
      kernels: found,
      damaged: all.reduce((sum, { count }) => sum + count, 0),
      damage: all.flatMap(({ damage }) => damage),
      suspects: new Set(reports.flatMap(({ owners }) => [...owners])),
    };
  }

  /** Has buffers scrubbed in which kernels found errors, as these leave them as they are; adds what comes of it. */
  async scrubbed(found: Found): Promise<Found> {
    if (!this.#memory || found.suspects.size === 0) return found;
    this.#memory.scrub(found.suspects);
    const snapshot = await this.#arena.takeSnapshot([this.#memory.slot]);
    const { count, damage } = this.#memory.read(snapshot(this.#memory.slot));
    const isNew = ({ owner, error }: Damage) =>
      !found.damage.some((each) => each.owner === owner && each.error.byteOffset === error.byteOffset);
    return { ...found, damaged: found.damaged + count, damage: [...found.damage, ...damage.filter(isNew)] };
  }
}

/** The kernels that epochs dispatch. */
export function kernelsOf(epochs: readonly Epoch[]): Set<Kernel> {
  const events = epochs.flatMap((epoch) => epoch.events);
  return new Set(events.flatMap((event) => ("record" in event ? [...event.record.kernels] : [])));
}
