/**
 * The intermediate representation of a loop: plain data, typed, with all names resolved.
 * The front end makes it from TypeScript and directives. The bundler plugin writes it into the
 * program as JSON. The engine generates kernels from it. It has no closures, and no positions other
 * than offsets in `source`.
 * Numbers follow the rules of asm.js. An expression of type `i32` or `u32` has the bits that the
 * JavaScript expression has after `|0` or `>>>0`; its consumer applies that coercion. An expression
 * of type `f32` has the value of `Math.fround` around each operation, within the freedom that WGSL
 * leaves. Its consumer does not tell it from the double, unless the directive allows 32 bits. An
 * expression of type `f64` has JavaScript's value, exactly.
 * The tree has the shape of the source. JavaScript that applies the tree's operators therefore
 * gives the source's results, also when an element does not exist and is `undefined`. In kernels an
 * iteration that loads such an element bails out to the CPU. A store to an element that does not
 * exist does nothing.
 */
import type { Span } from "belay-gpu/internal/diagnostics/diagnostic";

export type NumberType = "i32" | "u32" | "f32" | "f64";
/** The types of floats. A loop computes all of its floats in one of them. */
export type FloatType = "f32" | "f64";
export type ValueType = NumberType | "bool";

/** The element type of a typed array. `u8c` clamps on a store, as a `Uint8ClampedArray` does. */
export type ElementType = "i8" | "u8" | "u8c" | "i16" | "u16" | NumberType;

/** A loop in the translator's representation. Kernels and the CPU version are generated from it. */
export interface Loop {
  readonly name: string;
  /** The position of the loop in its file. */
  readonly span: Span;
  /** The name and type of the induction variable. Iteration `k`, from 0, sees `from + k * step`. */
  readonly index: { readonly name: string; readonly type: "i32" | "u32" };
  readonly arrays: readonly LoopArray[];
  /** The variables from outside the loop that it only reads. */
  readonly inputs: readonly { readonly name: string; readonly type: NumberType }[];
  /**
   * The variables from outside the loop that it also writes. The engine treats each one as a
   * tracked array of one element. A loop that carries a value through every iteration therefore
   * runs sequentially.
   */
  readonly carried: readonly { readonly name: string; readonly type: NumberType }[];
  readonly reductions: readonly Reduction[];
  readonly body: readonly BodyStatement[];
  /**
   * True if no tracked element decides which elements an iteration accesses or which branch it
   * takes.
   */
  readonly addressesAreFixed: boolean;
  /**
   * The largest number of tracked loads, and of stores, in one iteration: counted, or given by a
   * clause. Null if neither bounds it.
   */
  readonly mostLoads: number | null;
  readonly mostStores: number | null;
  readonly schedule: Schedule;
  /** True if iterations may not commit in another order. */
  readonly isOrdered?: true;
  /** The WGSL functions that kernels may call besides those of their own library, by name. */
  readonly functions?: Readonly<Record<string, string>>;
}

export interface LoopArray {
  readonly name: string;
  readonly element: ElementType;
  /**
   * The role of the array. `read`: the loop never writes it. `tracked`: accesses are checked for
   * dependences. `owned`: the loop writes it, and no two iterations provably access the same
   * element, so accesses need no check. `combined`: a store combines the element with the value, by
   * the array's operator and in any order.
   */
  readonly role: "read" | "tracked" | "owned" | "combined";
  readonly operator?: CombiningOperator;
  /**
   * True for a copy of a plain array or of a string. An iteration that accesses an element outside
   * of it bails out, and the loop then runs as it is written.
   */
  readonly isCopy?: true;
}

export interface Reduction extends ReducedVariable {
  readonly operator: ReductionOperator | ChoiceOperator;
  /**
   * True for a sum, a minimum or a maximum of integers that the program takes modulo 2^32. All
   * products and bits are.
   */
  readonly wraps?: true;
  /** True for a sum of integers that may exceed their type. A double holds it. */
  readonly isWide?: true;
  /**
   * The largest change of a wide sum by one iteration, if a double may not hold the sum of all. The
   * engine then executes as many iterations at once as surely keep the sum exact.
   */
  readonly largestChange?: number;
  /** The variables that are set together with a chosen value. */
  readonly companions?: readonly ReducedVariable[];
}

