import { plural } from "../../diagnostics/plural.ts";
import { describeShortfall, type KernelCoverage } from "./coverage.ts";
import { type DetectedFault, type Detection, describeFault } from "./detectedFault.ts";
import { type Disagreement, describeDisagreement } from "./disagreement.ts";
import {
  type Correction,
  describeMemoryError,
  type MemoryFault,
  type SuspectResults,
} from "./memoryFault.ts";
import type { GiveUp, Recovery } from "./recovery.ts";
import type { Repair } from "./repair.ts";
import { describeUnverified, type Unverified } from "./unverified.ts";

/** The details of the events of a hardened device, by the type of the event. */
export interface BelayEventDetails {
  /**
   * A pipeline was created whose kernel has less protection than the policy asks for, for the
   * reasons in `diagnostics`. Comes once for each kernel. Prints a warning to the console unless a
   * listener calls `preventDefault()`.
   */
  readonly unprotected: KernelCoverage;
  /** Replicas disagreed. The outcome is not known yet. */
  readonly detection: Detection;
  /**
   * A detected fault with its outcome. Comes once for each invocation or workgroup whose replicas
   * disagreed, even if several checks found the fault or it came back.
   */
  readonly fault: DetectedFault;
  /** Work could not be verified. It is executed again or refused, as after a fault. */
  readonly unverified: Unverified;
  /** Errors in memory were corrected, in data or in check words. */
  readonly corrected: Correction;
  /**
   * Memory has more errors than its code corrects. Comes once for each granule that a check names,
   * with its outcome.
   */
  readonly memoryFault: MemoryFault;
  /**
   * Data was found wrong that kernels may have loaded since it was last verified, and results of it
   * may be released. Happens only under `memoryCheck: "scrubs"`.
   */
  readonly suspectResults: SuspectResults;
  /** Work was executed again, and its results are clean. */
  readonly recovery: Recovery;
  /** Work could not be recovered, and its results are refused. */
  readonly giveUp: GiveUp;
  /** A check by algebra found wrong results, and they were computed again before their next use. */
  readonly repair: Repair;
  /** An audit found a workgroup whose words the WGSL specification does not allow. */
  readonly disagreement: Disagreement;
}

/** The type of an event of a hardened device. */
export type BelayEventType = keyof BelayEventDetails;

/** Functions that describe an event in words, by its type. */
const descriptions: { readonly [Type in BelayEventType]: (detail: BelayEventDetails[Type]) => string } = {
  detection: describeFault,
  fault: (fault) => `${describeFault(fault)} (${fault.outcome})`,
  unverified: describeUnverified,
  corrected: ({ count, errors: [first] }) =>
    `${plural(count, "error")} in memory corrected${first ? `: ${describeMemoryError(first)}` : ""}`,
  memoryFault: (fault) => `${describeMemoryError(fault)} (${fault.outcome})`,
  suspectResults: ({ errors: [first], milliseconds }) =>
    `results of the last ${Math.ceil(milliseconds)} ms may be wrong: ${describeMemoryError(first!)}`,
  recovery: ({ attempts }) => `work ran again ${plural(attempts, "time")} until its check was clean`,
  giveUp: ({ error }) => error.message,
  unprotected: describeShortfall,
  disagreement: describeDisagreement,
  repair: ({ message }) => message,
};

/** An event of a hardened device. */
export class BelayEvent<Type extends BelayEventType = BelayEventType> extends Event {
  /** The type of the event. */
  declare readonly type: Type;
  /** The data of the event. */
  readonly detail: BelayEventDetails[Type];

  constructor(type: Type, detail: BelayEventDetails[Type]) {
    super(type, { cancelable: type === "unprotected" });
    this.detail = detail;
  }

  /** The event in words. */
  get message(): string {
    return descriptions[this.type](this.detail);
  }
}

/** The events of one device. */
export class Events extends EventTarget {
  /**
   * Adds a listener. Throws a `TypeError` for an unknown type, whose listener would never be
   * called.
   */
  override addEventListener(...given: Parameters<EventTarget["addEventListener"]>): void {
    if (!Object.hasOwn(descriptions, given[0])) {
      const types = Object.keys(descriptions).join(", ");
      throw new TypeError(`there is no event ${given[0]}: the events are ${types}`);
    }
    super.addEventListener(...given);
  }

  /** Calls the listeners. Returns whether the default action should happen. */
  emit<Type extends BelayEventType>(type: Type, detail: BelayEventDetails[Type]): boolean {
    return this.dispatchEvent(new BelayEvent(type, detail));
  }
}
