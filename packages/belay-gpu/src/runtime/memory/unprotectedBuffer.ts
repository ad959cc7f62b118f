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
  mappedAndBound: ["buffer-mapped-and-bound", "its usage lets shaders use it and the host map it"],
  tooLarge: ["buffer-too-large", "with padding and check words, it would exceed the device's maxBufferSize"],
  arenaIsFull: [
    "check-words-full",
    "the check words of all buffers would exceed the device's maxStorageBufferBindingSize",
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
