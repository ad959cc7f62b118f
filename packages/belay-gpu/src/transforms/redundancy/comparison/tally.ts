/**
 * The account of what each replica has stored: of what both present, exactly one replica stores
 * each piece.
 *
 * The register that says which replica an invocation is guards every store, and nothing that is
 * presented depends on it. So each replica keeps a tally. The replica that stores adds a weight,
 * the other one subtracts it, and their tallies add up to zero only if one of them, and not the
 * other, has stored each time. The addition stands beside the store, under the same guard. No value
 * of the register passes, whenever it came about, and no guard that went the other way.
 *
 * Weights are powers of an odd number that exceeds a multiple of four by one. Twice the sum of up
 * to 2³⁰ weights in a row is never zero, so a replica that stores too much or too little always
 * shows. The next weight is a product of the last one and no constant, as a compiler would take a
 * constant out of a loop, together with the guard. Outside of loops compilers know all weights, and
 * a tally takes a selection and an addition.
 */
import type { Expression, Statement } from "../../../wgsl/ast.ts";
import { quote } from "../../../wgsl/quote.ts";
import type { Library } from "./library.ts";

/** The number whose powers the weights are: 2³² divided by the golden ratio. */
const factor = "0x9e3779b1u";

/** The private variable that is an invocation's tally. */
export const tallyVariable = (library: Library): string =>
  library.once("tally", (name) => `var<private> ${name}: u32;`);

/** The private variable that is the weight of the last store. */
const weightVariable = (library: Library): string =>
  library.once("weight", (name) => `var<private> ${name}: u32 = 1u;`);

/**
 * Runs `stored` where `isFirst` holds, as it must in one replica, and `passed` in the other, and
 * keeps both tallies.
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

/** The same without tallies. */
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

/** The statements, as WGSL, that begin the tally of another invocation on the same lane. */
export const newTally = (library: Library): string =>
  `${tallyVariable(library)} = 0u; ${weightVariable(library)} = 1u;`;
