import { BelayError } from "../../diagnostics/belayError.ts";
import type { DiagnosticName } from "../../diagnostics/registry.ts";
import { describeWorkgroup } from "./detectedFault.ts";

/** Results that are neither known to be right nor known to be wrong. */
export interface Unverified {
  /** The name of the kernel: the label of its pipeline, or else its entry point. */
  readonly kernel: string;
  /** The kernel's entry point. */
  readonly entryPoint: string;
  /**
   * The reason why the results are not verified.
   *
   * - Under `"waitedTooLong"`, a workgroup waited too long for its twin, as the device did not run
   *   both at the same time.
   * - Under `"gridTooLarge"`, an indirect dispatch has no room for twice its workgroups, so nothing
   *   ran.
   * - Under `"subgroupsMixed"`, the device made a subgroup of invocations that are not neighbors of
   *   one replica, so subgroup operations may have seen both.
   * - Under `"sumsInDoubt"`, a check by algebra did not agree, and the work could not run again.
   */
  readonly cause: "waitedTooLong" | "gridTooLarge" | "subgroupsMixed" | "sumsInDoubt";
  /** The workgroup that waited, or that has such a subgroup; else the first one. */
  readonly workgroup: readonly [number, number, number];
}

const diagnostics: Readonly<Record<Unverified["cause"], DiagnosticName>> = {
  waitedTooLong: "replica-wait-timeout",
  gridTooLarge: "grid-too-large",
  subgroupsMixed: "subgroups-mixed",
  sumsInDoubt: "unverified-results",
};

/** The error for data that could not be verified, usually because the device was lost. */
export class UnverifiedError extends BelayError {
  override readonly name = "UnverifiedError";

  constructor(cause: unknown, diagnostic: DiagnosticName = "unverified-results", help?: string) {
    const why = cause instanceof Error ? cause.message || cause.name : cause;
    super(diagnostic, `results could not be verified: ${why}`, { cause, help });
  }
}

/** The help for a grid that cannot be doubled. */
export const helpToFit = "dispatch fewer workgroups at a time";

/** The help for work that could not be verified. */
const remedies: Readonly<Record<Unverified["cause"], string>> = {
  waitedTooLong:
    'use check: "signature", or dispatch fewer workgroups at a time; a kernel that uses results of atomic operations needs redundancy: "intra+lds"',
  gridTooLarge: helpToFit,
  subgroupsMixed: 'use the pairing passes or redundancy: "inter" for this kernel',
  sumsInDoubt: 'work that can run again is decided: raise snapshotBytes, or use onFault: "throw"',
};

export function unverifiedError(unverified: Unverified): UnverifiedError {
  const { cause } = unverified;
  return new UnverifiedError(describeUnverified(unverified), diagnostics[cause], remedies[cause]);
}

/** Describes in one line why results are not verified. */
export function describeUnverified({ kernel, cause, workgroup }: Unverified): string {
  switch (cause) {
    case "gridTooLarge":
      return `an indirect dispatch of kernel "${kernel}" has no room for twice its workgroups`;
    case "subgroupsMixed":
      return `a subgroup in ${describeWorkgroup(workgroup)} of kernel "${kernel}" did not hold neighbors of one replica`;
    case "sumsInDoubt":
      return `the check by algebra of kernel "${kernel}" did not agree, and the work cannot run again`;
    case "waitedTooLong":
      return `${describeWorkgroup(workgroup)} of kernel "${kernel}" waited too long for its twin`;
  }
}
