/** What to do about a syndrome: correct the one wrong bit that explains it, or nothing. */
import type { Columns, Correction } from "./linearCode.ts";
import { components, wordsType } from "./words.ts";

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
  const attempt = (
    position: string,
    target: string,
  ) => `if (${prefix}contribution(${position}, bit) == syndrome) {
      ${target} ^= bit;
      return ${prefix}Corrected(fixed, 1u);
    }`;
  // Vectors stay in registers where their components have names.
  const attempts =
    words > 4
      ? `for (var i = 0u; i < ${words}u; i++) { ${attempt("i", "fixed[i >> 2u][i & 3u]")} }`
      : components("fixed", words)
          .map((target, position) => attempt(`${position}u`, target))
          .join("\n    ");
  return `${correctedStruct(prefix, words)}
fn ${prefix}correct(data: ${wordsType(words)}, syndrome: u32) -> ${prefix}Corrected {
  if (countOneBits(syndrome) < 2u) {
    return ${prefix}Corrected(data, countOneBits(syndrome));
  }
  var fixed = data;
  for (var bit = 1u; bit != 0u; bit <<= 1u) {
    ${attempts}
  }
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
