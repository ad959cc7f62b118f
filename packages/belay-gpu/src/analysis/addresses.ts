import type { Expression } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { quote } from "../wgsl/quote.ts";
import type { Place } from "./places.ts";

/** The byte offset of a place in its variable. */
export interface Address {
  /** Of type u32. */
  readonly expression: Expression;
  /**
   * The indices that are no constants, each as u32: what the offset depends on, in one way. None
   * when it is a constant.
   */
  readonly indices: readonly Expression[];
}

/**
 * The address of `place`, whose indices may be evaluated again (access normal form).
 *
 * It is bijective in each index: where a product with the stride would lose the index's top bits,
 * they come back in at the bottom. So two indices never share an address, and in bounds the address
 * is the byte offset.
 */
export function addressOf(program: Program, place: Place): Address {
  const { expression } = quote();
  let known = 0;
  let sum: Expression | undefined;
  const indices: Expression[] = [];
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
    indices.push(expression`u32(${step.index})`);
    const term = scaled(step.index, step.stride);
    sum = sum ? expression`${sum} + ${term}` : term;
  }
  // An index out of bounds may take it out of 32 bits.
  const offset = `${known >>> 0}u`;
  if (!sum) return { expression: expression`${offset}`, indices };
  return { expression: known === 0 ? sum : expression`${sum} + ${offset}`, indices };
}

/** `index * stride`, as a product with the odd part of the stride and a rotation by the rest. */
function scaled(index: Expression, stride: number): Expression {
  const { expression } = quote();
  const shift = Math.log2(stride & -stride);
  const odd = stride >> shift;
  const product = odd === 1 ? expression`u32(${index})` : expression`u32(${index}) * ${`${odd}u`}`;
  if (shift === 0) return product;
  return expression`(${product} << ${`${shift}u`}) | (${product} >> ${`${32 - shift}u`})`;
}
