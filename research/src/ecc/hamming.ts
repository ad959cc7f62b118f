/**
 * Returns an extended Hamming code (39,32) or (72,64), with which Maruyama, Nukada and Matsuoka
 * protect GPU memory (2009). A bit of data has a number that is no power of two, whose bits name
 * its check bits. One more check bit is the parity of all.
 */

import { singleErrors } from "belay-gpu/internal/ecc/correction";
import { columnsOf, type LinearCode } from "belay-gpu/internal/ecc/linearCode";
import { tablePasses } from "./byteTables.ts";
import { parityOfMasks, wrongByMasks } from "./parityOfMasks.ts";

export function hamming(words: 1 | 2): LinearCode {
  const numberBits = words === 1 ? 6 : 7;
  const numbers = Array.from({ length: 1 << numberBits }, (_, number) => number).filter(
    (number) => (number & (number - 1)) !== 0,
  );
  const columns = columnsOf(words, numberBits + 1, (position, bit) => {
    const number = numbers[32 * position + bit]!;
    return number | (evenWeight(number) << numberBits);
  });
  return {
    ...columns,
    host: tablePasses(columns),
    correction: singleErrors(columns, () => wrongByMasks(columns)),
    wgsl: (prefix) => parityOfMasks(prefix, columns),
  };
}

/**
 * Returns 1 if a number has an even weight, else 0. The last check bit also covers the others, so a
 * bit of data whose number has an odd weight does not change it.
 */
function evenWeight(number: number): number {
  let parity = 1;
  for (let rest = number; rest !== 0; rest &= rest - 1) parity ^= 1;
  return parity;
}
