/**
 * How much an invocation of a kernel computes and how much memory it touches, as far as its text
 * tells.
 */
import type {
  CallExpression,
  Expression,
  FunctionDeclaration,
  Statement,
  SwitchClause,
} from "../wgsl/ast.ts";
import { sizeOf } from "../wgsl/layout.ts";
import type { Program } from "../wgsl/program.ts";
import { forEachChild, isExpression } from "../wgsl/traverse.ts";
import type { Type } from "../wgsl/types.ts";
import { builtinFunction } from "./effects.ts";
import { assumedTrips, constantTripsOf } from "./loopTrips.ts";
import { isShared } from "./places.ts";

/**
 * Estimates for one invocation: both sides of branches count, and loops of unknown length count as
 * `assumedTrips`.
 */
export interface WorkEstimate {
  /** Arithmetic operations on 32-bit words; a transcendental function counts as four. */
  readonly operations: number;
  /** Loads from and stores to storage buffers, textures and workgroup memory. */
  readonly accesses: number;
  /**
   * Bytes of storage buffers and textures that accesses name outside of loops, and in short ones;
   * what others access, caches mostly hold.
   */
  readonly bytes: number;
  /** The widest access to storage buffers, and the widest to workgroup memory, in bytes. */
  readonly widestStorage: number;
  readonly widestWorkgroup: number;
}

const nothing: WorkEstimate = {
  operations: 0,
  accesses: 0,
  bytes: 0,
  widestStorage: 0,
  widestWorkgroup: 0,
};

const transcendental =
  /^(a?sin|a?cos|a?tan|atan2|sinh|cosh|tanh|exp2?|log2?|pow|sqrt|inverseSqrt|length|distance|normalize)$/;
const bytesOfTexel = 4;
/** Loops of so few trips go on through memory; longer ones come back to what a cache holds. */
const mostStreamed = 16;

/** The work of an invocation of `entryPoint`, the functions that it calls included. */
export function estimateWork(program: Program, entryPoint: FunctionDeclaration): WorkEstimate {
  return new Estimator(program).function(entryPoint);
}

type Draft = { -readonly [Part in keyof WorkEstimate]: number };

class Estimator {
  readonly #program: Program;
  readonly #functions = new Map<FunctionDeclaration, WorkEstimate>();
  #work: Draft = { ...nothing };
  #times = 1;
  /**
   * How often accesses name other bytes than before: 0 in loops whose accesses caches mostly hold.
   */
  #streamed = 1;

  constructor(program: Program) {
    this.#program = program;
  }

  function(fn: FunctionDeclaration): WorkEstimate {
    const known = this.#functions.get(fn);
    if (known) return known;
    const [outer, times, streamed] = [this.#work, this.#times, this.#streamed];
    this.#work = { ...nothing };
    this.#times = 1;
    this.#streamed = 1;
    this.#statement(fn.body);
    const work = this.#work;
    this.#work = outer;
    this.#times = times;
    this.#streamed = streamed;
    this.#functions.set(fn, work);
    return work;
  }

  /** A statement, or a clause of a `switch`. */
  #statement(statement: Statement | SwitchClause): void {
    switch (statement.kind) {
      case "let":
      case "const":
      case "var":
        if (statement.initializer) this.#value(statement.initializer);
        break;
      case "assign":
        if (statement.target) {
          this.#access(statement.target);
          if (statement.operator !== "=") this.#value(statement.target);
        }
        this.#value(statement.value);
        break;
      case "increment":
        this.#access(statement.target);
        this.#value(statement.target);
        break;
      case "loop":
      case "while":
        this.#repeated(undefined, () => this.#parts(statement));
        break;
      case "for":
        if (statement.initializer) this.#statement(statement.initializer);
        this.#repeated(constantTripsOf(this.#program, statement), () =>
          this.#parts({ ...statement, initializer: null }),
        );
        break;
      default:
        this.#parts(statement);
    }
  }

  #parts(statement: Statement | SwitchClause): void {
    forEachChild(statement, (child) => {
      if (isExpression(child)) this.#value(child);
      else if (child.kind !== "attribute") this.#statement(child as Statement | SwitchClause);
    });
  }

  #repeated(trips: number | undefined, body: () => void): void {
    const [times, streamed] = [this.#times, this.#streamed];
    this.#times *= trips ?? assumedTrips;
    this.#streamed *= trips !== undefined && trips <= mostStreamed ? trips : 0;
    body();
    this.#times = times;
    this.#streamed = streamed;
  }

  /** An expression whose value is needed. */
  #value(expression: Expression): void {
    if (this.#program.constantOf(expression)) return;
    const type = this.#program.typeOf(expression);
    if (type.kind === "reference") {
      this.#access(expression);
      return;
    }
    switch (expression.kind) {
      case "unary":
        if (expression.operator === "&" || expression.operator === "*") this.#indices(expression.operand);
        else this.#operation(expression, [expression.operand]);
        return;
      case "binary":
        this.#operation(expression, [expression.left, expression.right]);
        return;
      case "call":
        this.#call(expression);
        return;
      case "index":
        this.#value(expression.base);
        this.#value(expression.index);
        return;
      case "memberAccess":
        this.#value(expression.base);
        return;
      default:
        return;
    }
  }

  #operation(expression: Expression, operands: readonly Expression[], each = 1): void {
    this.#work.operations += this.#times * each * wordsOf(this.#program.valueTypeOf(expression));
    for (const operand of operands) this.#value(operand);
  }

  #call(call: CallExpression): void {
    const target = this.#program.targetOf(call.callee);
    for (const argument of call.args) this.#value(argument);
    if (target?.kind === "function") {
      const called = this.function(target);
      this.#work.operations += this.#times * called.operations;
      this.#work.accesses += this.#times * called.accesses;
      this.#work.bytes += this.#streamed * called.bytes;
      this.#work.widestStorage = Math.max(this.#work.widestStorage, called.widestStorage);
      this.#work.widestWorkgroup = Math.max(this.#work.widestWorkgroup, called.widestWorkgroup);
      return;
    }
    const name = builtinFunction(this.#program, call);
    if (name === undefined) return;
    if (/^(texture|atomic)/.test(name)) {
      this.#work.bytes += this.#streamed * bytesOfTexel;
      this.#work.accesses += this.#times;
    } else if (!name.endsWith("Barrier")) {
      this.#operation(call, [], transcendental.test(name) ? 4 : 1);
    }
  }

  /** A load or a store of the place that `expression` denotes. */
  #access(expression: Expression): void {
    const type = this.#program.typeOf(expression);
    if (type.kind === "reference" && isShared(type.space)) {
      const { store, space } = type;
      const bytes = store.kind === "array" ? 0 : sizeOf(store);
      const widest = space === "storage" ? "widestStorage" : "widestWorkgroup";
      this.#work.accesses += this.#times;
      this.#work[widest] = Math.max(this.#work[widest], bytes);
      if (space === "storage") this.#work.bytes += this.#streamed * bytes;
    }
    this.#indices(expression);
  }

  /** What has to be computed to know the place that `expression` denotes. */
  #indices(expression: Expression): void {
    if (expression.kind === "index") {
      this.#indices(expression.base);
      this.#value(expression.index);
    } else if (expression.kind === "memberAccess") this.#indices(expression.base);
    else if (expression.kind === "unary") this.#indices(expression.operand);
  }
}

/** How many words an operation that gives this type works on. */
function wordsOf(type: Type): number {
  if (type.kind === "vector") return type.size;
  if (type.kind === "matrix") return type.columns * type.rows;
  return 1;
}
