import type { Value } from "../values.ts";
import { elements, vector } from "./components.ts";
import { type Folded, folded, noValue } from "./folded.ts";
import { scalar } from "./scalars.ts";

/** Evaluates `value[index]` (specification section "Composite Value Decomposition Expressions"). */
export function foldIndex(value: Value, index: number | bigint): Folded {
  return folded(() => {
    const parts = elements(value);
    return parts[Number(index)] ?? noValue(`index ${index} is out of bounds for ${parts.length} elements`);
  });
}

/** Evaluates `value.name`: a struct member, or a swizzle in the letters `xyzw` or `rgba`. */
export function foldMember(value: Value, name: string): Folded {
  return folded(() => {
    const parts = elements(value);
    if (value.type.kind === "struct") {
      const index = value.type.members.findIndex((member) => member.name === name);
      return parts[index] ?? noValue(`no member ${name}`);
    }
    const letters = [..."xyzw", ..."rgba"];
    const picked = [...name].map(
      (letter) => parts[letters.indexOf(letter) % 4] ?? noValue(`no component ${letter}`),
    );
    return picked.length === 1 ? picked[0]! : vector(picked.map(scalar));
  });
}
