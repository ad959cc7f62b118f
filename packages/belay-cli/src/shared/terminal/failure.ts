import { BelayError, type BelayErrorOptions } from "belay-gpu/internal/diagnostics/belayError";

/** Why a command could not do what it was asked to; docs/diagnostics.md explains each code. */
export type FailureCode =
  | "BELAY400" // wrong use of the command line
  | "BELAY401" // unreadable input
  | "BELAY402" // empty input
  | "BELAY403" // input that is not text
  | "BELAY404" // input that is too large
  | "BELAY405" // unwritable output
  | "BELAY406" // a module that cannot be loaded
  | "BELAY407" // a module that exports no workload
  | "BELAY408" // a workload that threw, or gave no results
  | "BELAY409" // an adapter that cannot do what the command needs
  | "BELAY410" // a workload that ended its process, or did not end in time
  | "BELAY411"; // a package that is not installed

/** An error that ends a command with one message. */
export class CommandFailure extends BelayError {
  override readonly name = "CommandFailure";
  declare readonly code: FailureCode;

  constructor(code: FailureCode, message: string, options?: BelayErrorOptions) {
    super(code, message, options);
  }
}

/** The exit status of a command. */
export const exitStatus = {
  ok: 0,
  /** What the command found is bad, or it could not be carried out. */
  failed: 1,
  /** The command line itself is wrong. */
  usage: 2,
} as const;
