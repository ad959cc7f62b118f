import type { KernelCoverage } from "./coverage.ts";
import type { DetectedFault, Detection } from "./detectedFault.ts";
import type { Correction, MemoryFault } from "./memoryFault.ts";
import type { GiveUp, Recovery } from "./recovery.ts";
import type { Unverified } from "./unverified.ts";

/** What a hardened device tells its listeners, by the name of the event. */
export interface BelayEvents {
  /**
   * A pipeline was made whose kernel runs unprotected, or is covered less than the policy asks for:
   * `diagnostics` say why. Comes once for each kernel; while nobody listens, the console is warned.
   */
  readonly unprotected: KernelCoverage;
  /** Replicas disagreed; what becomes of it is not known yet. */
  readonly detection: Detection;
  /**
   * A detected fault whose outcome is known. Comes once for each invocation or workgroup whose
   * replicas disagreed, wherever they were compared, and however often the fault came back.
   */
  readonly fault: DetectedFault;
  /** Work that nobody knows to be right or wrong; it is run again, or refused, as after a fault. */
  readonly unverified: Unverified;
  /** Errors in memory were corrected, in data or in check words. */
  readonly corrected: Correction;
  /**
   * Memory is damaged beyond what its code corrects; comes once for each granule that a check
   * names, with its outcome.
   */
  readonly memoryFault: MemoryFault;
  /** Work was run again, and its results are clean. */
  readonly recovery: Recovery;
  /** Work could not be recovered, and its results are refused. */
  readonly giveUp: GiveUp;
}

const names: Readonly<Record<keyof BelayEvents, true>> = {
  detection: true,
  fault: true,
  unverified: true,
  corrected: true,
  memoryFault: true,
  recovery: true,
  giveUp: true,
  unprotected: true,
};

type Listener = (happened: never) => void;

/** The listeners of a device. */
export class Events {
  readonly #listeners = new Map<keyof BelayEvents, Set<Listener>>();

  /**
   * Throws a `TypeError` for an event that there is not: its listener would never hear of a fault.
   */
  on<Name extends keyof BelayEvents>(event: Name, listener: (happened: BelayEvents[Name]) => void): void {
    if (!Object.hasOwn(names, event)) {
      throw new TypeError(`there is no event ${event}: the events are ${Object.keys(names).join(", ")}`);
    }
    const listeners = this.#listeners.get(event) ?? new Set();
    this.#listeners.set(event, listeners.add(listener));
  }

  off<Name extends keyof BelayEvents>(event: Name, listener: (happened: BelayEvents[Name]) => void): void {
    this.#listeners.get(event)?.delete(listener);
  }

  /** Whether anybody listens to an event. */
  isHeard(event: keyof BelayEvents): boolean {
    return (this.#listeners.get(event)?.size ?? 0) > 0;
  }

  /** Calls every listener, whatever another one throws. */
  emit<Name extends keyof BelayEvents>(event: Name, happened: BelayEvents[Name]): void {
    for (const listener of [...(this.#listeners.get(event) ?? [])]) {
      try {
        (listener as (happened: BelayEvents[Name]) => void)(happened);
      } catch (error) {
        console.error(`belay: a listener of "${event}" threw`, error);
      }
    }
  }
}
