/** Integers that are sums of multiples of unknowns, with exact ranges. */

/**
 * An unknown integer with the values 0, 1, … `count - 1`. Each of its values occurs together with
 * all values of the others, in some invocation or iteration, unless it is a quotient.
 */
export interface Unknown {
  /** The number of unknowns that were created before. */
  readonly number: number;
  readonly count: number;
  /** The division that it is the result of, rounded down, if it is a quotient. */
  readonly division?: { readonly dividend: Sum; readonly divisor: number };
}

/** A constant plus multiples of unknowns. No factor is zero. */
export interface Sum {
  readonly kind: "sum";
  readonly constant: number;
  readonly terms: ReadonlyMap<Unknown, number>;
  /** The bounds of the value, both inclusive. */
  readonly min: number;
  readonly max: number;
}

export const constantSum = (constant: number): Sum => sumOf(constant, new Map());

/** Returns the sum with the tighter of its bounds: those of its terms, and the given ones. */
export function sumOf(
  constant: number,
  terms: ReadonlyMap<Unknown, number>,
  least = Number.NEGATIVE_INFINITY,
  most = Number.POSITIVE_INFINITY,
): Sum {
  let [min, max] = [constant, constant];
  for (const [{ count }, factor] of terms) {
    if (factor > 0) max += factor * (count - 1);
    else min += factor * (count - 1);
  }
  return { kind: "sum", constant, terms, min: Math.max(min, least), max: Math.min(max, most) };
}

export const isConstant = ({ terms }: Sum): boolean => terms.size === 0;

export function plus(a: Sum, b: Sum): Sum {
  const terms = new Map(a.terms);
  for (const [unknown, factor] of b.terms) {
    const sum = (terms.get(unknown) ?? 0) + factor;
    if (sum === 0) terms.delete(unknown);
    else terms.set(unknown, sum);
  }
  return sumOf(a.constant + b.constant, terms, a.min + b.min, a.max + b.max);
}

export function times({ constant, terms, min, max }: Sum, factor: number): Sum {
  if (factor === 0) return constantSum(0);
  const scaled = new Map([...terms].map(([unknown, each]) => [unknown, each * factor]));
  const [a, b] = [min * factor, max * factor];
  return sumOf(constant * factor, scaled, Math.min(a, b), Math.max(a, b));
}

export const minus = (a: Sum, b: Sum): Sum => plus(a, times(b, -1));

/** Returns a text that is the same for equal sums. */
export function keyOf({ constant, terms }: Sum): string {
  const sorted = [...terms].sort(([a], [b]) => a.number - b.number);
  return `${constant}${sorted.map(([{ number }, factor]) => `+${factor}*${number}`).join("")}`;
}

/** Creates the unknowns of one analysis. */
export class Unknowns {
  #created = 0;
  /** The quotients so far, so that equal divisions have the same one. */
  readonly #quotients = new Map<string, Sum>();
  /** The remainders of these divisions. */
  readonly #remainders = new Map<string, Sum>();

  /** Returns an independent unknown as a sum. Zero is the only value of a count of 1. */
  independent(count: number): Sum {
    return this.#create(count);
  }

  /** Returns the quotient of a sum that is not negative, rounded down. */
  quotient(sum: Sum, divisor: number): Sum {
    if (sum.max < divisor) return constantSum(0);
    const divisible = [...sum.terms].filter(([, factor]) => factor % divisor === 0);
    const constant = Math.floor(sum.constant / divisor);
    const rest = sumOf(
      sum.constant - constant * divisor,
      new Map([...sum.terms].filter(([, factor]) => factor % divisor !== 0)),
    );
    if (rest.min >= 0 && rest.max < divisor)
      return sumOf(constant, new Map(divisible.map(([unknown, factor]) => [unknown, factor / divisor])));
    const [least, most] = [Math.floor(sum.min / divisor), Math.floor(sum.max / divisor)];
    const key = `${keyOf(sum)}/${divisor}`;
    const known = this.#quotients.get(key);
    if (known) return known;
    const dividend = minus(sum, constantSum(least * divisor));
    const quotient = plus(this.#create(most - least + 1, { dividend, divisor }), constantSum(least));
    const { constant: first, terms } = minus(sum, times(quotient, divisor));
    const remainder = sumOf(first, terms, 0, divisor - 1);
    this.#quotients.set(key, quotient);
    this.#remainders.set(keyOf(remainder), remainder);
    return quotient;
  }

  /** Returns the remainder of a sum that is not negative. */
  remainder(sum: Sum, divisor: number): Sum {
    return this.difference(sum, times(this.quotient(sum, divisor), divisor));
  }

  /** Returns `a - b`. A program may compute a remainder in this way. */
  difference(a: Sum, b: Sum): Sum {
    const difference = minus(a, b);
    return this.#remainders.get(keyOf(difference)) ?? difference;
  }

  #create(count: number, division?: Unknown["division"]): Sum {
    if (count <= 1) return constantSum(0);
    return sumOf(0, new Map([[{ number: this.#created++, count, ...(division && { division }) }, 1]]));
  }
}
