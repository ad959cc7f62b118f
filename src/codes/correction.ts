/** What to do about a syndrome: correct the one wrong bit that explains it, or nothing. */
import type { Columns, Correction } from "./linearCode.ts";
import { component, wordsType } from "./words.ts";

/** For codes with distinct columns, none of them that of a check bit. Two wrong bits must not look like one. */
export function singleErrors({ words, columns }: Columns): Correction {
  const places = new Map<number, number>();
  for (const [place, column] of columns.entries()) places.set(column, place);
  for (let bit = 0; bit < 32; bit++) places.set((1 << bit) >>> 0, columns.length + bit);
  return {
    locate(syndrome) {
      const place = places.get(syndrome);
      return place === undefined ? undefined : [place];
    },
    wgsl: (prefix) => searchText(prefix, words),
  };
}

/** The wrong bit of data is the one whose contribution is the syndrome; it is searched for, as that is rarely needed. */
function searchText(prefix: string, words: number): string {
  const attempts = Array.from(
    { length: words },
    (_, position) => `    if (${prefix}contribution(${position}u, bit) == syndrome) {
      ${component("fixed", words, position)} ^= bit;
      return ${prefix}Corrected(fixed, 1u);
    }
`,
  );
  return `${correctedStruct(prefix, words)}
fn ${prefix}correct(data: ${wordsType(words)}, syndrome: u32) -> ${prefix}Corrected {
  if (countOneBits(syndrome) < 2u) {
    return ${prefix}Corrected(data, countOneBits(syndrome));
  }
  var fixed = data;
  for (var bit = 1u; bit != 0u; bit <<= 1u) {
${attempts.join("")}  }
  return ${prefix}Corrected(data, 2u);
}
`;
}

/** Leaves all errors to others, which run the work again. */
export function noCorrection({ words }: Columns): Correction {
  return {
    locate: () => undefined,
    wgsl: (prefix) => `${correctedStruct(prefix, words)}
fn ${prefix}correct(data: ${wordsType(words)}, syndrome: u32) -> ${prefix}Corrected {
  return ${prefix}Corrected(data, select(0u, 2u, syndrome != 0u));
}
`,
  };
}

export function correctedStruct(prefix: string, words: number): string {
  return `struct ${prefix}Corrected { data: ${wordsType(words)}, status: u32 }`;
}