export interface ReducedVariable {
  readonly name: string;
  readonly type: Exclude<NumberType, "f64">;
}

/** An operator by which iterations change a variable and nothing else. */
export type ReductionOperator = "+" | "*" | "min" | "max" | "&" | "|" | "^";

/** The operators that a GPU has as atomic operations. */
export type CombiningOperator = Exclude<ReductionOperator, "*">;

/**
 * The comparison of a choice, as in `if (value > x) x = value`: the first of the largest values for
 * `>`, and the last of them for `>=`. The choice `=` is the last value of all.
 */
export type ChoiceOperator = ">" | ">=" | "<" | "<=" | "=";

/** The number of iterations of a round. Null lets the engine decide and adapt. */
export interface Schedule {
  readonly iterationsPerRound: number | null;
}

export type LoopExpression =
  /**
   * A constant. `value` is the number, and 0 or 1 for `bool`. NaN and infinities are strings,
   * because JSON cannot hold them as numbers.
   */
  | {
      readonly kind: "literal";
      readonly type: ValueType;
      readonly value: number | "NaN" | "Infinity" | "-Infinity";
      /** The constant of the source, as JavaScript, if a store takes these bits of it. */
      readonly written?: string;
      /** True if the iteration bails out because the type does not hold the integer. */
      readonly checked?: true;
    }
  | { readonly kind: "index"; readonly type: "i32" | "u32" }
  | { readonly kind: "local"; readonly type: ValueType; readonly name: string }
  | { readonly kind: "input"; readonly type: NumberType; readonly name: string }
  | { readonly kind: "carried"; readonly type: NumberType; readonly name: string }
  | { readonly kind: "length"; readonly type: "i32"; readonly array: string }
  | {
      readonly kind: "load";
      readonly type: NumberType;
      readonly array: string;
      readonly index: LoopExpression;
      readonly span: Span;
      /** True if the element is known to exist. */
      readonly inside?: true;
    }
  | {
      readonly kind: "unary";
      readonly type: ValueType;
      readonly operator: "-" | "~" | "!";
      readonly operand: LoopExpression;
      /** True if the iteration bails out unless the type holds the exact result. */
      readonly checked?: true;
    }
  | {
      readonly kind: "binary";
      readonly type: ValueType;
      readonly operator: LoopOperator;
      readonly left: LoopExpression;
      readonly right: LoopExpression;
      /**
       * True if a product of integers is known to have at most 53 bits, so that it wraps like a
       * sum.
       */
      readonly small?: true;
      /**
       * True if the iteration bails out unless the integer type holds the exact result. A remainder
       * by zero has none.
       */
      readonly checked?: true;
      /** True if a product of floats is rounded on its own, and not fused with a sum. */
      readonly rounded?: true;
    }
  /** A choice that evaluates only the side it takes, as `&&` and `||` do. */
  | {
      readonly kind: "conditional";
      readonly type: ValueType;
      readonly test: LoopExpression;
      readonly yes: LoopExpression;
      readonly no: LoopExpression;
    }
  | {
      readonly kind: "call";
      readonly type: NumberType;
      readonly callee: MathFunction | WordFunction;
      readonly args: readonly LoopExpression[];
    }
  /**
   * A conversion by JavaScript's rules: ToInt32, ToUint32 or `Math.fround`. An implicit conversion
   * changes the type for kernels only; JavaScript sees the same number.
   */
  | {
      readonly kind: "convert";
      readonly type: ValueType;
      readonly operand: LoopExpression;
      readonly implicit?: true;
      /** True if the iteration bails out unless the type holds the integer. */
      readonly checked?: true;
    };

