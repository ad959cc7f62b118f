/**
 * Finds the bytes of its buffers that a dispatch fills, whatever they held before. It interprets
 * the kernel once for all invocations: ids and counters of loops are unknowns, and integers are
 * sums of them. The size of the grid, the sizes of buffers and the contents of uniform buffers are
 * known.
 *
 * A store counts if its conditions are understood. Nothing is assumed about the others, so the
 * answer is never too large.
 */
import type {
  BinaryOperator,
  CallExpression,
  Expression,
  ForStatement,
  FunctionDeclaration,
  GlobalVariable,
  IfStatement,
  Statement,
} from "../../wgsl/ast.ts";
import { memberOffsets, sizeOf, strideOf } from "../../wgsl/layout.ts";
import type { Program, Target } from "../../wgsl/program.ts";
import { type AnyNode, forEachChild, walk } from "../../wgsl/traverse.ts";
import type { ScalarType, Type } from "../../wgsl/types.ts";
import { type BindingPoint, bindingPointOf } from "../bindings.ts";
import { builtinValueOf } from "../builtinValueOf.ts";
import { reachableFrom } from "../callGraph.ts";
import { addressSpaceOf, type Place, placeOf, rootIdentifier, spaceOf } from "../places.ts";
import { knownWorkgroupSize } from "../workgroupSize.ts";
import { type BufferStore, type Condition, type FilledRange, filledRanges } from "./stores.ts";
import { constantSum, isConstant, keyOf, minus, plus, type Sum, times, Unknowns } from "./sums.ts";
import {
  and,
  composite,
  conditionKey,
  decided,
  fitted,
  isInteger,
  isSame,
  type KnownValue,
  known,
  lifted,
  not,
  operate,
  or,
  type Truth,
  toTruth,
  truthOf,
  unknownTruth,
  zeroOf,
} from "./values.ts";

export type { FilledRange } from "./stores.ts";

/** A dispatch with all that is known about its bindings. */
export interface KnownDispatch {
  /** The number of workgroups in each dimension. */
  readonly grid: readonly number[];
  /** Returns the size of a bound buffer range in bytes; undefined if it is not known. */
  sizeOf(of: BindingPoint): number | undefined;
  /**
   * Returns the word of a uniform buffer at a byte of its binding, as an unsigned integer;
   * undefined if it is not known.
   */
  wordAt(of: BindingPoint, offset: number): number | undefined;
}

/** Returns the ranges of bindings that a dispatch of a kernel fills. Overrides must have values. */
export function filledBytes(
  program: Program,
  kernel: FunctionDeclaration,
  dispatch: KnownDispatch,
): FilledRange[] {
  const size = knownWorkgroupSize(program, kernel);
  if (!size || !dispatch.grid.every((count) => count >= 1)) return [];
  return filledRanges(new Interpreter(program, dispatch, size).storesOf(kernel));
}

/** The most statements and expressions that are visited, calls included. */
const MOST_VISITS = 50_000;
const MOST_STORES = 1024;

/** Thrown to end the analysis of a kernel that is too large. */
class TooLarge extends Error {}

/** The way in which control leaves a statement: to the next one, or never to it. */
type Flow = "next" | "ends";

class Interpreter {
  readonly #program: Program;
  readonly #dispatch: KnownDispatch;
  readonly #size: readonly number[];
  readonly #unknowns = new Unknowns();
  /** The variables that a pointer may change. */
  readonly #untracked: ReadonlySet<Target>;
  readonly #assigned = new Map<AnyNode, ReadonlySet<Target>>();
  /** The conditions under which the next statement is executed. */
  #path: readonly Condition[] = [];
  #values = new Map<Target, KnownValue>();
  #stores: BufferStore[] = [];
  /** The values of the function's result and of all variables at each `return` so far. */
  #returned: { readonly result: KnownValue; readonly values: Map<Target, KnownValue> }[] = [];
  #loops = 0;
  #visits = 0;

