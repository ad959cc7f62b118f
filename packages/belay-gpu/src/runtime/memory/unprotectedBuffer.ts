import { BelayError } from "../../diagnostics/belayError.ts";
import type { Unprotected } from "./protectedBuffers.ts";

/** A buffer without check words, with the diagnostic that says why. */
export interface UnprotectedBuffer {
  readonly buffer: string;
  readonly size: number;
  readonly code: string;
  readonly message: string;
}

const reasons: Readonly<Record<Unprotected, readonly [code: string, why: string]>> = {
  mappedAndBound: ["BELAY333", "shaders can use it while it can be mapped"],
  tooLarge: ["BELAY334", "the device allows no buffer that is as large as it is with whole granules"],
  arenaIsFull: ["BELAY335", "the device allows no storage buffer that holds the check words of all buffers"],
};

export function describeUnprotected({ label, size }: GPUBuffer, reason: Unprotected): UnprotectedBuffer {
  const [code, why] = reasons[reason];
  return { buffer: label, size, code, message: `buffer "${label}" has no check words: ${why}` };
}

/** An error in strict mode: a new buffer cannot have check words. */
export class UnprotectedBufferError extends BelayError {
  override readonly name = "UnprotectedBufferError";

  constructor({ code, message }: UnprotectedBuffer) {
    super(code, message);
  }
}
