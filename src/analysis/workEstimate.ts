/** How much an invocation of a kernel computes and how much memory it touches, as far as its text tells. */
import type { CallExpression, Expression, FunctionDeclaration, Statement } from "../wgsl/ast.ts";
import { sizeOf } from "../wgsl/layout.ts";
import type { Program } from "../wgsl/program.ts";
import type { Type } from "../wgsl/types.ts";
import { builtinFunction } from "./effects.ts";
import { assumedTrips, tripsOf } from "./loopTrips.ts";
import { isShared } from "./places.ts";

/** Estimates for one invocation: both sides of branches count, and loops of unknown length count as `assumedTrips`. */
export interface WorkEstimate {
  /** Arithmetic operations on 32-bit words; a transcendental function counts as four. */
  readonly operations: number;
  /** Loads from and stores to storage buffers, textures and workgroup memory. */
  readonly accesses: number;
  /** Bytes of storage buffers and textures that accesses outside of loops name; what loops access, caches mostly hold. */
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

  constructor(program: Program) {
    this.#program = program;
  }

  function(fn: FunctionDeclaration): WorkEstimate {
    const known = this.#functions.get(fn);
    if (known) return known;
    const [outer, times] = [this.#work, this.#times];
    this.#work = { ...nothing };
    this.#times = 1;
    for (const statement of fn.body.statements) this.#statement(statement);
    const work = this.#work;
    this.#work = outer;
    this.#times = times;
    this.#functions.set(fn, work);
    return work;
  }

  #statement(statement: Statement): void {
    switch (statement.kind) {
      case "block":
        for (const each of statement.statements) this.#statement(each);
        return;
      case "let":
      case "const":
        this.#value(statement.initializer);
        return;
      case "var":
        if (statement.initializer) this.#value(statement.initializer);
        return;
      case "assign":
        if (statement.target) {
          this.#access(statement.target);
          if (statement.operator !== "=") this.#value(statement.target);
        }
        this.#value(statement.value);
        return;
      case "increment":
        this.#access(statement.target);
        this.#value(statement.target);
        return;
      case "callStatement":
        this.#value(statement.call);
        return;
      case "if":
        this.#value(statement.condition);
        this.#statement(statement.then);
        if (statement.otherwise) this.#statement(statement.otherwise);
        return;
      case "switch":
        this.#value(statement.selector);
        for (const clause of statement.clauses) this.#statement(clause.body);
        return;
      case "loop":
        this.#repeated(assumedTrips, () => {
          this.#statement(statement.body);
          if (statement.continuing) this.#statement(statement.continuing);
          if (statement.breakIf) this.#value(statement.breakIf);
        });
        return;
      case "for":
        if (statement.initializer) this.#statement(statement.initializer);
        this.#repeated(tripsOf(this.#program, statement), () => {
          if (statement.condition) this.#value(statement.condition);
          this.#statement(statement.body);
          if (statement.update) this.#statement(statement.update);
        });
        return;
      case "while":
        this.#repeated(assumedTrips, () => {
          this.#value(statement.condition);
          this.#statement(statement.body);
        });
        return;
      case "return":
        if (statement.value) this.#value(statement.value);
        return;
      default:
        return;
    }
  }

  #repeated(trips: number, body: () => void): void {
    const times = this.#times;
    this.#times *= trips;
    body();
    this.#times = times;
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
      if (this.#times === 1) this.#work.bytes += called.bytes;
      this.#work.widestStorage = Math.max(this.#work.widestStorage, called.widestStorage);
      this.#work.widestWorkgroup = Math.max(this.#work.widestWorkgroup, called.widestWorkgroup);
      return;
    }
    const name = builtinFunction(this.#program, call);
    if (name === undefined) return;
    if (/^(texture|atomic)/.test(name)) {
      if (this.#times === 1) this.#work.bytes += bytesOfTexel;
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
      if (space === "storage" && this.#times === 1) this.#work.bytes += bytes;
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
