import type { Loop } from "../ir.ts";
import { offsetOf } from "./marks.ts";
import { wgslName } from "./names.ts";

/** `fn poke_place(place, bits)`: stores to a place, of whichever array or variable. */
export function pokePlace(loop: Loop): string {
  const inOrder = ["owned", "tracked"].flatMap((role) =>
    loop.arrays.filter((array) => array.role === role).reverse(),
  );
  const cases = inOrder.map((array) => {
    const first = offsetOf(array);
    return `  if (place >= ${first}) { poke_${wgslName(array.name)}(place - ${first}, bits); return; }`;
  });
  const carried = loop.carried.length > 0 ? ["  control.carried[place] = bits;"] : [];
  return ["fn poke_place(place: u32, bits: u32) {", ...cases, ...carried, "}"].join("\n");
}
