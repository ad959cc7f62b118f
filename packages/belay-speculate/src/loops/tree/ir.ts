/**
 * A loop as everything behind the front end knows it: plain data, typed, with all names resolved.
 *
 * The front end (TypeScript and directives) makes it, the plugin writes it into the program as
 * JSON, and the engine turns it into kernels. It has no closures and no positions other than
 * offsets in `source`.
 *
 * Numbers follow the rules of asm.js: an expression of type `i32` or `u32` has exactly the bits
 * that the JavaScript expression has after `|0` or `>>>0`, which is what its consumer applies;
 * `f32` is what `Math.fround` of each operation gives, up to what WGSL leaves open.
 *
 * The tree has the shape of the source, so that its operators, applied by JavaScript to whatever
 * JavaScript would find, give what the source gives, also where an element does not exist and is
 * `undefined`. Kernels leave iterations that meet such an element to the CPU. Stores to elements
 * that do not exist do nothing.
 */
import type { Span } from "belay-gpu/internal/diagnostics/diagnostic";

export type NumberType = "i32" | "u32" | "f32";
export type ValueType = NumberType | "bool";

/** Element types of typed arrays; `u8c` clamps on a store, as a `Uint8ClampedArray` does. */
export type ElementType = "i8" | "u8" | "u8c" | "i16" | "u16" | NumberType;

/** A loop as the translator has understood it; kernels and the CPU version are made of it. */
export interface Loop {
  readonly name: string;
  /** Where the loop stands in its file. */
  readonly span: Span;
  /** The induction variable's name and type; iteration `k` (from 0) sees `from + k * step`. */
  readonly index: { readonly name: string; readonly type: "i32" | "u32" };
  readonly arrays: readonly LoopArray[];
  /** Values from outside that the loop only reads. */
  readonly inputs: readonly { readonly name: string; readonly type: NumberType }[];
  /**
   * Variables from outside that the loop also writes. The engine treats each as a tracked array of
   * one element, so a loop that carries a value through every iteration is as sequential as it
   * looks.
   */
  readonly carried: readonly { readonly name: string; readonly type: NumberType }[];
  readonly reductions: readonly Reduction[];
  readonly body: readonly Statement[];
  /**
   * True when no tracked element decides which elements an iteration accesses or which way it
   * branches.
   */
  readonly addressesAreFixed: boolean;
  /**
   * Most tracked loads and stores of one iteration: counted, or given by a clause; null when
   * neither bounds them.
   */
  readonly mostLoads: number | null;
  readonly mostStores: number | null;
  readonly schedule: Schedule;
}

export interface LoopArray {
  readonly name: string;
  readonly element: ElementType;
  /**
   * `read`: never written by the loop. `tracked`: accesses are checked for dependences. `owned`:
   * written, and proven to be accessed by no two iterations at the same element, so nothing has to
   * be checked.
   */
  readonly role: "read" | "tracked" | "owned";
}

export interface Reduction {
  readonly name: string;
  readonly type: NumberType;
  readonly operator: "+" | "*" | "min" | "max" | "&" | "|" | "^";
}

/** How many iterations a round takes. Null: the engine decides and adapts. */
export interface Schedule {
  readonly iterationsPerRound: number | null;
}

export type Expression =
  /**
   * `value` is the number; for `bool` 0 or 1; NaN and infinities are written as strings, which JSON
   * can carry.
   */
  | {
      readonly kind: "literal";
      readonly type: ValueType;
      readonly value: number | "NaN" | "Infinity" | "-Infinity";
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
      readonly index: Expression;
      readonly span: Span;
      /** The element is known to exist. */
      readonly inside?: true;
    }
  | {
      readonly kind: "unary";
      readonly type: ValueType;
      readonly operator: "-" | "~" | "!";
      readonly operand: Expression;
    }
  | {
      readonly kind: "binary";
      readonly type: ValueType;
      readonly operator: BinaryOperator;
      readonly left: Expression;
      readonly right: Expression;
      /**
       * Of a product of integers: it is known to have at most 53 bits, so that it wraps like a sum.
       */
      readonly small?: true;
    }
  /** Evaluates only the side it takes, like `&&` and `||` do. */
  | {
      readonly kind: "conditional";
      readonly type: ValueType;
      readonly test: Expression;
      readonly yes: Expression;
      readonly no: Expression;
    }
  | {
      readonly kind: "call";
      readonly type: NumberType;
      readonly callee: MathFunction;
      readonly args: readonly Expression[];
    }
  /**
   * To another type, by JavaScript's rules: ToInt32, ToUint32, `Math.fround`. One that is implicit
   * gives a number another type for kernels; to JavaScript it is the same number.
   */
  | {
      readonly kind: "convert";
      readonly type: ValueType;
      readonly operand: Expression;
      readonly implicit?: true;
    };

/**
 * Operands have the same type, except for shifts; `/` and `%` of integers are JavaScript's after
 * `|0`: by zero they give 0. A quotient of integers only stands where it is coerced or truncated.
 */
export type BinaryOperator =
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
 * `floor`, `ceil` and `trunc` of an integer type are of an integer quotient, which is truncated
 * already.
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

export type Statement =
  | { readonly kind: "declare"; readonly name: string; readonly type: ValueType; readonly value: Expression }
  | { readonly kind: "assign"; readonly name: string; readonly value: Expression }
  | { readonly kind: "assignCarried"; readonly name: string; readonly value: Expression }
  | {
      readonly kind: "store";
      readonly array: string;
      readonly index: Expression;
      readonly value: Expression;
      readonly span: Span;
      /** The element is known to exist. */
      readonly inside?: true;
    }
  | { readonly kind: "reduce"; readonly name: string; readonly value: Expression }
  | {
      readonly kind: "if";
      readonly test: Expression;
      readonly yes: readonly Statement[];
      readonly no: readonly Statement[];
    }
  /**
   * `while (true) { body; update }`; `continue` goes to `update`. `label` is unique in the loop.
   */
  | {
      readonly kind: "loop";
      readonly label: string;
      /** How often the body runs at most, where that is known. */
      readonly most?: number;
      readonly body: readonly Statement[];
      readonly update: readonly Statement[];
    }
  | { readonly kind: "break"; readonly label: string }
  | { readonly kind: "continue"; readonly label: string }
  /** Ends the iteration, as `continue` of the speculated loop does. */
  | { readonly kind: "endIteration" }
  /** Ends the speculated loop after this iteration, as its `break` does. */
  | { readonly kind: "endLoop" }
  | { readonly kind: "misspeculate"; readonly which: Misspeculated; readonly span: Span };

/**
 * The iterations that a branch makes wrong, once it is taken: relative to the iteration that takes
 * it, from `from` to `to` (null: all that follow), the iteration with an index that is computed, or
 * those between two of either kind.
 */
export type Misspeculated =
  | { readonly kind: "relative"; readonly offsets: readonly number[] }
  | { readonly kind: "range"; readonly from: number; readonly to: number | null }
  | { readonly kind: "absolute"; readonly index: Expression }
  | { readonly kind: "between"; readonly from: IterationBound; readonly to: IterationBound | null };

/** An iteration: at a distance from another one, or with an index. */
export type IterationBound =
  | { readonly kind: "relative"; readonly offset: number }
  | { readonly kind: "absolute"; readonly index: Expression };
