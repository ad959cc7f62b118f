/**
 * The codes (39,32) and (72,64) of Hsiao (1970). Their columns are odd, distinct and of the least
 * weight. Every check bit covers about as many bits of data as the others.
 */

import { singleErrors } from "belay-gpu/internal/ecc/correction";
import { columnsOf, type LinearCode } from "belay-gpu/internal/ecc/linearCode";
import { tablePasses } from "./byteTables.ts";
import { parityOfMasks, wrongByMasks } from "./parityOfMasks.ts";

/**
 * The columns that (39,32) leaves out. Seven bits have 35 columns of weight three; without these,
 * each check bit covers 13 or 14 bits.
 */
const unused32 = [0b0000111, 0b0111000, 0b1001001];

export function hsiao(words: 1 | 2): LinearCode {
  const checkBits = words === 1 ? 7 : 8;
  const ofWeight = (weight: number) => valuesOfWeight(checkBits, weight);
  // (72,64) needs eight columns beyond the 56 of weight three: the rotations of one column of
  // weight five.
  const chosen =
    words === 1
      ? ofWeight(3).filter((column) => !unused32.includes(column))
      : [...ofWeight(3), ...Array.from({ length: 8 }, (_, by) => ((0x1f1f << by) >>> 8) & 255)];
  const columns = columnsOf(words, checkBits, (position, bit) => chosen[32 * position + bit]!);
  return {
    ...columns,
    host: tablePasses(columns),
    correction: singleErrors(columns, () => wrongByMasks(columns)),
    wgsl: (prefix) => parityOfMasks(prefix, columns),
  };
}

function valuesOfWeight(bits: number, weight: number): number[] {
  const weightOf = (value: number): number => (value === 0 ? 0 : (value & 1) + weightOf(value >>> 1));
  return Array.from({ length: 1 << bits }, (_, value) => value).filter((value) => weightOf(value) === weight);
}
