/**
 * Quasi-cyclic codes of odd column weight, made for words: where R rotates a word left by one bit, the check word is the sum
 * of all words w[p] and of R^2 h and R^16 h, with h the sum of R^p w[p].
 *
 * So each bit of word p has a column of three bits, at distances 0, 2 + p and 16 + p from its own. They are distinct, and odd
 * as are those of the check bits, hence single errors are corrected and double errors flagged (Hsiao 1970). A sum of three
 * rotations is invertible, as R^32 - 1 = (R - 1)^32, hence no error within one word goes unnoticed, however many bits it has.
 */
import { checkedHost } from "./checkedHost.ts";
import { linearCode, locateNothing, locator } from "./linearCode.ts";
import type { MemoryScheme, SchemeName } from "./scheme.ts";
import { component, correctNothing, correctSingle, wordsType } from "./wgslText.ts";

const near = 2;
const far = 16;

/** `words` is at most 8: at 12 more, columns would repeat. */
export function quasiCyclic(name: SchemeName, words: 1 | 2 | 4 | 8, { corrects = true } = {}): MemoryScheme {
  const code = linearCode(words, 32, (position, bit) => check(1 << bit, rotate(1 << bit, position)) >>> 0);
  return {
    name,
    granuleBytes: (4 * words) as MemoryScheme["granuleBytes"],
    corrects,
    checkBits: code.checkBits,
    ...checkedHost(code, corrects ? locator(code) : locateNothing, {
      encode(data, checks) {
        for (let granule = 0, end = 0; granule < checks.length; granule++) {
          let sum = 0;
          let turned = 0;
          const start = end;
          end += words;
          for (let i = end - 1; i >= start; i--) {
            const word = data[i]!;
            sum ^= word;
            turned = ((turned << 1) | (turned >>> 31)) ^ word;
          }
          checks[granule] = check(sum, turned);
        }
      },
      mismatch(data, checks, from) {
        for (let granule = from, end = from * words; granule < checks.length; granule++) {
          let sum = checks[granule]!;
          let turned = 0;
          const start = end;
          end += words;
          for (let i = end - 1; i >= start; i--) {
            const word = data[i]!;
            sum ^= word;
            turned = ((turned << 1) | (turned >>> 31)) ^ word;
          }
          if (check(sum, turned) !== 0) return granule;
        }
        return checks.length;
      },
    }),
    wgsl: (prefix) => wgsl(prefix, words) + (corrects ? correctSingle : correctNothing)(prefix, words),
  };
}

function rotate(word: number, by: number): number {
  return by === 0 ? word : (word << by) | (word >>> (32 - by));
}

/** The check word of words whose sum is `sum` and whose sum after turning each by its position is `turned`. */
function check(sum: number, turned: number): number {
  return sum ^ ((turned << near) | (turned >>> (32 - near))) ^ ((turned << far) | (turned >>> (32 - far)));
}

function wgsl(prefix: string, words: number): string {
  const type = wordsType(words);
  const each = Array.from({ length: words }, (_, p) => component("data", words, p));
  const turned = each.map((word, p) => rotated(word, p)).join(" ^ ");
  const sum = each.join(" ^ ");
  const checks = (h: string) => `${rotated(h, near)} ^ ${rotated(h, far)}`;
  return `fn ${prefix}encode(data: ${type}) -> u32 {
  let turned = ${turned};
  return ${sum} ^ ${checks("turned")};
}
fn ${prefix}syndrome(data: ${type}, check: u32) -> u32 {
  let turned = ${turned};
  return ${sum} ^ check ^ ${checks("turned")};
}
fn ${prefix}contribution(position: u32, word: u32) -> u32 {
  let turned = (word << position) | (word >> ((32u - position) & 31u));
  return word ^ ${checks("turned")};
}
`;
}

/** Compilers know this form of a rotation; many devices have an instruction for it. */
function rotated(word: string, by: number): string {
  return by === 0 ? word : `((${word} << ${by}u) | (${word} >> ${32 - by}u))`;
}