/**
 * The operators of two operands. Both operands have the same type, except for shifts. `/` and `%`
 * of integers are JavaScript's after `|0`, so that a division by zero gives 0. A quotient of
 * integers only occurs where it is coerced or truncated.
 */
export type LoopOperator =
  | "+"
  | "-"
  | "*"
  | "/"
  | "%"
  | "&"
  | "|"
  | "^"
  | "<<"
  | ">>"
  | ">>>"
  | "=="
  | "!="
  | "<"
  | "<="
  | ">"
  | ">="
  | "&&"
  | "||";

/**
 * The functions of `Math`. `floor`, `ceil` and `trunc` of an integer type take an integer quotient,
 * which is already truncated.
 */
export type MathFunction =
  | "abs"
  | "ceil"
  | "floor"
  | "round"
  | "trunc"
  | "sign"
  | "sqrt"
  | "min"
  | "max"
  | "imul"
  | "clz32"
  | "exp"
  | "exp2"
  | "log"
  | "log2"
  | "pow"
  | "sin"
  | "cos"
  | "tan"
  | "asin"
  | "acos"
  | "atan"
  | "atan2"
  | "sinh"
  | "cosh"
  | "tanh"
  | "hypot";

/**
 * The functions that make doubles of words, in loops for kernels only (`wordLoop.ts`). `double`
 * takes its low word and its high word. `low` and `high` return them. `lowWord` and `highWord`
 * return the places of an element's words.
 */
export type WordFunction = "double" | "low" | "high" | "lowWord" | "highWord";

export type BodyStatement =
  | {
      readonly kind: "declare";
      readonly name: string;
      readonly type: ValueType;
      readonly value: LoopExpression;
    }
  | { readonly kind: "assign"; readonly name: string; readonly value: LoopExpression }
  | { readonly kind: "assignCarried"; readonly name: string; readonly value: LoopExpression }
  | {
      readonly kind: "store";
      readonly array: string;
      readonly index: LoopExpression;
      readonly value: LoopExpression;
      readonly span: Span;
      /** True if the element is known to exist. */
      readonly inside?: true;
    }
  /** `companions` are the values of the reduction's companions, evaluated in any case. */
  | {
      readonly kind: "reduce";
      readonly name: string;
      readonly value: LoopExpression;
      readonly companions?: readonly LoopExpression[];
    }
  | {
      readonly kind: "if";
      readonly test: LoopExpression;
      readonly yes: readonly BodyStatement[];
      readonly no: readonly BodyStatement[];
    }
  /**
   * The loop `while (true) { body; update }`. `continue` goes to `update`. `label` is unique in the
   * speculated loop.
   */
  | {
      readonly kind: "loop";
      readonly label: string;
      /** The largest number of executions of the body, if it is known. */
      readonly most?: number;
      readonly body: readonly BodyStatement[];
      readonly update: readonly BodyStatement[];
    }
  | { readonly kind: "break"; readonly label: string }
  | { readonly kind: "continue"; readonly label: string }
  /** The end of the iteration, as by `continue` of the speculated loop. */
  | { readonly kind: "endIteration" }
  /** The end of the speculated loop after this iteration, as by its `break`. */
  | { readonly kind: "endLoop" }
  | { readonly kind: "misspeculate"; readonly which: Misspeculated; readonly span: Span };

/**
 * The iterations that misspeculate when a branch is taken. `relative` and `range` count from the
 * iteration that takes the branch; a range to null has no end. `absolute` is the iteration with a
 * computed index. `between` lies between two iterations of either kind.
 */
export type Misspeculated =
  | { readonly kind: "relative"; readonly offsets: readonly number[] }
  | { readonly kind: "range"; readonly from: number; readonly to: number | null }
  | { readonly kind: "absolute"; readonly index: LoopExpression }
  | { readonly kind: "between"; readonly from: IterationBound; readonly to: IterationBound | null };

/** An iteration, given by its distance from another one or by its index. */
export type IterationBound =
  | { readonly kind: "relative"; readonly offset: number }
  | { readonly kind: "absolute"; readonly index: LoopExpression };
