import { refuseUnknown, type Values } from "../diagnostics/options.ts";
import type { Auditor, AuditStarter } from "../runtime/context/auditing.ts";
import { DeviceAudit } from "./deviceAudit.ts";

/** The options of `auditor`. */
export interface AuditorOptions {
  /**
   * The fraction of workgroups that are computed again, more than 0 and at most 1. Default 0.01.
   */
  readonly rate?: number;
  /**
   * The fraction of time that the audit may spend on computing workgroups again, and on copies for
   * it. Samples beyond it are skipped. Default 0.01; 1 sets no limit.
   */
  readonly budget?: number;
  /** The seed of the sample, a whole number. Default: another one each time. */
  readonly seed?: number;
}

const fraction: Values = {
  what: "a number above 0, and at most 1",
  has: (value) => typeof value === "number" && value > 0 && value <= 1,
};

const seeds: Values = {
  what: "a whole number",
  has: (value) => Number.isSafeInteger(value),
};

/**
 * Returns an auditor for the policy of `harden`. It computes sampled workgroups of the program's
 * dispatches again on the CPU, with the reference executor, and compares what they stored. Devices
 * can share an auditor.
 *
 * Throws a `TypeError` for an unknown option or an invalid value.
 */
export function auditor(options: AuditorOptions = {}): Auditor {
  refuseUnknown(options, { rate: fraction, budget: fraction, seed: seeds }, " of the auditor");
  const { rate = 0.01, budget = 0.01, seed } = options;
  const starter: AuditStarter = {
    rate,
    budget,
    begin: (device, events) => new DeviceAudit(device, events, { rate, budget, seed }),
  };
  return starter;
}
