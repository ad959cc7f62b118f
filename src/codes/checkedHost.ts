/** The host's side of a scheme: fast passes over all granules, and correction where they disagree. */
import { checkWord, type LinearCode, type Locate } from "./linearCode.ts";
import type { MemoryScheme, Verification } from "./scheme.ts";

/** The passes that have to be fast. */
export interface HostPasses {
  encode(data: Uint32Array, checks: Uint32Array): void;
  /** The first granule at or after `from` that disagrees with its check word, or the number of granules. */
  mismatch(data: Uint32Array, checks: Uint32Array, from: number): number;
}

export function checkedHost(
  code: LinearCode,
  locate: Locate,
  { encode, mismatch }: HostPasses,
): Pick<MemoryScheme, "encode" | "verify"> {
  function demandWhole(data: Uint32Array, checks: Uint32Array): void {
    if (data.length !== checks.length * code.words)
      throw new RangeError(`${data.length} words of data do not fit ${checks.length} check words`);
  }
  function verify(data: Uint32Array, checks: Uint32Array): Verification {
    demandWhole(data, checks);
    let corrected = 0;
    const uncorrectable: number[] = [];
    for (let at = mismatch(data, checks, 0); at < checks.length; at = mismatch(data, checks, at + 1)) {
      const bit = locate((checkWord(code, data, at) ^ checks[at]!) >>> 0);
      if (bit === undefined) uncorrectable.push(at);
      else {
        corrected += 1;
        if (bit < code.columns.length) data[at * code.words + (bit >>> 5)]! ^= 1 << (bit & 31);
        else checks[at]! ^= 1 << (bit - code.columns.length);
      }
    }
    return { corrected, uncorrectable };
  }
  return {
    encode(data, checks) {
      demandWhole(data, checks);
      encode(data, checks);
    },
    verify,
  };
}
