/** Estimates the arithmetic and memory traffic of one invocation from the kernel's source. */
import type {
  CallExpression,
  Declaration,
  Expression,
  FunctionDeclaration,
  Statement,
  SwitchClause,
} from "../wgsl/ast.ts";
import { sizeOf } from "../wgsl/layout.ts";
import type { Program } from "../wgsl/program.ts";
import { forEachChild, isExpression } from "../wgsl/traverse.ts";
import type { Type } from "../wgsl/types.ts";
import { reachableFrom } from "./callGraph.ts";
import { builtinFunction } from "./effects.ts";
import { assumedTrips, constantTripsOf } from "./loopTrips.ts";
import { isShared, rootVariable } from "./places.ts";

/**
 * The estimates for one invocation. Both sides of a branch count, and a loop of unknown length
 * counts as {@link assumedTrips} iterations.
 */
export interface WorkEstimate {
  /** The arithmetic operations on 32-bit words. A transcendental function counts as four. */
  readonly operations: number;
  /** The loads from and stores to storage buffers, textures and workgroup memory. */
  readonly accesses: number;
  /**
   * The bytes of storage buffers and textures that are accessed outside of loops and in short
   * loops. Accesses in longer loops mostly hit caches.
   */
  readonly bytes: number;
  /** The loads from and stores to storage buffers, and those among them to given buffers. */
  readonly storageAccesses: number;
  readonly markedAccesses: number;
  /** The number of arrays that functions declare. Each invocation keeps them in registers. */
  readonly localArrays: number;
  /** The widest access to storage buffers in bytes. */
  readonly widestStorage: number;
  /** The widest access to workgroup memory in bytes. */
  readonly widestWorkgroup: number;
}

const nothing: WorkEstimate = {
  operations: 0,
  accesses: 0,
  bytes: 0,
  storageAccesses: 0,
  markedAccesses: 0,
  localArrays: 0,
  widestStorage: 0,
  widestWorkgroup: 0,
};

const transcendental =
  /^(a?sin|a?cos|a?tan|atan2|sinh|cosh|tanh|exp2?|log2?|pow|sqrt|inverseSqrt|length|distance|normalize)$/;
const bytesOfTexel = 4;
/**
 * The trips up to which a loop is taken to access new memory in each. Longer loops mostly return to
 * cached memory.
 */
const mostStreamed = 16;

/**
 * Returns the estimate for one invocation of `entryPoint`, including the functions that it calls.
 * Accesses to the buffers in `marked` are also counted apart.
 */
export function estimateWork(
  program: Program,
  entryPoint: FunctionDeclaration,
  marked: ReadonlySet<Declaration> = new Set(),
): WorkEstimate {
  const estimator = new Estimator(program, marked);
  // Callees come first, because call chains may be longer than the call stack.
  for (const fn of reachableFrom(program, [entryPoint])) estimator.function(fn);
  return estimator.function(entryPoint);
}

type Draft = { -readonly [Part in keyof WorkEstimate]: number };

class Estimator {
  readonly #program: Program;
  readonly #marked: ReadonlySet<Declaration>;
  readonly #functions = new Map<FunctionDeclaration, WorkEstimate>();
  #work: Draft = { ...nothing };
  #times = 1;
  /**
   * The number of times that the current statement accesses new bytes: 0 in a loop that mostly hits
   * caches.
   */
  #streamed = 1;

  constructor(program: Program, marked: ReadonlySet<Declaration>) {
    this.#program = program;
    this.#marked = marked;
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

  /** Adds the work of a statement, or of a clause of a `switch`. */
  #statement(statement: Statement | SwitchClause): void {
    switch (statement.kind) {
      case "let":
      case "const":
      case "var":
        if (statement.initializer) this.#value(statement.initializer);
        if (this.#program.declaredTypeOf(statement).kind === "array") this.#work.localArrays++;
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

  /** Adds the work of an expression whose value is needed. */
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
      this.#work.storageAccesses += this.#times * called.storageAccesses;
      this.#work.markedAccesses += this.#times * called.markedAccesses;
      this.#work.localArrays += called.localArrays;
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

  /** Adds a load or a store of the place that `expression` denotes. */
  #access(expression: Expression): void {
    const type = this.#program.typeOf(expression);
    if (type.kind === "reference" && isShared(type.space)) {
      const { store, space } = type;
      const bytes = store.kind === "array" ? 0 : sizeOf(store);
      const widest = space === "storage" ? "widestStorage" : "widestWorkgroup";
      this.#work.accesses += this.#times;
      this.#work[widest] = Math.max(this.#work[widest], bytes);
      if (space === "storage") {
        const root = rootVariable(this.#program, expression)?.variable;
        this.#work.bytes += this.#streamed * bytes;
        this.#work.storageAccesses += this.#times;
        if (root && this.#marked.has(root)) this.#work.markedAccesses += this.#times;
      }
    }
    this.#indices(expression);
  }

  /** Adds the work of computing the address of the place that `expression` denotes. */
  #indices(expression: Expression): void {
    if (expression.kind === "index") {
      this.#indices(expression.base);
      this.#value(expression.index);
    } else if (expression.kind === "memberAccess") this.#indices(expression.base);
    else if (expression.kind === "unary") this.#indices(expression.operand);
  }
}

/** Returns the number of words that an operation with a result of this type works on. */
function wordsOf(type: Type): number {
  if (type.kind === "vector") return type.size;
  if (type.kind === "matrix") return type.columns * type.rows;
  return 1;
}
