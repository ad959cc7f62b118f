import type { Expression } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { quote } from "../wgsl/quote.ts";
import type { Place } from "./places.ts";

/** The byte offset of a place in its variable. */
export interface PlaceAddress {
  /** The offset, of type u32. */
  readonly expression: Expression;
  /**
   * The indices that are not constants, each as u32. The offset is a function of these. Empty for a
   * constant offset.
   */
  readonly indices: readonly Expression[];
}

/**
 * Returns the address of `place`. Its indices are evaluated again, so access normal form is
 * required.
 *
 * The address is bijective in each index. If the product with the stride would lose the top bits of
 * an index, they are rotated into the bottom bits. Two different indices therefore never share an
 * address. In bounds, the address is the byte offset.
 */
export function addressOf(program: Program, place: Place): PlaceAddress {
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
  // The sum may exceed 32 bits for an index out of bounds, so the constant part is reduced.
  const offset = `${known >>> 0}u`;
  if (!sum) return { expression: expression`${offset}`, indices };
  return { expression: known === 0 ? sum : expression`${sum} + ${offset}`, indices };
}

/**
 * Returns `index * stride`: a product with the odd part of the stride, rotated by the even part.
 */
function scaled(index: Expression, stride: number): Expression {
  const { expression } = quote();
  const shift = Math.log2(stride & -stride);
  const odd = stride >> shift;
  const product = odd === 1 ? expression`u32(${index})` : expression`u32(${index}) * ${`${odd}u`}`;
  if (shift === 0) return product;
  return expression`(${product} << ${`${shift}u`}) | (${product} >> ${`${32 - shift}u`})`;
}
