/**
 * A (138,128) code that folds the four words first. A column has two parts. An even number of six
 * bits tells the bit of the word, and three of four bits tell the word. So columns are odd,
 * distinct, and have a weight of at least three. The six bits are computed from the sum of the
 * words, each of the four from the sum of all words but one.
 */

import { singleErrors } from "belay-gpu/internal/ecc/correction";
import { columnsOf, type LinearCode } from "belay-gpu/internal/ecc/linearCode";
import { tablePasses } from "./byteTables.ts";
import { contributionByEncode, gatherParities, wrongByMasks } from "./parityOfMasks.ts";

/** The masks of the six bits. Bits 0 to 4 are the index of the bit; bit 5 makes the number even. */
const bitMasks = [0xaaaaaaaa, 0xcccccccc, 0xf0f0f0f0, 0xff00ff00, 0xffff0000, 0x96696996];

export function separable(): LinearCode {
  const columns = columnsOf(4, 10, (position, bit) =>
    bitMasks.reduce(
      (column, mask, row) => column | (((mask >>> bit) & 1) << row),
      (0b1111 ^ (1 << position)) << 6,
    ),
  );
  const counts = [
    ...bitMasks.map((mask) => `countOneBits(sum & 0x${mask.toString(16)}u)`),
    ...["x", "y", "z", "w"].map((word) => `countOneBits(sum ^ data.${word})`),
  ];
  return {
    ...columns,
    host: tablePasses(columns),
    correction: singleErrors(columns, () => wrongByMasks(columns)),
    wgsl: (prefix) => `fn ${prefix}encode(data: vec4<u32>) -> u32 {
  let sum = data.x ^ data.y ^ data.z ^ data.w;
${gatherParities(counts)}}
${contributionByEncode(prefix, 4)}`,
  };
}
