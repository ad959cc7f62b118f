/**
 * The WGSL of a code by its rows: each check bit is the parity of the data bits that its masks
 * select.
 */
import type { WrongBits } from "belay-gpu/internal/ecc/correction";
import type { Columns } from "belay-gpu/internal/ecc/linearCode";
import { component, components, wordsType } from "belay-gpu/internal/ecc/words";

/** Returns `encode` and `contribution`. */
export function parityOfMasks(prefix: string, { words, checkBits, columns }: Columns): string {
  const rows = Array.from({ length: checkBits }, (_, row) => {
    const masked = components("data", words).flatMap((word, position) => {
      const mask = maskOf(columns, position, row);
      return mask === 0 ? [] : [`(${word} & 0x${mask.toString(16)}u)`];
    });
    return `countOneBits(${masked.join(" ^ ")})`;
  });
  return `fn ${prefix}encode(data: ${wordsType(words)}) -> u32 {
${gatherParities(rows)}}
${contributionByEncode(prefix, words)}`;
}

/** Returns the bits of one word that a check bit covers. */
function maskOf(columns: Uint32Array, position: number, row: number): number {
  let mask = 0;
  for (let bit = 0; bit < 32; bit++) mask |= ((columns[32 * position + bit]! >>> row) & 1) << bit;
  return mask >>> 0;
}

/**
 * Returns WGSL that locates the wrong bit. A bit is wrong if exactly the check bits of the syndrome
 * cover it.
 */
export function wrongByMasks({ words, checkBits, columns }: Columns): WrongBits {
  const rows = Array.from({ length: checkBits }, (_, row) => row);
  return {
    before: [
      `let known = select(0u, 0xffffffffu, (syndrome >> ${checkBits}u) == 0u);`,
      ...rows.map((row) => `let clear${row} = ((syndrome >> ${row}u) & 1u) - 1u;`),
    ].join("\n  "),
    words: Array.from({ length: words }, (_, position) => {
      const factors = rows.map((row) => `(clear${row} ^ 0x${maskOf(columns, position, row).toString(16)}u)`);
      return ["known", ...factors].join(" & ");
    }),
  };
}

/** Returns statements that return a word of the lowest bits of `counts`. */
export function gatherParities([first, ...others]: readonly string[]): string {
  const inserts = others.map((count, i) => `  check = insertBits(check, ${count}, ${i + 1}u, 1u);\n`);
  return `  var check = ${first} & 1u;
${inserts.join("")}  return check;
`;
}

/**
 * Returns `contribution`: a word's contribution is the check word of a granule whose other words
 * are zero.
 */
export function contributionByEncode(prefix: string, words: number): string {
  const granule =
    words === 1
      ? "  let data = word;\n"
      : `  var data: ${wordsType(words)};\n${Array.from({ length: words }, (_, p) => `  ${component("data", words, p)} = select(0u, word, position == ${p}u);\n`).join("")}`;
  return `fn ${prefix}contribution(position: u32, word: u32) -> u32 {
${granule}  return ${prefix}encode(data);
}
`;
}
