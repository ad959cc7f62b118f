/**
 * Quasi-cyclic codes designed for words. R rotates a word left by one bit. Word w = 4q + r of a
 * granule, rotated to h = R^r w, adds w + R^(2 + q) h + R^16 h to the check word. Smaller granules
 * are the first words of the largest, which has 32.
 *
 * All columns have weight three and are distinct, so single errors are corrected and double errors
 * detected (Hsiao 1970). As R^32 - 1 = (R - 1)^32, a sum of three rotations is invertible: no error
 * within one word stays undetected, whatever bits it has. The choice of 2 and 16 ensures that no
 * error within 16 neighboring bits of a word is mistaken for another.
 */
import { noCorrection, singleErrors, type WrongBits } from "./correction.ts";
import { columnsOf, type HostPasses, type LinearCode } from "./linearCode.ts";
import { vectorPasses } from "./simd/blocks.ts";
import { rotations } from "./simd/rotations.ts";
import { components, wordsType } from "./words.ts";

const near = 2;
const far = 16;

/**
 * Returns a code of 32 check bits for a granule of `words` words. It corrects single errors, or
 * only detects.
 */
export function quasiCyclic(words: 1 | 2 | 4 | 8 | 32, { corrects = true } = {}): LinearCode {
  const columns = columnsOf(words, 32, (position, bit) => contribution(position, 1 << bit));
  return {
    ...columns,
    correction: corrects ? singleErrors(columns, () => wrongByRotations(words)) : noCorrection(columns),
    host: vectorPasses(columns, rotations(words, near, far), words === 1 ? oneWord : granulesOf(words)),
    wgsl: (prefix) => `fn ${prefix}encode(data: ${wordsType(words)}) -> u32 {
${encodeText(words)}
}
fn ${prefix}contribution(position: u32, word: u32) -> u32 {
  let turned = ${rotatedBy("word", "(position & 3u)")};
  return word ^ ${words > 4 ? rotatedBy("turned", `(${near}u + (position >> 2u))`) : rotated("turned", near)} ^ ${rotated("turned", far)};
}
${words > 4 ? quadText(prefix) : ""}`,
  };
}

function contribution(position: number, word: number): number {
  const [toNear, toFar] = distances(position);
  return (word ^ rotate(word, toNear) ^ rotate(word, toFar)) >>> 0;
}

function rotate(word: number, by: number): number {
  return (word << by) | (word >>> (32 - by));
}

/**
 * The passes for one word: loops of straight-line code, which engines run at gigabytes per second.
 */
const oneWord: HostPasses = {
  encode(data, checks) {
    for (let i = 0; i < checks.length; i++) checks[i] = checkOf(data[i]!, data[i]!);
  },
  mismatch(data, checks, from, end) {
    let i = from;
    while (i < end && checkOf(data[i]! ^ checks[i]!, data[i]!) === 0) i += 1;
    return i;
  },
};

function granulesOf(words: number): HostPasses {
  return {
    encode(data, checks) {
      for (let granule = 0; granule < checks.length; granule++)
        checks[granule] = syndrome(data, words, granule, 0);
    },
    mismatch(data, checks, from, end) {
      let granule = from;
      while (granule < end && syndrome(data, words, granule, checks[granule]!) === 0) granule += 1;
      return granule;
    },
  };
}

function syndrome(data: Uint32Array, words: number, granule: number, check: number): number {
  const start = granule * words;
  if (words === 2) {
    const x = data[start]!;
    const y = data[start + 1]!;
    return checkOf(check ^ x ^ y, x ^ rotate(y, 1));
  }
  let sum = check;
  let sumOfTurned = 0;
  for (let quad = 0; 4 * quad < words; quad++) {
    const x = data[start + 4 * quad]!;
    const y = data[start + 4 * quad + 1]!;
    const z = data[start + 4 * quad + 2]!;
    const w = data[start + 4 * quad + 3]!;
    const turned = x ^ rotate(y, 1) ^ rotate(z, 2) ^ rotate(w, 3);
    sum ^= x ^ y ^ z ^ w ^ rotate(turned, near + quad);
    sumOfTurned ^= turned;
  }
  return sum ^ rotate(sumOfTurned, far);
}

/**
 * Returns the check word of up to four words, from their sum and from the sum of the rotated words.
 */
function checkOf(sum: number, turned: number): number {
  return sum ^ rotate(turned, near) ^ rotate(turned, far);
}

function encodeText(words: number): string {
  const each = components("data", words);
  const quads = Array.from({ length: Math.ceil(words / 4) }, (_, q) => each.slice(4 * q, 4 * q + 4));
  const turned = quads.map((quad, q) => `  let turned${q} = ${quad.map(rotated).join(" ^ ")};`);
  const names = quads.map((_, q) => `turned${q}`);
  return `${turned.join("\n")}
  let sumOfTurned = ${names.join(" ^ ")};
  return ${each.join(" ^ ")} ^ ${names.map((name, q) => rotated(name, near + q)).join(" ^ ")} ^ ${rotated("sumOfTurned", far)};`;
}

function quadText(prefix: string): string {
  const each = components("data", 4);
  return `fn ${prefix}quad(place: u32, data: vec4<u32>) -> u32 {
  let turned = ${each.map(rotated).join(" ^ ")};
  return ${each.join(" ^ ")} ^ ${rotatedBy("turned", `(${near}u + place)`)} ^ ${rotated("turned", far)};
}
`;
}

/**
 * Returns WGSL that locates the wrong bit: of three set bits, the one from which the others have
 * the distances of a word's columns.
 */
function wrongByRotations(words: number): WrongBits {
  return {
    before: "let three = select(0u, syndrome, weight == 3u);",
    words: Array.from({ length: words }, (_, position) => {
      const [toNear, toFar] = distances(position);
      return `three & ${rotated("three", 32 - toNear)} & ${rotated("three", 32 - toFar)}`;
    }),
    ...(words > 4 && {
      any: `three & ${rotatedBy("three", `(${32 - near}u - (position & 3u) - (position >> 2u))`)} & ${rotatedBy("three", `(${32 - far}u - (position & 3u))`)}`,
    }),
  };
}

/** Returns the distances from a bit of a word to the other bits of its column. */
function distances(position: number): [number, number] {
  return [(position & 3) + near + (position >>> 2), (position & 3) + far];
}

/**
 * Returns a rotation in a form that compilers recognize. Many devices have an instruction for it.
 */
function rotated(word: string, by: number): string {
  return by === 0 ? word : `((${word} << ${by}u) | (${word} >> ${32 - by}u))`;
}

/** Returns a rotation by an amount below 32, perhaps zero, that is known at run time only. */
function rotatedBy(word: string, by: string): string {
  return `((${word} << ${by}) | (${word} >> ((32u - ${by}) & 31u)))`;
}
