/**
 * Floating-point numbers as expressions of loaded numbers. Constants are numbers. An expression is
 * a multiple of 2^200, which no float of a kernel reaches: its index in a table of nodes.
 */
import type { FloatFormat } from "../reference/floatFormat.ts";
import type { Arithmetic, SumProducts } from "../reference/library.ts";
import type { FloatOperation } from "../reference/nearest.ts";
import { nearestArithmetic } from "../reference/nearest.ts";
import { Undecided } from "../reference/undecided.ts";

const unit = 2 ** 200;

/** Returns true for an expression, and false for a constant. */
const isSymbol = (x: number): boolean => Math.abs(x) >= unit && Number.isFinite(x);

/** The number that stands for all expressions that are no sums of products. */
export const opaque = unit;

/** The kinds of nodes. */
const kinds = ["opaque", "load", "add", "multiply", "divide", "negate", "narrow", "products"] as const;
type Kind = (typeof kinds)[number];
const codes = Object.fromEntries(kinds.map((kind, i) => [kind, i])) as Record<Kind, number>;

/** A number that was loaded from a buffer: the number of the binding, and the index in bytes. */
export interface Loaded {
  readonly buffer: number;
  readonly offset: number;
}

/** A term of a sum: a coefficient times at most two loaded numbers. */
export interface Term {
  readonly coefficient: number;
  readonly factors: readonly Loaded[];
  /** The number of operations that round the term on its way into the result. */
  readonly roundings: number;
}

/** A sum of terms, with what computing it rounded to. */
export interface SymbolicSum {
  readonly terms: readonly Term[];
  /** True if an operation in between rounded to f16. */
  readonly isHalf: boolean;
}

/** The most nodes of one execution: 17 bytes each. */
const mostNodes = 2 ** 23;

/** Returns a longer array with the same first elements. */
function grown<T extends Uint8Array | Float64Array>(before: T, after: T): T {
  after.set(before);
  return after;
}

/** The expressions of an execution. */
export class Symbols {
  #count = 0;
  #kinds = new Uint8Array(1024);
  #halves = new Uint8Array(1024);
  #first = new Float64Array(1024);
  #second = new Float64Array(1024);
  /** The factors of the sums of products, which a node adds to its first operand. */
  #factors: (readonly [left: ArrayLike<number>, right: ArrayLike<number>])[] = [];

  constructor() {
    this.clear();
  }

  /** The number of nodes. */
  get count(): number {
    return this.#count;
  }

  /** Forgets all expressions. */
  clear(): void {
    // The number 0 is a constant.
    this.#count = opaque / unit;
    this.#factors = [];
    this.#add("opaque", 0, 0, false);
  }

  /** Returns a number that a kernel loads. */
  load(buffer: number, offset: number): number {
    return this.#add("load", buffer, offset, false);
  }

