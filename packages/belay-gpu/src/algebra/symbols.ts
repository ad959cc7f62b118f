/**
 * Floating-point numbers as expressions of loaded numbers. Constants are numbers. An expression is
 * a multiple of 2^200, which no float of a kernel reaches: its index in a table of nodes.
 */
import { unknownInteger } from "../reference/codeWriter.ts";
import type { FloatFormat } from "../reference/floatFormat.ts";
import type { Arithmetic, Derived, OnUnknown, SumProducts } from "../reference/library.ts";
import type { FloatOperation } from "../reference/nearest.ts";
import { nearestArithmetic } from "../reference/nearest.ts";
import { Undecided } from "../reference/undecided.ts";
import { type BitField, operated, wordAt } from "./bitFields.ts";

const unit = unknownInteger;

/** Returns true for an expression, and false for a constant. */
export const isSymbol = (x: number): boolean => Math.abs(x) >= unit && Number.isFinite(x);

/** The number that stands for all expressions that are no sums of products. */
export const opaque = unit;

/** The kinds of nodes. */
const kinds = [
  "opaque",
  "load",
  "bits",
  "add",
  "fused",
  "multiply",
  "divide",
  "negate",
  "narrow",
  "products",
  "rest",
  "function",
  "call",
] as const;
type Kind = (typeof kinds)[number];
const codes = Object.fromEntries(kinds.map((kind, i) => [kind, i])) as Record<Kind, number>;

/** The format in which numbers are added up. */
export type Precision = "f32" | "f16";
/**
 * The format of the numbers in a buffer: floats, or integers with and without a sign of so many
 * bits, from the lowest bits of a word on.
 */
export type Format = Precision | "bf16" | `${"u" | "i"}${1 | 2 | 4 | 8 | 16}`;

/** The numbers of one format in a buffer. Kernels add `plus` to each integer. */
export interface Source {
  /** The number of the binding. */
  readonly buffer: number;
  readonly format: Format;
  readonly plus: number;
}

/** A number that was loaded: its source, and its index among the numbers of the binding. */
export interface Loaded {
  readonly source: Source;
  readonly address: number;
}

/** Returns the bits of a number. */
export const bitsOf = (format: Format): number => Number(/\d+$/.exec(format)![0]);

/** Returns true for a format of integers. */
export const isPacked = (format: Format): boolean => format.startsWith("u") || format.startsWith("i");

/** The largest number that is added to integers. Sums of integers are exact up to it. */
const mostPlus = 2 ** 20;
/** The number up to which integers are exact in f16. */
const mostOfHalf = 2 ** 11;
/** The most factors of a term: two numbers, of which one has a scale. */
const mostFactors = 3;

/** A term of a sum: a coefficient times at most three loaded numbers. */
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
  /** True if numbers cancel that are no part of the sum. They may be larger than its terms. */
  readonly hidesNumbers: boolean;
  /** The least and the largest factor by which results of operations are multiplied later on. */
  readonly least: number;
  readonly most: number;
}

/** The numbers that cancelled in a sum, and the roundings that they left there. */
interface Cancelled {
  readonly numbers: readonly number[];
  readonly roundings: number;
}
const nothing: Cancelled = { numbers: [], roundings: 0 };
/** The roundings of an operand by a sum of which it is subtracted again. */
const roundingsOfRest = 2;
/** The most numbers that cancel in one sum. */
const mostCancelled = 64;

/** A decision of an execution about an expression, at a place in the kernel. */
export interface Decision {
  readonly site: number;
  readonly condition: number;
  readonly answer: boolean;
}

/** The answers of an execution at some places, and at all others. */
export interface Answers {
  readonly known: ReadonlyMap<number, boolean>;
  readonly others: boolean;
}
/** The most decisions of one execution. */
const mostDecisions = 2 ** 16;

/** A function of expressions: a template of WGSL with `$0` and so on in place of its operands. */
export interface Application {
  readonly template: string;
  readonly operands: readonly number[];
  /** The format of the operands; absent for that which is asked of the result, as in `select`. */
  readonly from?: Precision;
  /** The format of the result; absent for one that is asked, and for booleans and integers. */
  readonly to?: Precision;
}

