/** The parts of a `BelayError` besides its code and message. */
export interface BelayErrorOptions extends ErrorOptions {
  readonly help?: string | undefined;
}

/**
 * The base of all errors of Belay's packages. Arguments of a wrong type are refused with a
 * `TypeError` instead, as WebGPU does.
 */
export class BelayError extends Error {
  override readonly name: string = "BelayError";
  /** Stable number such as `BELAY320`; docs/diagnostics.md explains each. */
  readonly code: string;
  /** Says what the reader can do about the error. */
  readonly help?: string;

  constructor(code: string, message: string, { help, ...options }: BelayErrorOptions = {}) {
    super(message, options);
    this.code = code;
    if (help !== undefined) this.help = help;
  }
}
