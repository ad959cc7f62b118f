import { describeWorkgroup } from "./detectedFault.ts";

/** Results that nobody knows to be right or wrong: no fault, and no verification either. */
export interface Unverified {
  readonly kernel: string;
  readonly entryPoint: string;
  /**
   * A workgroup waited for its twin longer than it may, as the device did not run both at once; or
   * the grid of an indirect dispatch has no room for twice the workgroups, so nothing ran.
   */
  readonly cause: "waitedTooLong" | "gridTooLarge";
  /** The workgroup that waited. */
  readonly workgroup: readonly [number, number, number];
}

const codes: Readonly<Record<Unverified["cause"], string>> = {
  waitedTooLong: "BELAY330",
  gridTooLarge: "BELAY331",
};

/** Data was not released because it could not be verified. */
export class UnverifiedError extends Error {
  override readonly name = "UnverifiedError";
  readonly code: string;

  /** `cause`: mostly that the device was lost. */
  constructor(cause: unknown, code = "BELAY327") {
    super(`results could not be verified: ${cause instanceof Error ? cause.message || cause.name : cause}`, {
      cause,
    });
    this.code = code;
  }
}

/** What the program can do about a grid that cannot be doubled. */
export const helpToFit = "help: dispatch fewer workgroups at a time (BELAY331)";

/** What the program can do about work of which nobody knows whether it is right. */
const remedies: Readonly<Record<Unverified["cause"], string>> = {
  waitedTooLong:
    'help: take check: "signature", or, where the kernel uses results of atomic operations, pairing: "passes" or redundancy: "intra+lds"; or dispatch fewer workgroups at a time (BELAY330)',
  gridTooLarge: helpToFit,
};

export function unverifiedError(unverified: Unverified): UnverifiedError {
  const { cause } = unverified;
  return new UnverifiedError(`${describeUnverified(unverified)}\n${remedies[cause]}`, codes[cause]);
}

/** Why results are not verified, in one line. */
export function describeUnverified({ kernel, cause, workgroup }: Unverified): string {
  return cause === "gridTooLarge"
    ? `an indirect dispatch of kernel "${kernel}" has no room for twice its workgroups`
    : `${describeWorkgroup(workgroup)} of kernel "${kernel}" waited too long for its twin`;
}