  /** Returns the operations on numbers of a format, for the reference executor. */
  arithmetic(format: FloatFormat): ReturnType<Arithmetic> {
    const exact = nearestArithmetic(format);
    const isHalf = format.name === "f16";
    const binary = (kind: Kind, a: number, b: number) => this.#add(kind, a, b, isHalf);
    const add = (a: number, b: number) => {
      if (a === 0) return b;
      if (b === 0) return a;
      return isSymbol(a) || isSymbol(b) ? binary("add", a, b) : exact.add(a, b);
    };
    const negate = (x: number) => (isSymbol(x) ? binary("negate", x, 0) : -x);
    const narrow = (x: number) => (isSymbol(x) ? binary("narrow", x, 0) : exact.from(x));
    const known: Partial<Record<FloatOperation, unknown>> = {
      add,
      sub: (a: number, b: number) => this.#withoutTerm(a, b) ?? add(a, negate(b)),
      mul: (a: number, b: number) => {
        if (a === 0 || b === 0) return 0;
        if (a === 1) return b;
        if (b === 1) return a;
        return isSymbol(a) || isSymbol(b) ? binary("multiply", a, b) : exact.mul(a, b);
      },
      div: (a: number, b: number) => {
        if (isSymbol(b)) return opaque;
        return isSymbol(a) ? binary("divide", a, b) : exact.div(a, b);
      },
      neg: negate,
      from: isHalf ? narrow : (x: number) => (isSymbol(x) ? x : exact.from(x)),
      hull: (a: number) => a,
      loaded: (x: number) => x,
    };
    const sumProducts: SumProducts = (sum, left, right) => {
      this.#factors.push([left, right]);
      return binary("products", sum, this.#factors.length - 1);
    };
    const others = Object.entries(exact).map(([name, operation]) => {
      const apply = operation as (...operands: number[]) => number;
      const decides = ["lt", "le", "eq", "toI32", "toU32", "toBits"].includes(name);
      const lifted = (...operands: number[]) => {
        if (!operands.some(isSymbol)) return apply(...operands);
        if (decides) throw new Undecided("its control or its addresses depend on the data");
        return opaque;
      };
      return [name, lifted];
    });
    return { ...(Object.fromEntries(others) as Record<FloatOperation, unknown>), ...known, sumProducts };
  }

  /** Returns a number as a sum of at most `most` products; undefined if it is something else. */
  sumOf(number: number, most: number): SymbolicSum | undefined {
    const terms: Term[] = [];
    let isHalf = false;
    const waiting: { x: number; coefficient: number; roundings: number }[] = [
      { x: number, coefficient: 1, roundings: 0 },
    ];
    /** Adds the terms of a product. Returns false if it has none. */
    const multiply = (a: number, b: number, coefficient: number, roundings: number): boolean => {
      const [left, right] = [this.sumOf(a, most), this.sumOf(b, most)];
      if (!left || !right || left.terms.length * right.terms.length > most) return false;
      isHalf ||= left.isHalf || right.isHalf;
      for (const s of left.terms)
        for (const t of right.terms) {
          const factors = [...s.factors, ...t.factors];
          if (factors.length > 2) return false;
          const all = roundings + 1 + s.roundings + t.roundings;
          terms.push({ coefficient: coefficient * s.coefficient * t.coefficient, factors, roundings: all });
        }
      return true;
    };
    for (;;) {
      const next = waiting.pop();
      if (!next) return { terms, isHalf };
      const { x, coefficient, roundings } = next;
      if (terms.length > most) return undefined;
      if (!isSymbol(x)) {
        if (x !== 0) terms.push({ coefficient: coefficient * x, factors: [], roundings });
        continue;
      }
      const i = x / unit;
      const [a, b] = [this.#first[i]!, this.#second[i]!];
      isHalf ||= this.#halves[i] === 1 && roundings > 0;
      switch (kinds[this.#kinds[i]!]!) {
        case "opaque":
          return undefined;
        case "load":
          terms.push({ coefficient, factors: [{ buffer: a, offset: b }], roundings });
          break;
        case "add":
          isHalf ||= this.#halves[i] === 1;
          waiting.push({ x: b, coefficient, roundings: roundings + 1 });
          waiting.push({ x: a, coefficient, roundings: roundings + 1 });
          break;
        case "negate":
          waiting.push({ x: a, coefficient: -coefficient, roundings });
          break;
        case "narrow":
          // The last rounding belongs to the store.
          waiting.push({ x: a, coefficient, roundings: roundings + 1 });
          break;
        case "divide":
          isHalf ||= this.#halves[i] === 1;
          waiting.push({ x: a, coefficient: coefficient / b, roundings: roundings + 4 });
          break;
        case "multiply": {
          isHalf ||= this.#halves[i] === 1;
          if (!isSymbol(a)) waiting.push({ x: b, coefficient: coefficient * a, roundings: roundings + 1 });
          else if (!isSymbol(b))
            waiting.push({ x: a, coefficient: coefficient * b, roundings: roundings + 1 });
          else if (!multiply(a, b, coefficient, roundings)) return undefined;
          break;
        }
        case "products": {
          isHalf ||= this.#halves[i] === 1;
          const [left, right] = this.#factors[b]!;
          const through = roundings + left.length;
          waiting.push({ x: a, coefficient, roundings: through });
          for (let k = 0; k < left.length; k++)
            if (!multiply(left[k]!, right[k]!, coefficient, through)) return undefined;
        }
      }
    }
  }

  /** Returns a sum without one of its operands. Sums that carry their error subtract one. */
  #withoutTerm(sum: number, term: number): number | undefined {
    if (!isSymbol(sum) || sum === opaque) return undefined;
    if (sum === term) return 0;
    const i = sum / unit;
    if (this.#kinds[i] !== codes.add || term === opaque) return undefined;
    const [a, b] = [this.#first[i]!, this.#second[i]!];
    return a === term ? b : b === term ? a : undefined;
  }

  #add(kind: Kind, a: number, b: number, isHalf: boolean): number {
    const i = this.#count++;
    if (i >= mostNodes) throw new Undecided("a workgroup computes too much to be followed");
    if (i >= this.#kinds.length) {
      this.#kinds = grown(this.#kinds, new Uint8Array(2 * i));
      this.#halves = grown(this.#halves, new Uint8Array(2 * i));
      this.#first = grown(this.#first, new Float64Array(2 * i));
      this.#second = grown(this.#second, new Float64Array(2 * i));
    }
    this.#kinds[i] = codes[kind];
    this.#halves[i] = Number(isHalf);
    this.#first[i] = a;
    this.#second[i] = b;
    return i * unit;
  }
}