/** Functions and operators that are no calls of the same name in WGSL. */
const templates: Readonly<Record<string, string>> = {
  div: "$0 / $1",
  "%": "$0 % $1",
  lt: "$0 < $1",
  le: "$0 <= $1",
  eq: "$0 == $1",
  select: "select($1, $2, $0)",
  "!": "!$0",
  "&": "$0 & $1",
  "|": "$0 | $1",
  toI32: "i32($0)",
  toU32: "u32($0)",
};
/** Functions of numbers whose results are conditions, and those whose results are no floats. */
const comparisons = ["lt", "le", "eq"];
const withoutFormat: ReadonlySet<string> = new Set([...comparisons, "toI32", "toU32"]);
const conditions: ReadonlySet<string> = new Set(
  [...comparisons, "!", "&", "|"].map((name) => templates[name]!),
);
/** Functions of the bits of numbers, which no expression has. */
const withoutTemplate: ReadonlySet<string> = new Set(["toBits", "fromBits", "ldexp"]);

export const dependsOnData = "its control or its addresses depend on the data";

/** The most nodes of one execution: 18 bytes each. */
const mostNodes = 2 ** 24;

/** Returns a longer array with the same first elements. */
function grown<T extends Uint8Array | Float64Array>(before: T, after: T): T {
  after.set(before);
  return after;
}

