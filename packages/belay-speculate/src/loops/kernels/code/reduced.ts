import type { ChoiceOperator, Loop, NumberType, Reduction } from "../../tree/ir.ts";
import { compare, emitLiteral } from "./expressions.ts";
import { fromBits, toBits, wgslName } from "./names.ts";

/**
 * Returns the comparison by which a reduction chooses one of the iterations' values; null if it
 * combines all of them. Minima and maxima of integers are choices, because no integer is their
 * neutral value: the variable may be infinite before the loop.
 */
export function comparisonOf({ type, operator }: Reduction): ChoiceOperator | null {
  switch (operator) {
    case "min":
      return type === "f32" ? null : "<";
    case "max":
      return type === "f32" ? null : ">";
    case ">":
    case ">=":
    case "<":
    case "<=":
    case "=":
      return operator;
    default:
      return null;
  }
}

/**
 * Returns the operator's neutral value. For f32 sums it is −0: with 0, a sum of minus zeros would
 * become 0. A choice has none: its first word says whether there is a value.
 */
export function identityOf({ type, operator }: Reduction): number {
  switch (operator) {
    case "+":
      return type === "f32" ? -0 : 0;
    case "*":
      return 1;
    case "&":
      return type === "i32" ? -1 : 0xffffffff;
    case "min":
      return type === "f32" ? Infinity : 0;
    case "max":
      return type === "f32" ? -Infinity : 0;
    default:
      return 0;
  }
}

/** Returns the bits of the operator's neutral value. */
export function identityBits(reduction: Reduction): string {
  return toBits(reduction.type, emitLiteral(reduction.type, identityOf(reduction)));
}

/** Returns the combination of two values of a reduction. */
export function combine({ operator }: Reduction, a: string, b: string): string {
  if (operator === "min" || operator === "max") return `${operator}_f32(${a}, ${b})`;
  return `(${a} ${operator} ${b})`;
}

/**
 * Returns the names of the words in which an iteration leaves its part of a reduction. The first
 * word of a choice is 1 if the iteration has a value.
 */
export function wordsOf(reduction: Reduction): readonly string[] {
  const reduced = (name: string) => `reduced_${wgslName(name)}`;
  const { name, isWide, companions = [] } = reduction;
  if (comparisonOf(reduction))
    return [chosen(name), ...[reduction, ...companions].map((one) => reduced(one.name))];
  return isWide ? [reduced(name), `${reduced(name)}_high`] : [reduced(name)];
}

const chosen = (name: string) => `chosen_${wgslName(name)}`;

/** Returns the number of words before those of a reduction. */
export function firstWordOf({ reductions }: Loop, reduction: Reduction): number {
  return reductions
    .slice(0, reductions.indexOf(reduction))
    .reduce((total, one) => total + wordsOf(one).length, 0);
}

/** The function that adds two integers of 64 bits, given as low and high word. */
export const addWords = `
fn add_words(a: vec2u, b: vec2u) -> vec2u {
  let low = a.x + b.x;
  return vec2u(low, a.y + b.y + select(0u, 1u, low < a.x));
}`.trim();

/**
 * Returns the words of each reduction as variables, the functions `fn reduce_x(value: …)`, and
 * `fn start_reductions()`.
 */
export function emitReductions(reductions: readonly Reduction[]): string[] {
  const starts = reductions.flatMap((reduction) =>
    wordsOf(reduction).map((word, at) => {
      const isNeutral = at === 0 && !comparisonOf(reduction);
      return `  ${word} = ${isNeutral ? identityBits(reduction) : "0u"};`;
    }),
  );
  return [
    ...(reductions.some(({ isWide }) => isWide) ? [addWords] : []),
    ...reductions.map((reduction) =>
      [...wordsOf(reduction).map((word) => `var<private> ${word}: u32;`), emitReduce(reduction)].join("\n"),
    ),
    ["fn start_reductions() {", ...starts, "}"].join("\n"),
  ];
}

function emitReduce(reduction: Reduction): string {
  const { name, type, isWide, companions = [] } = reduction;
  const [first, second] = wordsOf(reduction);
  const head = `fn reduce_${wgslName(name)}(value: ${type}`;
  const comparison = comparisonOf(reduction);
  if (comparison) {
    const parameters = companions.map((one, at) => `, companion_${at}: ${one.type}`).join("");
    const sets = companions.map(
      (one, at) => `  reduced_${wgslName(one.name)} = ${toBits(one.type, `companion_${at}`)};`,
    );
    return [
      `${head}${parameters}) {`,
      ...(comparison === "=" ? [] : [unlessBeaten(type, comparison, first!, second!)]),
      `  ${first} = 1u;`,
      `  ${second} = ${toBits(type, "value")};`,
      ...sets,
      "}",
    ].join("\n");
  }
  if (isWide) {
    const high = type === "i32" ? "bitcast<u32>(value >> 31u)" : "0u";
    return `${head}) {
  let sum = add_words(vec2u(${first}, ${second}), vec2u(${toBits(type, "value")}, ${high}));
  ${first} = sum.x;
  ${second} = sum.y;
}`;
  }
  const combined = combine(reduction, fromBits(type, first!), "value");
  return `${head}) { ${first} = ${toBits(type, combined)}; }`;
}

/** Returns the statement that leaves a value out that is not chosen. NaN never is. */
function unlessBeaten(type: NumberType, comparison: ChoiceOperator, has: string, best: string): string {
  const isNumber = type === "f32" ? "!is_nan(value)" : "true";
  const beats = compare(type, comparison, "value", fromBits(type, best));
  return `  if (!select(${isNumber}, ${beats}, ${has} == 1u)) { return; }`;
}
