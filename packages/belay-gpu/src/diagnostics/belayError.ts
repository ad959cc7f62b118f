import { codeOf, type DiagnosticName } from "./registry.ts";

/** The parts of a `BelayError` besides its code and message. */
export interface BelayErrorOptions extends ErrorOptions {
  readonly help?: string | undefined;
}

/**
 * The base of all errors of Belay's packages. Arguments of a wrong type are rejected with a
 * `TypeError` instead, as WebGPU does.
 */
export class BelayError extends Error {
  /** The name of the error's class. */
  override readonly name: string = "BelayError";
  /** The stable code, such as `BELAY320`. docs/reference/diagnostics.md explains each. */
  readonly code: string;
  /** A suggestion for the reader. */
  readonly help?: string;

  constructor(diagnostic: DiagnosticName, message: string, { help, ...options }: BelayErrorOptions = {}) {
    super(message, options);
    this.code = codeOf(diagnostic);
    if (help !== undefined) this.help = help;
  }
}
