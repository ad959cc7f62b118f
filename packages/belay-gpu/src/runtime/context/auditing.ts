/**
 * The audit of dispatches, as the runtime sees it. The audit itself has the executor, and is an
 * entry of its own: pages without it do not load it.
 */
import type { ResourceRange } from "../webgpu/resources.ts";
import type { Disagreement } from "./disagreement.ts";
import type { DispatchCall } from "./dispatchCall.ts";
import type { Events } from "./events.ts";

/** The audit of dispatches on the CPU. `auditor` of `belay-gpu/audit` returns one. */
export interface Auditor {
  /** The fraction of workgroups that are sampled. */
  readonly rate: number;
  /** The fraction of time that the host may spend. */
  readonly budget: number;
}

/** The results of an audit. */
export interface AuditReport {
  /** The number of dispatches in submits that the device accepted. */
  readonly dispatches: number;
  /** The number of sampled workgroups with a verdict. */
  readonly workgroups: number;
  /** The number of workgroups whose words are as the WGSL specification demands. */
  readonly agreed: number;
  /** The number of workgroups that could not be judged. */
  readonly undecided: number;
  /** The number of undecided workgroups for each reason. */
  readonly reasons: Readonly<Record<string, number>>;
  /** The number of workgroups with a wrong word. */
  readonly disagreed: number;
  /** The number of drawn workgroups that were left out, for time or memory. */
  readonly skipped: number;
  /**
   * The largest fraction of wrong workgroups that the sample supports, at 95 %. It is 1 without a
   * judged workgroup.
   */
  readonly bound: number;
  /** The time that the host spent on the audit. */
  readonly milliseconds: number;
  /** The latest disagreements. */
  readonly disagreements: readonly Disagreement[];
}

/** A dispatch of a submission. */
export interface AuditableDispatch {
  readonly call: DispatchCall;
}

/** The effect of a command of a submission. */
export interface AuditableEffect {
  readonly written: Iterable<ResourceRange>;
  /** The dispatch, if it is one of a known kernel on a known grid. */
  readonly dispatch?: AuditableDispatch;
}

/** The commands of a submission, in their order. */
export interface AuditableCommands {
  readonly effects: readonly AuditableEffect[];
  /** Returns true for a dispatch that the submission has several times in a row. */
  isRepeated(dispatch: AuditableDispatch): boolean;
  /** The number of dispatches. */
  readonly dispatches: number;
  /** The number of dispatches whose grid or kernel is unknown. */
  readonly unknownDispatches: number;
  /** True if the submission has commands whose effects are unknown. */
  readonly hasUnknownEffects: boolean;
}

/** A submission that was made. */
export interface Submitted {
  /** Resolves to true if the device accepted the commands. */
  readonly accepted: Promise<boolean>;
  /** The epoch whose check decides whether the commands run again; absent if nothing is checked. */
  readonly epoch: object | undefined;
}

/** The audit of one device. */
export interface Audit {
  readonly report: AuditReport;
  /** Makes a submission by `submit`, and copies what sampled dispatches need around it. */
  around(commands: AuditableCommands, submit: () => Submitted): void;
  /** Judges the samples of epochs, unless a check found a fault in them. */
  settle(epochs: readonly object[], isClean: boolean): void;
  /** Resolves when all samples of verified work are judged, or wait for the budget. */
  finished(): Promise<void>;
}

/** An auditor that can begin. */
export interface AuditStarter extends Auditor {
  /** Begins the audit of a device. */
  begin(device: GPUDevice, events: Events): Audit;
}