  constructor(program: Program, dispatch: KnownDispatch, size: readonly number[]) {
    this.#program = program;
    this.#dispatch = dispatch;
    this.#size = size;
    this.#untracked = addressedIn(program);
  }

  storesOf(kernel: FunctionDeclaration): readonly BufferStore[] {
    try {
      for (const declaration of this.#program.module.declarations) {
        if (declaration.kind === "globalVariable" && addressSpaceOf(declaration) === "private")
          this.#set(declaration, this.#initial(declaration));
      }
      const builtins = this.#builtins();
      for (const parameter of kernel.parameters) {
        const type = this.#program.declaredTypeOf(parameter);
        const members = type.kind === "struct" ? type.declaration?.members : undefined;
        const own = builtins.get(builtinValueOf(parameter.attributes));
        const inStruct = members?.map(({ attributes }) => builtins.get(builtinValueOf(attributes)));
        this.#set(parameter, inStruct ? composite(inStruct) : own);
      }
      this.#execute(kernel.body);
      return this.#stores;
    } catch (error) {
      if (error instanceof TooLarge) return [];
      throw error;
    }
  }

  #builtins(): ReadonlyMap<string, KnownValue> {
    const { grid } = this.#dispatch;
    const size = this.#size;
    const groups = grid.map((count) => this.#unknowns.independent(count));
    const locals = size.map((count) => this.#unknowns.independent(count));
    const [x, y, z] = locals as [Sum, Sum, Sum];
    const global = groups.map((group, i) => plus(times(group, size[i]!), locals[i]!));
    return new Map<string, KnownValue>([
      ["workgroup_id", composite(groups)],
      ["local_invocation_id", composite(locals)],
      ["global_invocation_id", composite(global.map((each) => fitted(each, u32) as Sum))],
      ["local_invocation_index", plus(x, plus(times(y, size[0]!), times(z, size[0]! * size[1]!)))],
      ["num_workgroups", composite(grid.map(constantSum))],
    ]);
  }

  #visit(): void {
    if (++this.#visits > MOST_VISITS) throw new TooLarge();
  }

  #set(target: Target, value: KnownValue): void {
    if (!this.#untracked.has(target)) this.#values.set(target, value);
  }

  // Statements

  #execute(statement: Statement): Flow {
    this.#visit();
    switch (statement.kind) {
      case "block":
        for (const each of statement.statements) if (this.#execute(each) === "ends") return "ends";
        return "next";
      case "let":
        this.#set(statement, this.#evaluate(statement.initializer));
        return "next";
      case "var":
        this.#set(statement, this.#initial(statement));
        return "next";
      case "assign": {
        const { target, operator, value } = statement;
        const right = this.#evaluate(value);
        if (target && operator === "=") this.#assign(target, right);
        else if (target) this.#update(target, operator.slice(0, -1) as BinaryOperator, right);
        return "next";
      }
      case "increment":
        this.#update(statement.target, statement.operator === "++" ? "+" : "-", constantSum(1));
        return "next";
      case "callStatement":
        this.#call(statement.call);
        return "next";
      case "if":
        return this.#if(statement);
      case "for":
        return this.#for(statement);
      case "switch":
        this.#evaluate(statement.selector);
        return this.#skip(statement);
      case "loop":
      case "while":
        return this.#skip(statement);
      case "return":
        this.#returned.push({
          result: statement.value ? this.#evaluate(statement.value) : undefined,
          values: this.#values,
        });
        return "ends";
      case "break":
      case "continue":
      case "discard":
        return "ends";
      case "const":
      case "constAssert":
        return "next";
    }
  }

  /** Returns the value of a variable after its declaration. */
  #initial(variable: GlobalVariable | Extract<Statement, { kind: "var" }>): KnownValue {
    if (variable.initializer) return this.#evaluate(variable.initializer);
    // A variable in a loop is zero in each iteration. Some drivers zero it once per function only.
    return this.#loops > 0 ? undefined : zeroOf(this.#program.declaredTypeOf(variable));
  }

  /** Forgets the variables that a statement may change, and whether it returns. */
  #skip(statement: Statement): Flow {
    for (const target of this.#assignedIn(statement)) this.#values.delete(target);
    this.#mayLeave(exitsOf(statement));
    return "next";
  }

  /** Notes that a part, which was not followed, may leave the parts around it. */
  #mayLeave(exits: ReadonlySet<Exit>): void {
    if (exits.size > 0) this.#path = [...this.#path, "unknown"];
    if (exits.has("return")) this.#returned.push({ result: undefined, values: new Map(this.#values) });
  }

  #if({ condition, then, otherwise }: IfStatement): Flow {
    const { ifTrue, ifFalse, ...only } = this.#truth(condition);
    const isTrue = decided({ ifTrue, ifFalse, ...only });
    if (isTrue !== undefined) {
      const taken = isTrue ? then : otherwise;
      return taken ? this.#execute(taken) : "next";
    }
    const [first, second] = this.#branches(
      [ifTrue, () => this.#execute(then)],
      [ifFalse, () => (otherwise ? this.#execute(otherwise) : "next")],
    );
    if (first.flow === "ends" && second.flow === "ends") return "ends";
    if (first.flow === "ends" || second.flow === "ends") {
      const rest = first.flow === "ends" ? second : first;
      this.#path = rest.path;
      this.#values = rest.values;
      return "next";
    }
    if (!first.isWhole || !second.isWhole) this.#path = [...this.#path, "unknown"];
    return "next";
  }

  /**
   * Executes two alternatives, each under its own conditions. Keeps the values on which both agree.
   * A store that both execute does not depend on the conditions.
   */
  #branches(...alternatives: readonly (readonly [readonly Condition[], () => Flow])[]) {
    const [path, values, before] = [this.#path, this.#values, this.#stores];
    const results = alternatives.map(([conditions, execute]) => {
      const own = [...path, ...conditions];
      this.#path = own;
      this.#values = new Map(values);
      this.#stores = [];
      const flow = execute();
      const inner = this.#stores.map((store) => ({ store, rest: store.conditions.slice(own.length) }));
      return { flow, path: this.#path, values: this.#values, inner, isWhole: this.#path === own };
    });
    const [first, second] = results as [(typeof results)[0], (typeof results)[0]];
    const others = new Map(second.inner.map((each) => [storeKey(each.store, each.rest), each]));
    const common = first.inner.flatMap(({ store, rest }) => {
      const key = storeKey(store, rest);
      return key !== undefined && others.has(key) ? [{ ...store, conditions: [...path, ...rest] }] : [];
    });
    this.#stores = [...before, ...results.flatMap(({ inner }) => inner.map(({ store }) => store)), ...common];
    if (this.#stores.length > MOST_STORES) throw new TooLarge();
    this.#values = agreed(first.values, second.values);
    this.#path = path;
    return [first, second] as const;
  }

  #for(statement: ForStatement): Flow {
    const { initializer, body, update, condition } = statement;
    if (initializer) this.#execute(initializer);
    const counter = this.#counterOf(statement);
    const parts = [body, update, condition].filter((part) => part !== null);
    const changed = new Set(parts.flatMap((part) => [...this.#assignedIn(part)]));
    const forget = () => {
      for (const target of changed) this.#values.delete(target);
    };
    forget();
    const lasts = counter && condition && this.#lastsOf(condition, counter.target);
    const exits = exitsOf(body);
    // A `continue` is one end of an iteration. Other exits end later iterations too.
    exits.delete("continue");
    if (!counter || !lasts || exits.size > 0) {
      exits.delete("break");
      this.#mayLeave(exits);
      return "next";
    }
    const { target, start, step } = counter;
    const left = lasts.map((last) => minus(last, start));
    const most = Math.min(...left.map(({ max }) => max));
    if (most < 0) return "next";
    const steps = times(this.#unknowns.independent(Math.floor(most / step) + 1), step);
    const path = this.#path;
    const type = scalarOf(this.#program.declaredTypeOf(target));
    this.#set(target, type && fitted(plus(start, steps), type));
    this.#path = [...path, ...left.map((each) => minus(each, steps))];
    this.#loops++;
    this.#execute(body);
    this.#loops--;
    this.#path = path;
    forget();
    return "next";
  }

  /** Returns the variable that a loop counts up, its first value and its step. */
  #counterOf({ body, update }: ForStatement) {
    const place = update && "target" in update ? update.target : null;
    const target = place?.kind === "identifier" ? this.#program.targetOf(place) : undefined;
    if (target?.kind !== "var") return undefined;
    const start = this.#values.get(target);
    if (!update || start?.kind !== "sum" || this.#assignedIn(body).has(target)) return undefined;
    const step = this.#stepOf(update, target);
    return step !== undefined && step > 0 ? { target, start, step } : undefined;
  }

  #stepOf(update: NonNullable<ForStatement["update"]>, target: Target): number | undefined {
    if (update.kind === "increment") return update.operator === "++" ? 1 : undefined;
    if (update.kind !== "assign") return undefined;
    const { operator, value } = update;
    const isCounter = (each: Expression) =>
      each.kind === "identifier" && this.#program.targetOf(each) === target;
    const added =
      operator === "+="
        ? value
        : operator === "=" && value.kind === "binary" && value.operator === "+"
          ? isCounter(value.left)
            ? value.right
            : isCounter(value.right)
              ? value.left
              : undefined
          : undefined;
    const step = added && this.#evaluate(added);
    return step?.kind === "sum" && isConstant(step) ? step.constant : undefined;
  }

  /** Returns values such that a loop goes on while its counter is larger than none of them. */
  #lastsOf(condition: Expression, counter: Target): readonly Sum[] | undefined {
    if (condition.kind !== "binary") return undefined;
    const { operator, left, right } = condition;
    const isCounter = (each: Expression) =>
      each.kind === "identifier" && this.#program.targetOf(each) === counter;
    const [bound, holds] = isCounter(left)
      ? [right, operator]
      : isCounter(right)
        ? [left, mirrored[operator]]
        : [];
    if (!bound || (holds !== "<" && holds !== "<=")) return undefined;
    const sums = this.#boundsIn(bound).map((each) => this.#evaluate(each));
    if (!sums.every((each) => each?.kind === "sum")) return undefined;
    return holds === "<" ? sums.map((each) => minus(each, constantSum(1))) : sums;
  }

  /** Returns the expressions of which a bound is the smallest. */
  #boundsIn(bound: Expression): readonly Expression[] {
    const callee = bound.kind === "call" ? this.#program.targetOf(bound.callee) : undefined;
    const isMin = bound.kind === "call" && callee?.kind === "builtin" && callee.name === "min";
    return isMin ? bound.args.flatMap((each) => this.#boundsIn(each)) : [bound];
  }

  // Assignments

  /** Assigns the result of an operation on the value of a place. Stores to buffers do not count. */
  #update(place: Expression, operator: BinaryOperator, right: KnownValue): void {
    const left = this.#evaluate(place);
    const result = lifted(left, right, (a, b) => operate(operator, a, b, this.#unknowns));
    if (spaceOf(this.#program, place) !== "storage") this.#assign(place, this.#fitted(place, result));
  }

  /** Assigns to a variable or a part of it, or records a store to a buffer. */
  #assign(place: Expression, value: KnownValue): void {
    const root = rootIdentifier(place);
    const target = root && this.#program.targetOf(root);
    if (!target) return;
    if (target.kind === "globalVariable" && addressSpaceOf(target) === "storage") {
      this.#store(place);
    } else if (place.kind === "identifier" && !this.#untracked.has(target)) {
      this.#set(target, value);
    } else if (this.#values.has(target)) {
      this.#set(target, this.#withPart(place, value));
    }
    this.#evaluateIndices(place);
  }

  /** Returns the value of a variable after the assignment of a part, or undefined. */
  #withPart(place: Expression, value: KnownValue): KnownValue {
    if (place.kind === "identifier") return value;
    if (place.kind !== "index" && place.kind !== "memberAccess") return undefined;
    const base = this.#evaluate(place.base);
    const at = place.kind === "index" ? this.#constantIndex(place.index) : this.#memberIndex(place);
    if (base?.kind !== "composite" || at === undefined) return this.#withPart(place.base, undefined);
    return this.#withPart(place.base, composite(base.elements.map((each, i) => (i === at ? value : each))));
  }

  /** Evaluates the indices of a place for the stores of the functions that they call. */
  #evaluateIndices(place: Expression): void {
    if (place.kind === "index") this.#evaluate(place.index);
    if (place.kind === "index" || place.kind === "memberAccess") this.#evaluateIndices(place.base);
  }

  #constantIndex(index: Expression): number | undefined {
    const value = this.#evaluate(index);
    return value?.kind === "sum" && isConstant(value) ? value.constant : undefined;
  }

  #memberIndex({ base, member }: Extract<Expression, { kind: "memberAccess" }>): number | undefined {
    const type = this.#program.valueTypeOf(base);
    if (type.kind === "struct") return type.members.findIndex(({ name }) => name === member);
    return member.length === 1 ? "xyzwrgba".indexOf(member) % 4 : undefined;
  }

  #store(target: Expression): void {
    const place = placeOf(this.#program, target);
    const of = place && bindingPointOf(this.#program, place.variable);
    if (!of || !isDense(place.type)) return;
    const size = this.#dispatch.sizeOf(of);
    if (size === undefined) return;
    let [address, type] = [constantSum(0), this.#program.declaredTypeOf(place.variable)];
    const conditions = [...this.#path];
    for (const step of place.steps) {
      if (step.kind === "member") {
        address = plus(address, constantSum(step.offset));
        type = type.kind === "struct" ? typeOfMember(type, step.name) : elementOf(type);
        continue;
      }
      const index = this.#evaluate(step.index);
      if (index?.kind !== "sum") return;
      const count = countOf(type) ?? Math.floor((size - address.constant) / step.stride);
      conditions.push(index, minus(constantSum(count - 1), index));
      address = plus(address, times(index, step.stride));
      type = elementOf(type);
    }
    this.#stores.push({ of, address, bytes: sizeOf(place.type), conditions });
    if (this.#stores.length > MOST_STORES) throw new TooLarge();
  }

  /**
   * Returns the variables that a part of the program, and the functions that it calls, may change.
   */
  #assignedIn(part: AnyNode): ReadonlySet<Target> {
    const before = this.#assigned.get(part);
    if (before) return before;
    const all = new Set<Target>();
    this.#assigned.set(part, all);
    walk(part, (node) => {
      const place = node.kind === "assign" || node.kind === "increment" ? node.target : null;
      const root = place && rootIdentifier(place);
      const target = root && this.#program.targetOf(root);
      if (target) all.add(target);
      const callee = node.kind === "call" ? this.#program.targetOf(node.callee) : undefined;
      if (callee?.kind !== "function") return;
      for (const fn of reachableFrom(this.#program, [callee]))
        for (const each of this.#assignedIn(fn.body)) all.add(each);
    });
    return all;
  }

  // Expressions

  #truth(expression: Expression): Truth {
    return truthOf(this.#evaluate(expression));
  }

  #evaluate(expression: Expression): KnownValue {
    this.#visit();
    const constant = this.#program.constantOf(expression);
    if (constant) return known(constant);
    switch (expression.kind) {
      case "literal":
        return undefined;
      case "identifier":
        return this.#named(expression);
      case "unary": {
        const { operator, operand } = expression;
        if (operator === "&") return undefined;
        const value = this.#evaluate(operand);
        if (operator === "!") return lifted(value, undefined, (each) => not(truthOf(each)));
        return operator === "-"
          ? this.#fitted(expression, lifted(constantSum(0), value, subtract))
          : undefined;
      }
      case "binary":
        return this.#binary(expression);
      case "index": {
        const loaded = this.#uniform(expression);
        if (loaded) return loaded.value;
        const [base, at] = [this.#evaluate(expression.base), this.#constantIndex(expression.index)];
        return base?.kind === "composite" && at !== undefined ? base.elements[at] : undefined;
      }
      case "memberAccess": {
        const loaded = this.#uniform(expression);
        if (loaded) return loaded.value;
        const base = this.#evaluate(expression.base);
        if (base?.kind !== "composite") return undefined;
        const at = this.#memberIndex(expression);
        if (at !== undefined) return base.elements[at];
        return composite([...expression.member].map((each) => base.elements["xyzwrgba".indexOf(each) % 4]));
      }
      case "call":
        return this.#call(expression);
    }
  }

  #named(expression: Extract<Expression, { kind: "identifier" }>): KnownValue {
    const target = this.#program.targetOf(expression);
    if (target?.kind !== "globalVariable") return target && this.#values.get(target);
    return this.#values.get(target) ?? this.#uniform(expression)?.value;
  }

  #binary(expression: Extract<Expression, { kind: "binary" }>): KnownValue {
    const { operator, left, right } = expression;
    if (operator !== "&&" && operator !== "||") {
      const [a, b] = [this.#evaluate(left), this.#evaluate(right)];
      const result = lifted(a, b, (a, b) => operate(operator, a, b, this.#unknowns));
      return this.#fitted(expression, result);
    }
    const first = this.#truth(left);
    let second: Truth = unknownTruth;
    // The right operand is evaluated only in some cases, so its stores count only in these.
    this.#branches(
      [
        operator === "&&" ? first.ifTrue : first.ifFalse,
        () => {
          second = this.#truth(right);
          return "next";
        },
      ],
      [["unknown"], () => "next"],
    );
    return operator === "&&" ? and(first, second) : or(first, second);
  }

  /** Returns a value whose integers fit the type of the expression. */
  #fitted(expression: Expression, value: KnownValue): KnownValue {
    if (value === undefined) return undefined;
    const scalar = scalarOf(this.#program.valueTypeOf(expression));
    return scalar && lifted(value, undefined, (each) => fitted(each, scalar));
  }

  /** Returns the value of a part of a uniform buffer; undefined for other expressions. */
  #uniform(expression: Expression): { readonly value: KnownValue } | undefined {
    const root = rootIdentifier(expression);
    const target = root && this.#program.targetOf(root);
    if (target?.kind !== "globalVariable" || addressSpaceOf(target) !== "uniform") return undefined;
    const place = placeOf(this.#program, expression);
    if (!place) return undefined;
    const of = bindingPointOf(this.#program, target);
    const offset = this.#offsetOf(place);
    return { value: of && offset !== undefined ? this.#load(of, offset, place.type) : undefined };
  }

  #offsetOf({ steps }: Place): number | undefined {
    let offset = 0;
    for (const step of steps) {
      if (step.kind === "member") {
        offset += step.offset;
        continue;
      }
      const index = this.#constantIndex(step.index);
      if (index === undefined || index < 0) return undefined;
      offset += index * step.stride;
    }
    return offset;
  }

  #load(of: BindingPoint, offset: number, type: Type): KnownValue {
    const elements = (count: number, stride: number, element: Type) =>
      composite(Array.from({ length: count }, (_, i) => this.#load(of, offset + i * stride, element)));
    switch (type.kind) {
      case "scalar": {
        const word = isInteger(type) ? this.#dispatch.wordAt(of, offset) : undefined;
        return word === undefined ? undefined : constantSum(type.name === "i32" ? word | 0 : word);
      }
      case "vector":
        return isInteger(type.element) ? elements(type.size, 4, type.element) : undefined;
      case "array":
        return typeof type.count === "number" && type.count <= 64
          ? elements(type.count, strideOf(type), type.element)
          : undefined;
      case "struct": {
        const offsets = memberOffsets(type);
        return composite(type.members.map((member, i) => this.#load(of, offset + offsets[i]!, member.type)));
      }
      default:
        return undefined;
    }
  }

  // Calls

  #call(call: CallExpression): KnownValue {
    const { callee, args } = call;
    const target = this.#program.targetOf(callee);
    const isLength = target?.kind === "builtin" && target.name === "arrayLength";
    if (isLength) return this.#length(args[0]);
    const values = args.map((each) => this.#evaluate(each));
    if (target?.kind === "function") return this.#callFunction(target, values);
    if (target?.kind === "builtin" && target.category === "function")
      return this.#builtin(call, target.name, values);
    return this.#constructed(call, values);
  }

  #callFunction({ parameters, body }: FunctionDeclaration, args: readonly KnownValue[]): KnownValue {
    const [path, returned] = [this.#path, this.#returned];
    this.#returned = [];
    for (const [i, parameter] of parameters.entries()) this.#set(parameter, args[i]);
    const flow = this.#execute(body);
    const ends = this.#returned;
    const all = [...ends.map(({ values }) => values), ...(flow === "next" ? [this.#values] : [])];
    this.#values = all.reduce(agreed);
    this.#path = path;
    this.#returned = returned;
    const [first, ...others] = ends;
    return first && others.every(({ result }) => isSame(result, first.result)) ? first.result : undefined;
  }

  #builtin(call: CallExpression, name: string, values: readonly KnownValue[]): KnownValue {
    const [a, b, c] = values;
    switch (name) {
      case "min":
      case "max":
        return lifted(a, b, (a, b) => extreme(name, a, b));
      case "clamp":
        return lifted(
          lifted(a, b, (a, b) => extreme("max", a, b)),
          c,
          (a, b) => extreme("min", a, b),
        );
      case "abs":
        return lifted(a, undefined, (each) => (each?.kind === "sum" && each.min >= 0 ? each : undefined));
      case "select": {
        const isTrue = decided(truthOf(c));
        return isTrue === undefined ? undefined : isTrue ? b : a;
      }
      case "all":
      case "any":
        return a?.kind === "composite"
          ? a.elements.map(truthOf).reduce(name === "all" ? and : or)
          : (a ?? unknownTruth);
      case "dot": {
        if (a?.kind !== "composite" || b?.kind !== "composite") return undefined;
        const products = a.elements.map((each, i) => operate("*", each, b.elements[i], this.#unknowns));
        const sum = products.reduce((all, each) => operate("+", all, each, this.#unknowns));
        return this.#fitted(call, sum);
      }
      default:
        return undefined;
    }
  }

  /** Returns the value of a constructor or a conversion. */
  #constructed(call: CallExpression, values: readonly KnownValue[]): KnownValue {
    const type = this.#program.valueTypeOf(call);
    if (values.length === 0) return zeroOf(type);
    if (type.kind === "scalar") return type.name === "bool" ? toTruth(values[0]) : fitted(values[0], type);
    if (type.kind !== "vector") return composite(values);
    const parts = values.flatMap((value, i) => {
      const part = this.#program.valueTypeOf(call.args[i]!);
      if (part.kind !== "vector") return [value];
      return value?.kind === "composite" ? value.elements : new Array<KnownValue>(part.size).fill(undefined);
    });
    const all = parts.length === 1 ? new Array<KnownValue>(type.size).fill(parts[0]) : parts;
    return composite(all.map((each) => (isInteger(type.element) ? fitted(each, type.element) : undefined)));
  }

  #length(argument: Expression | undefined): KnownValue {
    const array = argument?.kind === "unary" && argument.operator === "&" ? argument.operand : undefined;
    const place = array && placeOf(this.#program, array);
    const of = place && bindingPointOf(this.#program, place.variable);
    const [size, offset] = [of && this.#dispatch.sizeOf(of), place && this.#offsetOf(place)];
    if (size === undefined || offset === undefined || place?.type.kind !== "array") return undefined;
    return constantSum(Math.floor((size - offset) / strideOf(place.type)));
  }
}

/** Returns the values on which two maps agree. */
const agreed = (a: Map<Target, KnownValue>, b: Map<Target, KnownValue>): Map<Target, KnownValue> =>
  new Map([...a].filter(([target, value]) => isSame(value, b.get(target))));

const u32: ScalarType = { kind: "scalar", name: "u32" };

const mirrored: Partial<Record<string, string>> = { ">": "<", ">=": "<=" };

const subtract = (a: KnownValue, b: KnownValue): KnownValue =>
  a?.kind === "sum" && b?.kind === "sum" ? minus(a, b) : undefined;

/** Returns the smaller or the larger of two integers where their ranges decide it. */
function extreme(name: "min" | "max", a: KnownValue, b: KnownValue): KnownValue {
  if (a?.kind !== "sum" || b?.kind !== "sum") return undefined;
  const [small, large] = name === "min" ? [a, b] : [b, a];
  if (small.max <= large.min) return a;
  return large.max <= small.min ? b : undefined;
}

/**
 * Returns a text that is the same for stores of the same bytes under the same further conditions.
 */
function storeKey({ of, address, bytes }: BufferStore, rest: readonly Condition[]): string | undefined {
  const conditions = rest.map(conditionKey);
  if (conditions.includes(undefined)) return undefined;
  return [of.group, of.binding, keyOf(address), bytes, ...conditions].join(" ");
}

type Exit = "return" | "break" | "continue" | "discard";

/** Returns the kinds of statements in a part that may leave it. */
function exitsOf(part: AnyNode): Set<Exit> {
  const exits = new Set<Exit>();
  switch (part.kind) {
    case "return":
    case "break":
    case "continue":
    case "discard":
      exits.add(part.kind);
  }
  forEachChild(part, (child) => {
    for (const exit of exitsOf(child)) exits.add(exit);
  });
  const isLoop = part.kind === "for" || part.kind === "while" || part.kind === "loop";
  if (isLoop || part.kind === "switch") exits.delete("break");
  if (isLoop) exits.delete("continue");
  return exits;
}

/** Returns the variables whose address is taken. */
function addressedIn(program: Program): Set<Target> {
  const found = new Set<Target>();
  walk(program.module, (node) => {
    const root = node.kind === "unary" && node.operator === "&" ? rootIdentifier(node.operand) : undefined;
    const target = root && program.targetOf(root);
    if (target) found.add(target);
  });
  return found;
}

/** Returns the element type of a scalar or a vector. */
function scalarOf(type: Type): ScalarType | undefined {
  return type.kind === "scalar" ? type : type.kind === "vector" ? type.element : undefined;
}

/** Returns true if a store of this type writes all its bytes: it has no padding. */
function isDense(type: Type): boolean {
  switch (type.kind) {
    case "scalar":
    case "vector":
      return true;
    case "matrix":
      return type.rows !== 3;
    case "array":
      return (
        typeof type.count === "number" && strideOf(type) === sizeOf(type.element) && isDense(type.element)
      );
    case "struct": {
      const offsets = memberOffsets(type);
      const ends = type.members.map((member, i) => offsets[i]! + sizeOf(member.type));
      return (
        type.members.every((member, i) => offsets[i] === (ends[i - 1] ?? 0) && isDense(member.type)) &&
        ends.at(-1) === sizeOf(type)
      );
    }
    default:
      return false;
  }
}

const typeOfMember = ({ members }: Extract<Type, { kind: "struct" }>, name: string): Type =>
  members.find((member) => member.name === name)!.type;

function elementOf(type: Type): Type {
  if (type.kind === "matrix") return { kind: "vector", size: type.rows, element: type.element };
  return "element" in type ? type.element : type;
}

/** Returns the number of elements of an indexable type, or undefined if it is not constant. */
function countOf(type: Type): number | undefined {
  if (type.kind === "vector") return type.size;
  if (type.kind === "matrix") return type.columns;
  return type.kind === "array" && typeof type.count === "number" ? type.count : undefined;
}
