/**
 * The tally of each replica's stores. Of all outputs that both replicas present, exactly one
 * replica must store each.
 *
 * The register that holds the replica's number guards every store, and no presented value depends
 * on it. So each replica keeps a tally. The storing replica adds a weight and the other one
 * subtracts it. The tallies add up to zero only if exactly one replica stored each time. The
 * addition stands beside the store, under the same guard. It detects every wrong value of the
 * register, whenever the fault occurred, and every guard that took the wrong branch.
 *
 * Weights are powers of an odd number that exceeds a multiple of four by one. Twice the sum of up
 * to 2³⁰ consecutive weights is never zero, so a missing or extra store always shows. Each weight
 * is a product of the previous one. A compiler would move a constant out of a loop, together with
 * the guard. Outside of loops compilers know all weights, and a tally costs a selection and an
 * addition.
 */
import type { Expression, Statement } from "../../../wgsl/ast.ts";
import { quote } from "../../../wgsl/quote.ts";
import type { Library } from "./library.ts";

/** The base of the weights: 2³² divided by the golden ratio. */
const factor = "0x9e3779b1u";

/** Returns the private variable of an invocation's tally. */
export const tallyVariable = (library: Library): string =>
  library.once("tally", (name) => `var<private> ${name}: u32;`);

/** Returns the private variable of the last store's weight. */
const weightVariable = (library: Library): string =>
  library.once("weight", (name) => `var<private> ${name}: u32 = 1u;`);

/**
 * Returns statements that run `stored` if `isFirst` holds, as it must in one replica, and `passed`
 * in the other. They update both tallies.
 */
export function tallied(
  library: Library,
  isFirst: Expression,
  stored: readonly Statement[],
  passed: readonly Statement[],
): Statement[] {
  const [tally, weight] = [tallyVariable(library), weightVariable(library)];
  const { statements } = quote(stored[0]?.span);
  const account = statements`${weight} *= ${factor}; ${tally} -= ${weight};`;
  const counted = statements`${tally} += 2u * ${weight};`;
  return [...account, ...storedOnce(isFirst, [...stored, ...counted], passed)];
}

/** Returns the same statements without tallies. */
export function storedOnce(
  isFirst: Expression,
  stored: readonly Statement[],
  passed: readonly Statement[],
): Statement[] {
  const { statements } = quote(stored[0]?.span);
  return passed.length > 0
    ? statements`if (${isFirst}) { ${stored} } else { ${passed} }`
    : statements`if (${isFirst}) { ${stored} }`;
}

/** Returns statements, as WGSL, that reset the tally for another invocation on the same lane. */
export const newTally = (library: Library): string =>
  `${tallyVariable(library)} = 0u; ${weightVariable(library)} = 1u;`;