/** Writes a number so that WGSL takes it for one of a format. */
export function textOf(x: number, format: Precision = "f32"): string {
  const text = Object.is(x, -0) ? "-0" : String(Math.fround(x));
  return `${text}${/[.e]/.test(text) ? "" : ".0"}${format === "f16" ? "h" : "f"}`;
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
  /** The sources of loaded numbers, and their numbers. */
  readonly #sources: Source[] = [];
  readonly #known = new Map<string, number>();
  /** The source of the latest load, and its number. */
  #latest: { readonly source: Source; readonly number: number } | undefined;
  /** The integers of the nodes with bits. */
  #fields: BitField[] = [];
  /** The numbers that cancelled in the nodes of rests. */
  #cancelled: Cancelled[] = [];
  #applications: Application[] = [];
  readonly #followsFunctions: boolean;
  #decisions: Decision[] = [];
  #answers: Answers = { known: new Map(), others: false };

  /** With `followsFunctions`, results may be functions of sums. */
  constructor(followsFunctions = false) {
    this.#followsFunctions = followsFunctions;
    this.clear();
  }

  /** The number of nodes. */
  get count(): number {
    return this.#count;
  }

  /** The decisions about functions. */
  get decisions(): readonly Decision[] {
    return this.#decisions;
  }

  /** Forgets all expressions. The next execution decides about functions by some answers. */
  clear(answers: Answers = { known: new Map(), others: false }): void {
    this.#answers = answers;
    this.#decisions = [];
    // The number 0 is a constant.
    this.#count = opaque / unit;
    this.#factors = [];
    this.#fields = [];
    this.#cancelled = [];
    this.#applications = [];
    this.#add("opaque", 0, 0, false);
  }

  /** Returns the float that a kernel loads at an offset in bytes. */
  load(buffer: number, format: Precision, offset: number): number {
    return this.#loaded({ buffer, format, plus: 0 }, (8 * offset) / bitsOf(format));
  }

  /** Returns the integer that a kernel loads at an offset in bytes. */
  word(buffer: number, offset: number): number {
    return this.#bits(wordAt(buffer, offset));
  }

  /** Computes an operation on integers for the reference executor. */
  readonly onUnknown: OnUnknown = (operation, a, b = 0, ...others) => {
    if (operation === "decide" && this.#isCondition(a)) return this.#decide(a, b);
    if (/^(==|!=|[<>]=?|decide)$/.test(operation)) throw new Undecided(dependsOnData);
    if (operation === "select" && a < unit) return a === 0 ? b : others[0]!;
    if (operation === "select") return this.#apply(operation, [a, b, ...others]);
    if (operation === "!") return this.#apply(operation, [a]);
    if ("&|".includes(operation) && this.#isCondition(a) && this.#isCondition(b))
      return this.#apply(operation, [a, b]);
    const [unknown, ...constants] = a >= unit || !"+&".includes(operation) ? [a, b, ...others] : [b, a];
    const field = this.#fieldOf(unknown!);
    if (!field || constants.some((each) => each >= unit)) return opaque;
    const result = operated(field, operation, ...constants);
    return result === undefined ? opaque : result === 0 ? 0 : this.#bits(result);
  };

  #isCondition(x: number): boolean {
    return (
      this.#isKind(x, "function") && conditions.has(this.#applications[this.#second[x / unit]!]!.template)
    );
  }

  #decide(condition: number, site: number): number {
    if (this.#decisions.length >= mostDecisions) throw new Undecided(dependsOnData);
    const answer = this.#answers.known.get(site) ?? this.#answers.others;
    this.#decisions.push({ site, condition, answer });
    return Number(answer);
  }

  #loaded(source: Source, address: number): number {
    return this.#add("load", this.#numberOf(source), address, false);
  }

  #numberOf(source: Source): number {
    const { buffer, format, plus } = source;
    const latest = this.#latest?.source;
    // Most loads follow one of the same source.
    if (latest?.buffer === buffer && latest.format === format && latest.plus === plus)
      return this.#latest!.number;
    const key = `${buffer} ${format} ${plus}`;
    const number = this.#known.get(key) ?? this.#sources.push(source) - 1;
    this.#known.set(key, number);
    this.#latest = { source, number };
    return number;
  }

  #bits(field: BitField): number {
    return this.#add("bits", this.#fields.push(field) - 1, 0, false);
  }

  /** Returns the integer that a symbol stands for; undefined for another one. */
  #fieldOf(x: number): BitField | undefined {
    return this.#isKind(x, "bits") ? this.#fields[this.#first[x / unit]!] : undefined;
  }

  /**
   * Returns a function of expressions in a format, or of booleans and integers without one. Opaque
   * if such functions are not followed.
   */
  #apply(name: string, operands: readonly number[], format?: Precision): number {
    if (!this.#followsFunctions || operands.includes(opaque) || withoutTemplate.has(name)) return opaque;
    return this.#addFunction("function", 0, name, operands, format);
  }

  /** Adds a function. That of a call has the value as computed by other operations. */
  #addFunction(
    kind: "function" | "call",
    value: number,
    name: string,
    operands: readonly number[],
    format: Precision | undefined,
  ): number {
    const template = templates[name] ?? `${name}(${operands.map((_, i) => `$${i}`).join(", ")})`;
    const to = withoutFormat.has(name) ? undefined : format;
    const application = { template, operands, ...(format && { from: format }), ...(to && { to }) };
    return this.#add(kind, value, this.#applications.push(application) - 1, to === "f16");
  }

  /**
   * Returns the value of a built-in function that other operations compute. The expression keeps
   * the function, as a driver may compute it in its own way.
   */
  #derived(name: string, value: number, operands: readonly number[], format: Precision): number {
    if (!this.#followsFunctions || !isSymbol(value) || operands.includes(opaque)) return value;
    if (name !== "fma") return this.#addFunction("call", value, name, operands, format);
    const i = value / unit;
    const [a, b] = operands as [number, number];
    // A factor of one leaves no product, and a summand of zero no sum.
    const isWhole =
      this.#isKind(value, "add") &&
      this.#isKind(this.#first[i]!, "multiply") &&
      this.#first[i - 1] === a &&
      this.#second[i - 1] === b;
    if (isWhole) this.#kinds[i] = codes.fused;
    return value;
  }

  /** Returns the float with the value of an unknown integer or boolean. */
  #fromInteger(x: number, isHalf: boolean): number {
    if (this.#isKind(x, "function")) return this.#apply(isHalf ? "f16" : "f32", [x]);
    const field = this.#fieldOf(x);
    if (!field) return opaque;
    const { buffer, bit, width, isSigned, left, plus } = field;
    const isAligned = bit % width === 0 && [1, 2, 4, 8, 16].includes(width);
    if (!isAligned || Math.abs(plus) > mostPlus) return opaque;
    if (isHalf && (2 ** width + Math.abs(plus)) * 2 ** left > mostOfHalf) return opaque;
    const format = `${isSigned ? "i" : "u"}${width}` as Format;
    const loaded = this.#loaded({ buffer, format, plus }, bit / width);
    return left === 0 ? loaded : this.#add("multiply", loaded, 2 ** left, false);
  }

  /** Returns the float with the bits of an unknown integer. */
  #fromBits(x: number, isHalf: boolean): number {
    const field = this.#fieldOf(x);
    if (field?.plus !== 0) return opaque;
    const { buffer, bit, width, left } = field;
    if (isHalf ? width !== 16 || left !== 0 : left !== 32 - width || width < 16) return opaque;
    const format = isHalf ? "f16" : width === 32 ? "f32" : "bf16";
    return bit % width === 0 ? this.#loaded({ buffer, format, plus: 0 }, bit / width) : opaque;
  }

  /** Returns the sum of a loaded integer and a constant one; undefined for other numbers. */
  #moved(x: number, by: number, isHalf: boolean): number | undefined {
    if (isSymbol(by) || !Number.isInteger(by) || !this.#isKind(x, "load")) return undefined;
    const source = this.#sources[this.#first[x / unit]!]!;
    const plus = source.plus + by;
    if (!isPacked(source.format) || Math.abs(plus) > mostPlus) return undefined;
    if (isHalf && 2 ** bitsOf(source.format) + Math.abs(plus) > mostOfHalf) return undefined;
    return this.#loaded({ ...source, plus }, this.#second[x / unit]!);
  }

  #isKind(x: number, kind: Kind): boolean {
    return isSymbol(x) && this.#kinds[x / unit] === codes[kind];
  }

  /** Returns the operations on numbers of a format, for the reference executor. */
  arithmetic(format: FloatFormat): ReturnType<Arithmetic> {
    const exact = nearestArithmetic(format);
    const isHalf = format.name === "f16";
    const binary = (kind: Kind, a: number, b: number) => this.#add(kind, a, b, isHalf);
    const add = (a: number, b: number) => {
      if (a === 0) return b;
      if (b === 0) return a;
      if (!isSymbol(a) && !isSymbol(b)) return exact.add(a, b);
      return this.#moved(a, b, isHalf) ?? this.#moved(b, a, isHalf) ?? binary("add", a, b);
    };
    const negate = (x: number) => (isSymbol(x) ? binary("negate", x, 0) : -x);
    const narrow = (x: number) => {
      if (!isSymbol(x)) return exact.from(x);
      return this.loadedAt(x)?.source.format === "f16" ? x : binary("narrow", x, 0);
    };
    const known: Partial<Record<FloatOperation, unknown>> = {
      add,
      sub: (a: number, b: number) => this.#withoutTerm(a, b, isHalf) ?? add(a, negate(b)),
      mul: (a: number, b: number) => {
        if (a === 0 || b === 0) return 0;
        if (a === 1) return b;
        if (b === 1) return a;
        return isSymbol(a) || isSymbol(b) ? binary("multiply", a, b) : exact.mul(a, b);
      },
      div: (a: number, b: number) => {
        if (isSymbol(b)) return this.#apply("div", [a, b], format.name);
        return isSymbol(a) ? binary("divide", a, b) : exact.div(a, b);
      },
      neg: negate,
      from: isHalf ? narrow : (x: number) => (isSymbol(x) ? x : exact.from(x)),
      fromInteger: (x: number) => (isSymbol(x) ? this.#fromInteger(x, isHalf) : exact.fromInteger(x)),
      fromBits: (x: number) => (isSymbol(x) ? this.#fromBits(x, isHalf) : exact.fromBits(x)),
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
        const isFollowed = this.#followsFunctions && !withoutTemplate.has(name);
        if (decides && !isFollowed) throw new Undecided(dependsOnData);
        return this.#apply(name, operands, format.name);
      };
      return [name, lifted];
    });
    const derived: Derived = (name, value, ...operands) => this.#derived(name, value, operands, format.name);
    const library = { ...(Object.fromEntries(others) as Record<FloatOperation, unknown>), ...known };
    return { ...library, sumProducts, derived };
  }

  /**
   * Returns a number as a sum of at most `most` products; undefined if it is something else. It is
   * stored in a format, or used by further operations.
   */
  sumOf(number: number, most: number, stored?: Precision): SymbolicSum | undefined {
    const terms: Term[] = [];
    let isHalf = false;
    let hidesNumbers = false;
    let [least, mostScale] = [1, 1];
    /** The roundings that numbers left in the sum as they cancelled. */
    let ofCancelled = 0;
    /** The largest factors of numbers that are parts of the sum, and of those that cancelled. */
    const parts = new Map<number, number>();
    const cancelled: [x: number, factor: number][] = [];
    const waiting: { x: number; coefficient: number; roundings: number }[] = [
      { x: number, coefficient: 1, roundings: 0 },
    ];
    const scale = (smaller: number, larger: number) => {
      least = Math.min(least, smaller);
      mostScale = Math.max(mostScale, larger);
    };
    /** Adds the terms of a product. Returns false if it has none. */
    const multiply = (a: number, b: number, coefficient: number, roundings: number): boolean => {
      const [left, right] = [this.sumOf(a, most), this.sumOf(b, most)];
      if (!left || !right || left.terms.length * right.terms.length > most) return false;
      isHalf ||= left.isHalf || right.isHalf;
      hidesNumbers ||= left.hidesNumbers || right.hidesNumbers;
      const factor = Math.abs(coefficient);
      const factorsIn = (sum: SymbolicSum) => sum.terms.map((each) => Math.abs(each.coefficient));
      for (const [one, other] of [
        [left, right],
        [right, left],
      ] as const) {
        const factors = factorsIn(other);
        scale(factor * one.least * Math.min(...factors), factor * one.most * Math.max(...factors));
      }
      for (const s of left.terms)
        for (const t of right.terms) {
          const factors = [...s.factors, ...t.factors];
          if (factors.length > mostFactors) return false;
          const all = roundings + 1 + s.roundings + t.roundings;
          terms.push({ coefficient: coefficient * s.coefficient * t.coefficient, factors, roundings: all });
        }
      return true;
    };
    for (;;) {
      const next = waiting.pop();
      if (!next) {
        hidesNumbers ||= cancelled.some(([x, factor]) => !(parts.get(x)! >= factor));
        const rounded =
          ofCancelled === 0 ? terms : terms.map((t) => ({ ...t, roundings: t.roundings + ofCancelled }));
        return { terms: rounded, isHalf, hidesNumbers, least, most: mostScale };
      }
      const { x, coefficient, roundings } = next;
      if (terms.length > most) return undefined;
      if (!isSymbol(x)) {
        if (x !== 0) terms.push({ coefficient: coefficient * x, factors: [], roundings });
        continue;
      }
      const i = x / unit;
      const [a, b] = [this.#first[i]!, this.#second[i]!];
      isHalf ||= this.#halves[i] === 1 && roundings > 0;
      const kind = kinds[this.#kinds[i]!]!;
      const factor = Math.abs(coefficient);
      // Without rests, nothing has cancelled.
      if (this.#cancelled.length > 0) parts.set(x, Math.max(parts.get(x) ?? 0, factor));
      if (kind !== "load" && kind !== "negate" && kind !== "rest") scale(factor, factor);
      switch (kind) {
        case "opaque":
        case "bits":
        case "function":
          return undefined;
        case "call":
          waiting.push({ x: a, coefficient, roundings });
          break;
        case "load":
          terms.push({ coefficient, factors: [{ source: this.#sources[a]!, address: b }], roundings });
          break;
        case "add":
        case "fused":
          isHalf ||= this.#halves[i] === 1;
          waiting.push({ x: b, coefficient, roundings: roundings + 1 });
          waiting.push({ x: a, coefficient, roundings: roundings + 1 });
          break;
        case "negate":
          waiting.push({ x: a, coefficient: -coefficient, roundings });
          break;
        case "narrow":
          // The last rounding may belong to the store.
          isHalf ||= stored !== "f16";
          waiting.push({ x: a, coefficient, roundings: roundings + 1 });
          break;
        case "rest": {
          const { numbers, roundings: more } = this.#cancelled[b]!;
          for (const each of numbers) cancelled.push([each, factor]);
          ofCancelled += more;
          waiting.push({ x: a, coefficient, roundings });
          break;
        }
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

  /** Returns the number that an expression loads; undefined for another one. */
  loadedAt(x: number): Loaded | undefined {
    if (!this.#isKind(x, "load")) return undefined;
    return { source: this.#sources[this.#first[x / unit]!]!, address: this.#second[x / unit]! };
  }

  /** Returns an expression as a function of others; undefined for other ones. */
  applicationAt(x: number): Application | undefined {
    const i = x / unit;
    const [a, b] = [this.#first[i]!, this.#second[i]!];
    const to = this.#halves[i] === 1 ? "f16" : "f32";
    const of = (template: string, ...operands: number[]) => ({ template, operands, from: to, to }) as const;
    switch (kinds[this.#kinds[i]!]!) {
      case "function":
      case "call":
        return this.#applications[b]!;
      case "add":
        return this.#isKind(b, "negate") ? of("$0 - $1", a, this.#first[b / unit]!) : of("$0 + $1", a, b);
      case "fused":
        return of("fma($0, $1, $2)", this.#first[a / unit]!, this.#second[a / unit]!, b);
      case "multiply":
        return of("$0 * $1", a, b);
      case "divide":
        return of("$0 / $1", a, b);
      case "negate":
        return of("-$0", a);
      case "narrow":
        return { template: "f16($0)", operands: [a], from: "f32", to: "f16" };
      default:
        return undefined;
    }
  }

  /**
   * Returns a sum without one of its operands. Sums that carry their error subtract one. The rest
   * keeps the numbers that cancelled, as their roundings stay in it.
   */
  #withoutTerm(sum: number, term: number, isHalf: boolean): number | undefined {
    if (!isSymbol(sum) || !isSymbol(term) || sum === opaque || term === opaque) return undefined;
    const [whole, part] = [this.#restOf(sum), this.#restOf(term)];
    const rest = (value: number, roundings: number, operand = nothing) => {
      const all = [whole.cancelled, part.cancelled, operand];
      const numbers = [...all.flatMap((each) => each.numbers), part.value];
      if (numbers.length > mostCancelled) return undefined;
      const sumOfRoundings = all.reduce((total, each) => total + each.roundings, roundings);
      return this.#add(
        "rest",
        value,
        this.#cancelled.push({ numbers, roundings: sumOfRoundings }) - 1,
        isHalf,
      );
    };
    if (!isSymbol(part.value)) return undefined;
    if (whole.value === part.value) return rest(0, 0);
    if (!this.#isKind(whole.value, "add") && !this.#isKind(whole.value, "fused")) return undefined;
    const i = whole.value / unit;
    const [a, b] = [this.#first[i]!, this.#second[i]!];
    const [first, second] = [this.#restOf(a), this.#restOf(b)];
    if (first.value === part.value) return rest(b, roundingsOfRest, first.cancelled);
    if (second.value === part.value) return rest(a, roundingsOfRest, second.cancelled);
    return undefined;
  }

  /** Returns the value of a number, without rounding, and the numbers that cancelled in it. */
  #restOf(x: number): { readonly value: number; readonly cancelled: Cancelled } {
    if (this.#isKind(x, "call")) return this.#restOf(this.#first[x / unit]!);
    if (!this.#isKind(x, "rest")) return { value: x, cancelled: nothing };
    const i = x / unit;
    const { value, cancelled } = this.#restOf(this.#first[i]!);
    const own = this.#cancelled[this.#second[i]!]!;
    const numbers = [...cancelled.numbers, ...own.numbers];
    return { value, cancelled: { numbers, roundings: cancelled.roundings + own.roundings } };
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
