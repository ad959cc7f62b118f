/** How much an invocation of a kernel computes and how much memory it touches, as far as its text tells. */
import type {
  CallExpression,
  Expression,
  ForStatement,
  FunctionDeclaration,
  GlobalVariable,
  Statement,
} from "../wgsl/ast.ts";
import { sizeOf } from "../wgsl/layout.ts";
import type { Program } from "../wgsl/program.ts";
import type { Type } from "../wgsl/types.ts";
import { builtinFunction } from "./effects.ts";
import { isShared, rootVariable } from "./places.ts";

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
  /** What is done with each storage or uniform buffer; not what called functions do through pointers. */
  readonly buffers: ReadonlyMap<GlobalVariable, BufferWork>;
}

/** The loads and the stores of a buffer; atomic operations are neither. */
export interface BufferWork {
  readonly loads: AccessWork;
  readonly stores: AccessWork;
}

export interface AccessWork {
  readonly count: number;
  /** Of all accesses, and of those outside of loops. */
  readonly bytes: number;
  readonly streamed: number;
}

const nothing: Omit<WorkEstimate, "buffers"> = {
  operations: 0,
  accesses: 0,
  bytes: 0,
  widestStorage: 0,
  widestWorkgroup: 0,
};

/** Trips of a loop whose bounds are not constant. */
const assumedTrips = 16;

const transcendental =
  /^(a?sin|a?cos|a?tan|atan2|sinh|cosh|tanh|exp2?|log2?|pow|sqrt|inverseSqrt|length|distance|normalize)$/;
const bytesOfTexel = 4;

/** The work of an invocation of `entryPoint`, the functions that it calls included. */
export function estimateWork(program: Program, entryPoint: FunctionDeclaration): WorkEstimate {
  return new Estimator(program).function(entryPoint);
}

type Counts = { -readonly [Part in keyof AccessWork]: number };
type Draft = { -readonly [Part in keyof typeof nothing]: number } & {
  readonly buffers: Map<GlobalVariable, { loads: Counts; stores: Counts }>;
};

const draft = (): Draft => ({ ...nothing, buffers: new Map() });

class Estimator {
  readonly #program: Program;
  readonly #functions = new Map<FunctionDeclaration, WorkEstimate>();
  #work: Draft = draft();
  #times = 1;

  constructor(program: Program) {
    this.#program = program;
  }

  function(fn: FunctionDeclaration): WorkEstimate {
    const known = this.#functions.get(fn);
    if (known) return known;
    const [outer, times] = [this.#work, this.#times];
    this.#work = draft();
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
          this.#access(statement.target, "stores");
          if (statement.operator !== "=") this.#value(statement.target);
        }
        this.#value(statement.value);
        return;
      case "increment":
        this.#access(statement.target, "stores");
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
        this.#repeated(this.#tripsOf(statement), () => {
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

  /** `for (var i = a; i < b; i += c)` with constants tells; anything else is assumed. */
  #tripsOf({ initializer, condition, update }: ForStatement): number {
    if (initializer?.kind !== "var" || condition?.kind !== "binary" || !update) return assumedTrips;
    const from = this.#constant(initializer.initializer);
    const to = this.#constant(condition.right);
    const step = update.kind === "assign" ? this.#constant(update.value) : 1;
    const isLinear =
      update.kind === "increment" || (update.kind === "assign" && /^[+-]=$/.test(update.operator));
    if (from === undefined || to === undefined || !step || !isLinear) return assumedTrips;
    return Math.max(1, Math.ceil(Math.abs(to - from) / Math.abs(step)));
  }

  #constant(expression: Expression | null): number | undefined {
    const constant = expression && this.#program.constantOf(expression);
    return constant && "value" in constant ? Number(constant.value) : undefined;
  }

  /** An expression whose value is needed. */
  #value(expression: Expression): void {
    if (this.#program.constantOf(expression)) return;
    const type = this.#program.typeOf(expression);
    if (type.kind === "reference") {
      this.#access(expression, "loads");
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
      for (const [variable, { loads, stores }] of called.buffers) {
        this.#note(variable, "loads", loads);
        this.#note(variable, "stores", stores);
      }
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
  #access(expression: Expression, kind: keyof BufferWork): void {
    const type = this.#program.typeOf(expression);
    if (type.kind === "reference" && (type.space === "storage" || type.space === "uniform")) {
      const root = rootVariable(this.#program, expression);
      const bytes = type.store.kind === "array" && type.store.count === "runtime" ? 0 : sizeOf(type.store);
      if (root) this.#note(root.variable, kind, { count: 1, bytes, streamed: bytes });
    }
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

  #note(variable: GlobalVariable, kind: keyof BufferWork, { count, bytes, streamed }: AccessWork): void {
    const none = { count: 0, bytes: 0, streamed: 0 };
    const work = this.#work.buffers.get(variable) ?? { loads: { ...none }, stores: { ...none } };
    this.#work.buffers.set(variable, work);
    work[kind].count += this.#times * count;
    work[kind].bytes += this.#times * bytes;
    if (this.#times === 1) work[kind].streamed += streamed;
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
