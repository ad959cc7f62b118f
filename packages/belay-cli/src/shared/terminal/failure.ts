import { BelayError } from "belay-gpu/internal/diagnostics/belayError";

/** An error that ends a command with one message. */
export class CommandFailure extends BelayError {
  override readonly name = "CommandFailure";
}

/** The exit statuses of commands. */
export const exitStatus = {
  ok: 0,
  /** The status of a command that failed or found something bad. */
  failed: 1,
  /** The status of a wrong command line. */
  usage: 2,
} as const;
