/** The reaction to a syndrome: to correct the one wrong bit that explains it, or nothing. */
import type { CodeCorrection, Columns } from "./linearCode.ts";
import { components, construct, wordsType } from "./words.ts";

/**
 * WGSL that finds the wrong bit of data from `syndrome` and its `weight`, the number of set bits.
 */
export interface WrongBits {
  /** The statements that come first. */
  readonly before: string;
  /**
   * The expressions, one per word, with the wrong bit set. They are zero if no single wrong bit
   * explains the syndrome.
   */
  readonly words: readonly string[];
  /**
   * The expression for the word at `position`, which is known at run time only. Set for granules of
   * many words.
   */
  readonly any?: string;
}

/**
 * Returns the correction of single errors. The code's columns must be distinct, and none may be
 * that of a check bit. Two wrong bits must not look like one.
 */
export function singleErrors({ words, columns }: Columns, wrongBits: () => WrongBits): CodeCorrection {
  let places: Map<number, number> | undefined;
  return {
    corrects: true,
    locate(syndrome) {
      places ??= placesOf(columns);
      const place = places.get(syndrome);
      return place === undefined ? undefined : [place];
    },
    wgsl: (prefix) => correctText(prefix, words, wrongBits()),
    wgslOfParts: (prefix) => {
      const { before, any } = wrongBits();
      return any ? wordByWord(prefix, words, before, any) : fromAll(prefix, words);
    },
  };
}

/** Returns the index of the wrong bit by syndrome. */
function placesOf(columns: Uint32Array): Map<number, number> {
  const places = new Map<number, number>();
  for (const [place, column] of columns.entries()) places.set(column, place);
  for (let bit = 0; bit < 32; bit++) places.set((1 << bit) >>> 0, columns.length + bit);
  return places;
}

/**
 * Returns `correct`, without branches and loops. Loads may then call it without a test, and do not
 * wait for each other.
 */
function correctText(prefix: string, words: number, wrong: WrongBits): string {
  const lets = wrong.words.map((word, position) => `  let wrong${position} = ${word};\n`).join("");
  const corrected = components("data", words).map((word, position) => `${word} ^ wrong${position}`);
  const found = wrong.words.map((_, position) => `wrong${position}`).join(" | ");
  return `${correctedStruct(prefix, words)}
fn ${prefix}correct(data: ${wordsType(words)}, syndrome: u32) -> ${prefix}Corrected {
  let weight = countOneBits(syndrome);
  ${wrong.before}
${lets}  let status = select(2u, min(weight, 1u), weight < 2u || (${found}) != 0u);
  return ${prefix}Corrected(${construct(words, corrected)}, status);
}
`;
}

/** Returns `wrong` and `status` for granules of many words, which would fill the registers. */
function wordByWord(prefix: string, words: number, before: string, any: string): string {
  return `fn ${prefix}wrong(position: u32, syndrome: u32) -> u32 {
  let weight = countOneBits(syndrome);
  ${before}
  return ${any};
}
fn ${prefix}status(syndrome: u32) -> u32 {
  let weight = countOneBits(syndrome);
  var found = 0u;
  for (var position = 0u; position < ${words}u; position++) { found |= ${prefix}wrong(position, syndrome); }
  return select(2u, min(weight, 1u), weight < 2u || found != 0u);
}
`;
}

/** Returns `wrong` and `status`, which call `correct` with zero data. */
export function fromAll(prefix: string, words: number): string {
  const type = wordsType(words);
  const wrong = `${prefix}correct(${type}(), syndrome).data`;
  const word =
    words === 1 ? wrong : words <= 4 ? `${wrong}[position]` : `${wrong}[position / 4u][position % 4u]`;
  return `fn ${prefix}wrong(position: u32, syndrome: u32) -> u32 {
  return ${word};
}
fn ${prefix}status(syndrome: u32) -> u32 {
  return ${prefix}correct(${type}(), syndrome).status;
}
`;
}

/** Returns a correction that corrects nothing. Re-execution replaces the wrong data. */
export function noCorrection({ words }: Columns): CodeCorrection {
  return {
    corrects: false,
    locate: () => undefined,
    wgsl: (prefix) => `${correctedStruct(prefix, words)}
fn ${prefix}correct(data: ${wordsType(words)}, syndrome: u32) -> ${prefix}Corrected {
  return ${prefix}Corrected(data, select(0u, 2u, syndrome != 0u));
}
`,
    wgslOfParts: (prefix) => fromAll(prefix, words),
  };
}

export function correctedStruct(prefix: string, words: number): string {
  return `struct ${prefix}Corrected { data: ${wordsType(words)}, status: u32 }`;
}
