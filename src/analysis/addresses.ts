import type { Expression } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { quote } from "../wgsl/quote.ts";
import type { Place } from "./places.ts";

/** The byte offset of a place in its variable. */
export interface Address {
  /** Of type u32. */
  readonly expression: Expression;
  /** False when the offset is a constant. */
  readonly dynamic: boolean;
}

/** The address of `place`, whose indices may be evaluated again (access normal form). */
export function addressOf(program: Program, place: Place): Address {
  const { expression } = quote();
  let known = 0;
  let sum: Expression | undefined;
  for (const step of place.steps) {
    if (step.kind === "member") {
      known += step.offset;
      continue;
    }
    const constant = program.constantOf(step.index);
    if (constant && "value" in constant) {
      known += Number(constant.value) * step.stride;
      continue;
    }
    const term = expression`u32(${step.index}) * ${`${step.stride}u`}`;
    sum = sum ? expression`${sum} + ${term}` : term;
  }
  if (!sum) return { expression: expression`${`${known}u`}`, dynamic: false };
  return { expression: known === 0 ? sum : expression`${sum} + ${`${known}u`}`, dynamic: true };
}
