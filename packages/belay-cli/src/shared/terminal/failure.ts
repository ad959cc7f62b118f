import { BelayError } from "belay-gpu/internal/diagnostics/belayError";

/** An error that ends a command with one message. */
export class CommandFailure extends BelayError {
  override readonly name = "CommandFailure";
}

/** The exit status of a command. */
export const exitStatus = {
  ok: 0,
  /** What the command found is bad, or it could not be carried out. */
  failed: 1,
  /** The command line itself is wrong. */
  usage: 2,
} as const;
