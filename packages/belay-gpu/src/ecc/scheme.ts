/**
 * The properties of codes that the compiler and the runtime share: granules, host functions and
 * WGSL.
 */
import { checksumOf, checksumWords } from "./checksum.ts";
import { checkWord, type LinearCode } from "./linearCode.ts";
import { quasiCyclic } from "./quasiCyclic.ts";
import { wordsType } from "./words.ts";

/** The result of `verify`. */
export interface Verification {
  /** The number of corrected bits, in data or in check words. */
  readonly corrected: number;
  /**
   * The granules that have more errors than the code corrects, in ascending order. They stay
   * unchanged.
   */
  readonly uncorrectable: readonly number[];
}

/** The functions and sizes of a code that the host uses. */
export interface HostCode {
  /** The bytes of data that one check covers. Infinity if one check covers a whole buffer. */
  readonly granuleBytes: number;
  /** The number of words of a check. */
  readonly checkWords: number;
  /**
   * Writes the check of each granule of `data`, which holds whole granules.
   * @throws RangeError if the checks do not fit the size of the data.
   */
  encode(data: Uint32Array, checks: Uint32Array): void;
  /**
   * Corrects `data` and `checks` in place.
   * @throws RangeError if a scheme's check words do not fit the size of the data.
   */
  verify(data: Uint32Array, checks: Uint32Array): Verification;
}

/**
 * A code together with its granule: the bytes of data that one check word, a `u32`, covers. Every
 * code is linear over GF(2). The check word of a granule is the XOR of one contribution per word.
 * Zero data thus has a zero check word. A partial store may update the check word by
 * `check ^= contribution(position, old ^ new)`.
 */
export interface MemoryScheme extends HostCode {
  readonly name: string;
  readonly granuleBytes: 4 | 8 | 16 | 32 | 128;
  /**
   * The WGSL type of the data of a granule: `u32`, `vec2<u32>`, `vec4<u32>`, or an array of
   * `vec4<u32>`.
   */
  readonly granuleType: string;
  /**
   * True if the code corrects one wrong bit in a granule or in its check word. Otherwise the code
   * only detects the bit.
   */
  readonly corrects: boolean;
  /** The number of check bits that the code uses. The other bits of the check word are zero. */
  readonly checkBits: number;
  /**
   * Returns WGSL declarations, each with `prefix` before its name. The type `W` is `granuleType`.
   *
   * - `fn encode(data: W) -> u32`
   * - `fn contribution(position: u32, word: u32) -> u32`, for one word of the granule
   * - `fn quad(place: u32, data: vec4<u32>) -> u32`, for four words, of which the first is word
   *   `4 * place`. Only granules of more than four words have it.
   * - `fn syndrome(data: W, check: u32) -> u32`, zero if the granule is intact
   * - `fn correct(data: W, syndrome: u32) -> Corrected`, with
   *   `struct Corrected { data: W, status: u32 }`. The status is 0 for a syndrome of zero, 1 for a
   *   corrected error, and 2 for an uncorrectable error. A corrected error may be in the check
   *   word.
   */
  wgsl(prefix: string): string;
  /**
   * Returns WGSL declarations for invocations that have only parts of a granule. They need the
   * declarations of `wgsl`.
   *
   * - `fn wrong(position: u32, syndrome: u32) -> u32`, the wrong bits of one word
   * - `fn status(syndrome: u32) -> u32`, the status that `correct` returns
   */
  wgslOfParts(prefix: string): string;
}

const codes = {
  secded32: quasiCyclic(1),
  secded64: quasiCyclic(2),
  secded128: quasiCyclic(4),
  secded256: quasiCyclic(8),
  secded1024: quasiCyclic(32),
  detect: quasiCyclic(4, { corrects: false }),
  detect256: quasiCyclic(8, { corrects: false }),
  detect1024: quasiCyclic(32, { corrects: false }),
} satisfies Record<SchemeName, LinearCode>;

/** The name of a code that has check words. */
export type SchemeName = Exclude<MemoryCode, "checksum">;

/**
 * The name of a memory protection: a code with check words, or a checksum of each whole buffer. The
 * number in a name is that of the bits in a granule, the data that one check word covers. The
 * granules of `"detect"` have 128.
 *
 * `"secded…"` corrects one wrong bit of a granule and detects two. The others only detect errors.
 */
