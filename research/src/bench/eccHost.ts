/** What the host's side of a code does per second, on one core. */

import { hostCodeOf, type MemoryCode } from "belay-gpu/internal/codes/scheme";
import { median } from "simple-statistics";

/** Bytes of data per second. */
export interface HostRates {
  readonly encode: number;
  readonly verify: number;
}

/** Words that differ; a loop, as `Uint32Array.from` takes many times as long. */
export function anyWords(bytes: number): Uint32Array<ArrayBuffer> {
  const words = new Uint32Array(bytes / 4);
  for (let i = 0; i < words.length; i++) words[i] = Math.imul(i + 1, 0x9e3779b9);
  return words;
}

/**
 * Times encoding and verifying of `bytes` bytes, a whole number of granules; the first of `runs +
 * 1` runs does not count.
 */
export function measureHostRates(name: MemoryCode, bytes: number, runs: number): HostRates {
  const scheme = hostCodeOf(name);
  const data = anyWords(bytes);
  const checks = new Uint32Array(
    Math.ceil(bytes / scheme.granuleBytes) * scheme.checkWords || scheme.checkWords,
  );
  const rate = (work: () => void) => {
    const seconds = Array.from({ length: runs + 1 }, () => {
      const start = performance.now();
      work();
      return (performance.now() - start) / 1000;
    });
    return bytes / median(seconds.slice(1));
  };
  return {
    encode: rate(() => scheme.encode(data, checks)),
    verify: rate(() => {
      const { corrected, uncorrectable } = scheme.verify(data, checks);
      if (corrected > 0 || uncorrectable.length > 0)
        throw new Error(`${name} finds errors where there are none`);
    }),
  };
}
