/**
 * What the compiler and the runtime know of a code: the memory it covers, its host side, and its
 * WGSL.
 */
import { checksumOf, checksumWords } from "./checksum.ts";
import { checkWord, type LinearCode } from "./linearCode.ts";
import { quasiCyclic } from "./quasiCyclic.ts";
import { wordsType } from "./words.ts";

/** What `verify` found. */
export interface Verification {
  /** Bits put right, in data or in check words. */
  readonly corrected: number;
  /**
   * The granules that have more errors than the code corrects, in ascending order; they are left as
   * they were.
   */
  readonly uncorrectable: readonly number[];
}

/** What the host does by a code. */
export interface HostCode {
  /** Bytes of data that a check belongs to; infinity where it is all of a buffer. */
  readonly granuleBytes: number;
  /** The words of a check. */
  readonly checkWords: number;
  /**
   * Writes the check of each granule of `data`, which holds whole granules.
   * @throws RangeError where data and checks don't fit.
   */
  encode(data: Uint32Array, checks: Uint32Array): void;
  /**
   * Corrects `data` and `checks` in place.
   * @throws RangeError where data and checks don't fit.
   */
  verify(data: Uint32Array, checks: Uint32Array): Verification;
}

/**
 * A code together with its granule: the bytes of data that one check word, a `u32`, belongs to.
 * Every code is linear over GF(2): the check word of a granule is the XOR of a contribution of each
 * of its words, so zero data has a zero check word, and a partial store may update it by `check ^=
 * contribution(position, old ^ new)`.
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
   * Whether one wrong bit in a granule or in its check word is corrected; otherwise it is only
   * noticed.
   */
  readonly corrects: boolean;
  /** Bits of the check word that the code uses; the others are zero. */
  readonly checkBits: number;
  /**
   * Declarations of WGSL, each name with `prefix` before it, where `W` is `granuleType`:
   *
   * - `fn encode(data: W) -> u32`
   * - `fn contribution(position: u32, word: u32) -> u32`, of one word of the granule
   * - `fn quad(place: u32, data: vec4<u32>) -> u32`, what four words contribute from `4 * place`
   *   on, where there are more
   * - `fn syndrome(data: W, check: u32) -> u32`, zero where all is well
   * - `fn correct(data: W, syndrome: u32) -> Corrected`, of `struct Corrected { data: W, status:
   *   u32 }` with `status` 0 for a syndrome of zero, 1 for an error that is corrected (it may be in
   *   the check word), 2 for an uncorrectable one
   */
  wgsl(prefix: string): string;
  /**
   * What goes with that where invocations have parts of a granule: `fn wrong(position: u32,
   * syndrome: u32) -> u32`, the bits of one word that are wrong, and `fn status(syndrome: u32) ->
   * u32`.
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
} satisfies Record<string, LinearCode>;

/**
 * How memory is coded: a code, and the granule of data that one check word belongs to (4, 8 and 16
 * bytes for `"secded32"`, `"secded64"` and `"secded128"`).
 */
export type SchemeName = keyof typeof codes;

/**
 * What memory can be protected by: a code with check words, or a checksum of each whole buffer
 * (`checksum.ts`).
 */
export type MemoryCode = SchemeName | "checksum";

/** Schemes by name: those that a device has. */
export type Schemes = Readonly<Record<string, MemoryScheme>>;

/** All schemes by the names that policies use. */
export const schemes = Object.fromEntries(
  Object.entries(codes).map(([name, code]) => [name, memoryScheme(name, code)]),
) as Readonly<Record<SchemeName, MemoryScheme>>;

/** Returns the scheme of a code that has check words. */
export function schemeOf(code: string, among: Schemes = schemes): MemoryScheme {
  const scheme = Object.hasOwn(among, code) ? among[code] : undefined;
  if (!scheme) throw new Error(`${code} has no check words`);
  return scheme;
}

/** Returns what the host does by a code. */
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

/** The names of all that memory can be protected by. */
export const memoryCodes: readonly MemoryCode[] = [...(Object.keys(codes) as SchemeName[]), "checksum"];

/** Returns the bytes of check words for each byte of data; a checksum takes eight for a buffer. */
export const storageOf = (code: string, among: Schemes = schemes): number =>
  code === "checksum" ? 0 : 4 / schemeOf(code, among).granuleBytes;

/** Returns whether errors are corrected, not only noticed. */
export const corrects = (code: string, among: Schemes = schemes): boolean =>
  code !== "checksum" && schemeOf(code, among).corrects;

/** What follows for everyone from a code. */
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