export type MemoryCode =
  | "secded32"
  | "secded64"
  | "secded128"
  | "secded256"
  | "secded1024"
  | "detect"
  | "detect256"
  | "detect1024"
  | "checksum";

/** The schemes of a device, by name. */
export type Schemes = Readonly<Record<string, MemoryScheme>>;

/** All schemes by the names that policies use. */
export const schemes = Object.fromEntries(
  Object.entries(codes).map(([name, code]) => [name, memoryScheme(name, code)]),
) as Readonly<Record<SchemeName, MemoryScheme>>;

/** Returns the scheme of a code that has check words. Throws an error for any other code. */
export function schemeOf(code: string, among: Schemes = schemes): MemoryScheme {
  const scheme = Object.hasOwn(among, code) ? among[code] : undefined;
  if (!scheme) throw new Error(`${code} has no check words`);
  return scheme;
}

/** Returns the host's side of a code. */
export const hostCodeOf = (code: string, among: Schemes = schemes): HostCode =>
  code === "checksum" ? checksumCode : schemeOf(code, among);

const checksumCode: HostCode = {
  granuleBytes: Number.POSITIVE_INFINITY,
  checkWords: checksumWords,
  encode(data, checks) {
    if (checks.length !== checksumWords) throw new RangeError("a checksum takes two words");
    checks.set(checksumOf(data));
  },
  verify(data, checks) {
    const isRight = checksumOf(data).every((sum, i) => sum === checks[i]);
    return { corrected: 0, uncorrectable: isRight ? [] : [0] };
  },
};

/** The names of all codes that can protect memory. */
export const memoryCodes: readonly MemoryCode[] = [...(Object.keys(codes) as SchemeName[]), "checksum"];

/**
 * Returns the bytes of check words for each byte of data. Returns 0 for a checksum, which takes
 * eight bytes for a whole buffer.
 */
export const storageOf = (code: string, among: Schemes = schemes): number =>
  code === "checksum" ? 0 : 4 / schemeOf(code, among).granuleBytes;

/** Returns true if the code corrects errors. Other codes only detect them. */
export const corrects = (code: string, among: Schemes = schemes): boolean =>
  code !== "checksum" && schemeOf(code, among).corrects;

/** Returns the scheme of a linear code. The host's functions check the sizes of their arguments. */
export function memoryScheme(name: string, code: LinearCode): MemoryScheme {
  const { words, checkBits, columns, host, correction } = code;
  const demandWhole = (data: Uint32Array, checks: Uint32Array) => {
    if (data.length !== checks.length * words)
      throw new RangeError(`${data.length} words of data do not fit ${checks.length} check words of ${name}`);
  };
  return {
    name,
    granuleBytes: (4 * words) as MemoryScheme["granuleBytes"],
    checkWords: 1,
    granuleType: wordsType(words),
    corrects: correction.corrects,
    checkBits,
    encode(data, checks) {
      demandWhole(data, checks);
      host.encode(data, checks);
    },
    verify(data, checks) {
      demandWhole(data, checks);
      let corrected = 0;
      const uncorrectable: number[] = [];
      const end = checks.length;
      for (let at = host.mismatch(data, checks, 0, end); at < end; ) {
        const wrong = correction.locate((checkWord(code, data, at) ^ checks[at]!) >>> 0);
        if (wrong === undefined) uncorrectable.push(at);
        for (const bit of wrong ?? []) {
          if (bit < columns.length) data[at * words + (bit >>> 5)]! ^= 1 << (bit & 31);
          else checks[at]! ^= 1 << (bit - columns.length);
          corrected += 1;
        }
        at = host.mismatch(data, checks, at + 1, end);
      }
      return { corrected, uncorrectable };
    },
    wgsl: (
      prefix,
    ) => `${code.wgsl(prefix)}fn ${prefix}syndrome(data: ${wordsType(words)}, check: u32) -> u32 {
  return ${prefix}encode(data) ^ check;
}
${correction.wgsl(prefix)}`,
    wgslOfParts: (prefix) => correction.wgslOfParts(prefix),
  };
}
