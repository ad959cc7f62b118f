import type { Cursor } from "./cursor.ts";
import { type BranchDirective, largest } from "./directive.ts";

/** `+1`, `-1,+1`, `+0:+4`, `+0:`. */
export function parseOffsets(cursor: Cursor): BranchDirective["which"] {
  const offset = () => {
    const before = cursor.at;
    const value = Number(cursor.take(/[-+]\s*\d+/y, "an offset such as `+1`").replace(/\s/g, ""));
    if (Math.abs(value) <= largest) return value === 0 ? 0 : value;
    cursor.at = before;
    throw cursor.malformed("an offset of at most 31 bits");
  };
  const offsets = [offset()];
  if (cursor.takeIf(/:/y) !== undefined) {
    const from = offsets[0]!;
    const before = cursor.at;
    const to = cursor.takeIf(/(?=[-+])/y) === undefined ? null : offset();
    if (to !== null && to < from) {
      cursor.at = before;
      throw cursor.malformed("an end that is not before the start of the range");
    }
    return { kind: "range", from, to };
  }
  while (cursor.takeIf(/,/y) !== undefined) offsets.push(offset());
  return { kind: "relative", offsets };
}
