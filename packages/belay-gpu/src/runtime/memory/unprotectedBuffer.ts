import { BelayError } from "../../diagnostics/belayError.ts";
import { codeOf, type DiagnosticName, nameOf } from "../../diagnostics/registry.ts";
import type { Unprotected } from "./protectedBuffers.ts";

/** A buffer without check words, with the diagnostic that says why. */
export interface UnprotectedBuffer {
  /** The label of the buffer. */
  readonly buffer: string;
  /** The size in bytes. */
  readonly size: number;
  /** The stable code of the reason, such as `BELAY333`. */
  readonly code: string;
  /** The reason, as one sentence. */
  readonly message: string;
}

const reasons: Readonly<Record<Unprotected, readonly [name: DiagnosticName, why: string]>> = {
  mappedAndBound: ["buffer-mapped-and-bound", "shaders can use it while it can be mapped"],
  tooLarge: ["buffer-too-large", "the device allows no buffer that is as large as it is with whole granules"],
  arenaIsFull: [
    "check-words-full",
    "the device allows no storage buffer that holds the check words of all buffers",
  ],
};

export function describeUnprotected({ label, size }: GPUBuffer, reason: Unprotected): UnprotectedBuffer {
  const [name, why] = reasons[reason];
  return { buffer: label, size, code: codeOf(name), message: `buffer "${label}" has no check words: ${why}` };
}

/** An error in strict mode: a new buffer cannot have check words. */
export class UnprotectedBufferError extends BelayError {
  override readonly name = "UnprotectedBufferError";

  constructor({ code, message }: UnprotectedBuffer) {
    super(nameOf(code)!, message);
  }
}
