/**
 * Finds the bytes of its buffers that a kernel overwrites whatever they held before. Its source and
 * the grid of the dispatch have to show it.
 */
import type {
  BinaryOperator,
  Block,
  CallExpression,
  Expression,
  FunctionDeclaration,
  IfStatement,
  Parameter,
  Statement,
} from "../wgsl/ast.ts";
import { memberOffsets, sizeOf, strideOf } from "../wgsl/layout.ts";
import type { Program, Target } from "../wgsl/program.ts";
import { type AnyNode, forEachChild, walk } from "../wgsl/traverse.ts";
import type { Type } from "../wgsl/types.ts";
import { type BindingPoint, bindingPointOf } from "./bindings.ts";
import { builtinValueOf } from "./builtinValueOf.ts";
import { builtinFunction } from "./effects.ts";
import { addressSpaceOf, placeOf, rootIdentifier } from "./places.ts";
import { knownWorkgroupSize } from "./workgroupSize.ts";

/** A dimension of a grid: 0 is x. */
type Dimension = 0 | 1 | 2;

/** A number times the workgroup counts of the grid in some dimensions. */
export interface GridProduct {
  readonly scale: number;
  readonly dimensions: readonly Dimension[];
}

/** The length of the runtime-sized array at the end of a bound buffer. */
export interface BoundLength {
  readonly of: BindingPoint;
  /** The byte of the binding at which the array begins. */
  readonly offset: number;
  /** The bytes from one element to the next. */
  readonly stride: number;
}

/** A limit: values are less than `(bound - minus) / divisor`. */
export interface FillLimit {
  readonly bound: number | BoundLength;
  readonly minus: number;
  readonly divisor: number;
}

/** An invocation id as a term of a sum. */
export interface FillTerm {
  readonly factor: GridProduct;
  /** The number of values of the id: it takes each of 0, 1, … `count - 1`. */
  readonly count: GridProduct;
  /** The limits of the id. Invocations with an id beyond one of them do not store. */
  readonly limits: readonly FillLimit[];
}

/**
 * A store that some invocation executes for each element of a row. The index of the element is the
 * sum of the terms.
 */
export interface Fill {
  readonly of: BindingPoint;
  /** The first byte of the binding that the store fills. */
  readonly offset: number;
  /** The number of bytes that the store fills of each element. */
  readonly bytes: number;
  /** The bytes from one element to the next. */
  readonly stride: number;
  readonly terms: readonly FillTerm[];
  /** The limits that all indices of elements are below. */
  readonly limits: readonly FillLimit[];
}

/**
 * Returns the stores of a kernel that fill rows of elements, as far as this can be shown.
 * Considered are stores of the entry point outside of loops whose indices are sums of ids. Their
 * conditions must compare such sums with constants and array lengths. Overrides must have values.
 */
export function fillsOf(program: Program, kernel: FunctionDeclaration): Fill[] {
  const sizes = knownWorkgroupSize(program, kernel);
  return sizes ? new Stores(program, kernel, new Ids(program, kernel, sizes)).fills : [];
}

/**
 * An invocation id that is independent of all others in use. `global` ids stand for dimensions in
 * which no other id is used.
 */
type Id = `${"global" | "workgroup" | "local"} ${Dimension}`;

/** A term of a sum; without an id, a number that all invocations share. */
interface Term extends GridProduct {
  readonly id: Id | undefined;
}

/** A sum of terms that are not negative. It is exact as long as it fits 32 bits. */
type Sum = readonly Term[];

/** The condition `sum < bound + plus`. */
interface Condition {
  readonly sum: Sum;
  readonly bound: number | BoundLength;
  readonly plus: 0 | 1;
}

/** Expresses WGSL expressions as sums of ids. */
class Ids {
  readonly #program: Program;
  readonly #sizes: readonly number[];
  /** The variables that change after their declaration. */
  readonly #changed = new Set<Target>();
  readonly #known = new Map<Target, readonly (Sum | undefined)[] | undefined>();

  constructor(program: Program, kernel: FunctionDeclaration, sizes: readonly number[]) {
    this.#program = program;
    this.#sizes = sizes;
    for (const parameter of kernel.parameters)
      this.#known.set(parameter, this.#builtin(builtinValueOf(parameter.attributes)));
    walk(kernel.body, (node) => {
      const place =
        node.kind === "assign" || node.kind === "increment"
          ? node.target
          : node.kind === "unary" && node.operator === "&"
            ? node.operand
            : null;
      const root = place && rootIdentifier(place);
      const target = root && program.targetOf(root);
      if (target) this.#changed.add(target);
    });
  }

  sizeIn(dimension: Dimension): number {
    return this.#sizes[dimension]!;
  }

  /** Returns the number of values that an id takes. */
  countOf(id: Id): GridProduct {
    const dimension = Number(id.at(-1)) as Dimension;
    if (id.startsWith("workgroup")) return { scale: 1, dimensions: [dimension] };
    return { scale: this.sizeIn(dimension), dimensions: id.startsWith("local") ? [] : [dimension] };
  }

  /** Returns the sum that a scalar expression is, or undefined if it is none. */
  sumOf(expression: Expression): Sum | undefined {
    const sums = this.#sumsOf(expression);
    return sums?.length === 1 ? sums[0] : undefined;
  }

  /**
   * Returns the sums of a value's components, or undefined for a value that has none. A component
   * that is no sum is undefined.
   */
  #sumsOf(expression: Expression): readonly (Sum | undefined)[] | undefined {
    const constant = this.#program.constantOf(expression);
    if (constant) {
      const value = "value" in constant ? Number(constant.value) : Number.NaN;
      return Number.isSafeInteger(value) && value >= 0 ? [number(value)] : undefined;
    }
    switch (expression.kind) {
      case "identifier": {
        const target = this.#program.targetOf(expression);
        return target && this.#sumsOfTarget(target);
      }
      case "memberAccess": {
        const member = this.#builtinMember(expression);
        if (member) return member;
        const base = this.#sumsOf(expression.base);
        return base && [...expression.member].map((letter) => base["xyzwrgba".indexOf(letter) % 4]);
      }
      case "index": {
        const base = this.#sumsOf(expression.base);
        const index = this.#program.constantOf(expression.index);
        return base && index && "value" in index ? [base[Number(index.value)]] : undefined;
      }
      case "call": {
        const [value] = expression.args;
        return value && isIntegerConversion(this.#program, expression) ? this.#sumsOf(value) : undefined;
      }
      case "binary": {
        const [left, right] = [this.sumOf(expression.left), this.sumOf(expression.right)];
        return left && right && [combined(expression.operator, left, right)];
      }
      default:
        return undefined;
    }
  }

  #sumsOfTarget(target: Target): readonly (Sum | undefined)[] | undefined {
    if (this.#known.has(target)) return this.#known.get(target);
    // The target counts as unknown while its initializer is evaluated, and if it changes later.
    this.#known.set(target, undefined);
    const isFixed = target.kind === "let" || (target.kind === "var" && !this.#changed.has(target));
    if (!isFixed || !target.initializer || this.#known.size > mostNames) return undefined;
    const sums = this.#sumsOf(target.initializer);
    this.#known.set(target, sums);
    return sums;
  }

  /** Returns the value of a built-in value that is a member of a parameter. */
  #builtinMember({ base, member }: Extract<Expression, { kind: "memberAccess" }>) {
    const target = base.kind === "identifier" ? this.#program.targetOf(base) : undefined;
    if (target?.kind !== "parameter") return undefined;
    const struct = this.#structOf(target);
    const found = struct?.members.find(({ name }) => name === member);
    return found && this.#builtin(builtinValueOf(found.attributes));
  }

  #structOf({ type }: Parameter) {
    const target = this.#program.targetOf(type);
    return target?.kind === "struct" ? target : undefined;
  }

  #builtin(name: string): readonly Sum[] | undefined {
    const of = (kind: "workgroup" | "local") => dimensions.map((i) => this.#id(kind, i));
    switch (name) {
      case "global_invocation_id":
        return dimensions.map((i) =>
          this.sizeIn(i) === 1 ? this.#id("workgroup", i) : this.#id("global", i),
        );
      case "workgroup_id":
        return of("workgroup");
      case "local_invocation_id":
        return of("local");
      case "local_invocation_index": {
        const [x, y, z] = of("local") as [Sum, Sum, Sum];
        const [row, plane] = [number(this.sizeIn(0)), number(this.sizeIn(0) * this.sizeIn(1))];
        return [added(x, added(product(y, row)!, product(z, plane)!))];
      }
      case "num_workgroups":
        return dimensions.map((i) => [{ scale: 1, dimensions: [i], id: undefined }]);
      default:
        return undefined;
    }
  }

  #id(kind: "global" | "workgroup" | "local", dimension: Dimension): Sum {
    // Zero is the only value of this id.
    if (kind === "local" && this.sizeIn(dimension) === 1) return [];
    return [{ scale: 1, dimensions: [], id: `${kind} ${dimension}` }];
  }
}

const dimensions: readonly Dimension[] = [0, 1, 2];
/** The largest number of names that are followed to their declarations. */
const mostNames = 200;
/** The largest number of conditions around a store that is considered. */
const mostConditions = 32;
/** The largest number of stores of a kernel that are considered. */
const mostStores = 256;

/** Returns true for a call that converts one value to a 32-bit integer. */
function isIntegerConversion(program: Program, { callee, args }: CallExpression): boolean {
  const target = program.targetOf(callee);
  return target?.kind === "builtin" && /^[iu]32$/.test(target.name) && args.length === 1;
}

const number = (scale: number): Sum => (scale === 0 ? [] : [{ scale, dimensions: [], id: undefined }]);

function combined(operator: BinaryOperator, left: Sum, right: Sum): Sum | undefined {
  if (operator === "+") return added(left, right);
  if (operator === "*") return product(left, right) ?? product(right, left);
  const shift = operator === "<<" ? constantIn(right) : undefined;
  return shift !== undefined && right.every(isConstant) && shift < 32
    ? product(left, number(2 ** shift))
    : undefined;
}

function added(a: Sum, b: Sum): Sum {
  const sum = [...a];
  for (const term of b) {
    const at = sum.findIndex((each) => keyOf(each) === keyOf(term));
    if (at < 0) sum.push(term);
    else sum[at] = { ...term, scale: sum[at]!.scale + term.scale };
  }
  return sum;
}

/** Returns a sum times a number that all invocations share. */
function product(sum: Sum, by: Sum): Sum | undefined {
  if (by.length === 0) return [];
  const [only, ...others] = by;
  if (!only || others.length > 0 || only.id) return undefined;
  return sum.map(({ id, scale, dimensions }) => ({
    id,
    scale: scale * only.scale,
    dimensions: [...dimensions, ...only.dimensions].sort(),
  }));
}

const keyOf = ({ id, dimensions }: Term) => `${id} ${dimensions}`;
const isConstant = ({ id, dimensions }: Term) => !id && dimensions.length === 0;
/** Returns the constant term of a sum. */
const constantIn = (sum: Sum): number => sum.find(isConstant)?.scale ?? 0;
const idsIn = (sum: Sum): Sum => sum.filter((term) => !isConstant(term));

/** Collects the stores that an entry point executes under conditions that are understood. */
class Stores {
  readonly fills: Fill[] = [];
  readonly #program: Program;
  readonly #ids: Ids;
  /** The nodes that contain a `return`. */
  readonly #returning: ReadonlySet<AnyNode>;

  constructor(program: Program, kernel: FunctionDeclaration, ids: Ids) {
    this.#program = program;
    this.#ids = ids;
    this.#returning = returningIn(kernel.body);
    this.#visitAll(kernel.body.statements, []);
  }

  /**
   * Visits statements for stores. Returns the conditions under which the next statement is
   * executed, or undefined if these are unknown.
   */
  #visitAll(
    statements: readonly Statement[],
    conditions: readonly Condition[],
  ): readonly Condition[] | undefined {
    let known: readonly Condition[] | undefined = conditions;
    for (const statement of statements) {
      known = this.#visit(statement, known);
      if (!known) return undefined;
    }
    return known;
  }

  #visit(statement: Statement, conditions: readonly Condition[]): readonly Condition[] | undefined {
    switch (statement.kind) {
      case "block":
        return this.#visitAll(statement.statements, conditions);
      case "if":
        return this.#visitIf(statement, conditions);
      case "assign":
        if (statement.operator === "=" && statement.target) this.#note(statement.target, conditions);
        return conditions;
      // Other statements may return or repeat in ways that are not followed.
      default:
        return this.#returning.has(statement) ? undefined : conditions;
    }
  }

  #visitIf({ condition, then, otherwise }: IfStatement, conditions: readonly Condition[]) {
    if (conditions.length > mostConditions) return undefined;
    const isTrue = this.#conditionsOf(condition, true);
    const isFalse = this.#conditionsOf(condition, false);
    if (isTrue) this.#visitAll(then.statements, [...conditions, ...isTrue]);
    if (otherwise && isFalse) this.#visit(otherwise, [...conditions, ...isFalse]);
    const [ends, othersEnd] = [this.#endOf(then), otherwise ? this.#endOf(otherwise) : "falls"];
    if (ends === "falls" && othersEnd === "falls") return conditions;
    if (ends === "returns" && othersEnd === "falls") return isFalse && [...conditions, ...isFalse];
    if (ends === "falls" && othersEnd === "returns") return isTrue && [...conditions, ...isTrue];
    return undefined;
  }

  /**
   * Returns how control leaves a part: it never returns, always returns at its end, or may return
   * somewhere inside.
   */
  #endOf(part: Block | IfStatement): "falls" | "returns" | "either" {
    if (!this.#returning.has(part)) return "falls";
    if (part.kind === "if") return "either";
    const [last, ...others] = part.statements.toReversed();
    return last?.kind === "return" && !others.some((each) => this.#returning.has(each))
      ? "returns"
      : "either";
  }

  /**
   * Returns the conditions that hold if `condition` is true (or false), or undefined if nothing is
   * known.
   */
  #conditionsOf(condition: Expression, isTrue: boolean): Condition[] | undefined {
    if (condition.kind === "unary" && condition.operator === "!")
      return this.#conditionsOf(condition.operand, !isTrue);
    if (condition.kind !== "binary") return undefined;
    const { operator, left, right } = condition;
    if (operator === (isTrue ? "&&" : "||")) {
      const [first, second] = [left, right].map((each) => this.#conditionsOf(each, isTrue));
      return first && second && [...first, ...second];
    }
    const holds = isTrue ? operator : opposites[operator];
    if (holds === "<" || holds === "<=") return this.#isBelow(left, right, holds === "<" ? 0 : 1);
    if (holds === ">" || holds === ">=") return this.#isBelow(right, left, holds === ">" ? 0 : 1);
    return holds === "==" ? (this.#isZero(left, right) ?? this.#isZero(right, left)) : undefined;
  }

  #isBelow(left: Expression, right: Expression, plus: 0 | 1): Condition[] | undefined {
    const [sum, bound] = [this.#ids.sumOf(left), this.#boundOf(right)];
    return sum && bound !== undefined ? [{ sum, bound, plus }] : undefined;
  }

  #isZero(left: Expression, right: Expression): Condition[] | undefined {
    const sum = this.#ids.sumOf(left);
    const isZero = this.#ids.sumOf(right)?.length === 0;
    return sum && isZero ? [{ sum, bound: 1, plus: 0 }] : undefined;
  }

  /** Returns the value of a constant, or the length of an array. */
  #boundOf(expression: Expression): number | BoundLength | undefined {
    let bound: Expression | undefined = expression;
    for (let names = 0; bound && names < mostNames; names++) {
      const sum = this.#ids.sumOf(bound);
      if (sum) return sum.every(isConstant) ? constantIn(sum) : undefined;
      const [argument]: readonly Expression[] = bound.kind === "call" ? bound.args : [];
      if (bound.kind === "call" && builtinFunction(this.#program, bound) === "arrayLength")
        return argument?.kind === "unary" && argument.operator === "&"
          ? this.#lengthOf(argument.operand)
          : undefined;
      const target: Target | undefined =
        bound.kind === "identifier" ? this.#program.targetOf(bound) : undefined;
      const isConverted: boolean = bound.kind === "call" && isIntegerConversion(this.#program, bound);
      bound = target?.kind === "let" ? target.initializer : isConverted ? argument : undefined;
    }
    return undefined;
  }

  #lengthOf(array: Expression): BoundLength | undefined {
    const place = placeOf(this.#program, array);
    const of = place && bindingPointOf(this.#program, place.variable);
    if (!of || place.type.kind !== "array") return undefined;
    const offset = place.steps.reduce((sum, step) => sum + (step.kind === "member" ? step.offset : 0), 0);
    return { of, offset, stride: strideOf(place.type) };
  }

  /** Records a store if it is understood. */
  #note(target: Expression, conditions: readonly Condition[]): void {
    const place = placeOf(this.#program, target);
    if (!place || addressSpaceOf(place.variable) !== "storage" || !isDense(place.type)) return;
    if (this.fills.length === mostStores) return;
    const of = bindingPointOf(this.#program, place.variable);
    const row = of && this.#rowOf(target, of);
    if (!row) return;
    const basis = this.#basisOf([row.index, ...conditions.map(({ sum }) => sum)]);
    const index = basis(row.index);
    const terms = idsIn(index);
    // An offset that depends on the size of the grid is not supported.
    if (terms.some(({ id }) => !id)) return;
    const step = stepOf(terms);
    const limits: FillLimit[] = row.length === undefined ? [] : [limit(row.length, constantIn(index), step)];
    const byId = new Map<Id, FillLimit[]>(terms.map(({ id }) => [id!, []]));
    for (const { sum, bound, plus } of conditions) {
      const condition = basis(sum);
      const ids = idsIn(condition);
      const minus = constantIn(condition) - plus;
      const times = timesOf(ids, terms, step);
      const limitId = (id: Id, own: FillLimit) => byId.set(id, [...(byId.get(id) ?? []), own]);
      const [only, ...others] = ids;
      if (times) limits.push(limit(bound, minus, times));
      else if (!only || ids.some(({ id }) => !id)) return;
      else if (others.length === 0 && only.dimensions.length === 0)
        limitId(only.id!, limit(bound, minus, only.scale));
      // No term is negative. A sum that is zero therefore has only zero terms.
      else if (typeof bound === "number" && bound - minus === 1)
        for (const { id } of ids) limitId(id!, limit(1, 0, 1));
      else return;
    }
    const factorOf = (id: Id): GridProduct => {
      const term = terms.find((each) => each.id === id);
      return { scale: (term?.scale ?? 0) / step, dimensions: term?.dimensions ?? [] };
    };
    this.fills.push({
      of: of!,
      offset: row.offset + constantIn(index) * row.stride,
      bytes: sizeOf(place.type),
      stride: row.stride * step,
      terms: [...byId].map(([id, own]) => ({
        factor: factorOf(id),
        count: this.#ids.countOf(id),
        limits: own,
      })),
      limits,
    });
  }

  /**
   * Returns the row of elements that contains a place: the array that ids index, if there is one.
   */
  #rowOf(target: Expression, of: BindingPoint) {
    const place = placeOf(this.#program, target)!;
    let row = {
      offset: 0,
      stride: 0,
      index: [] as Sum,
      length: undefined as number | BoundLength | undefined,
    };
    let type: Type = this.#program.declaredTypeOf(place.variable);
    for (const step of place.steps) {
      if (step.kind === "member") {
        row = { ...row, offset: row.offset + step.offset };
        type = memberOf(type, step.name);
        continue;
      }
      const index = this.#ids.sumOf(step.index);
      if (!index) return undefined;
      const length =
        type.kind === "array" && typeof type.count !== "number"
          ? { of, offset: row.offset, stride: step.stride }
          : countOf(type);
      if (index.every(isConstant) && typeof length === "number") {
        // A constant index is in bounds.
        row = { ...row, offset: row.offset + constantIn(index) * step.stride };
      } else {
        if (row.stride > 0 || length === undefined) return undefined;
        row = { offset: row.offset, stride: step.stride, index, length };
      }
      type = elementOf(type);
    }
    return row;
  }

  /**
   * Returns a function that rewrites sums to one set of ids per dimension: the global id, or the
   * workgroup and local ids that compose it.
   */
  #basisOf(sums: readonly Sum[]): (sum: Sum) => Sum {
    const used = new Set(sums.flatMap((sum) => sum.map(({ id }) => id)));
    const isSplit = (i: Dimension) => used.has(`workgroup ${i}`) || used.has(`local ${i}`);
    return (sum) =>
      sum.reduce<Sum>((all, term) => {
        const i = Number(term.id?.at(-1)) as Dimension;
        if (!term.id?.startsWith("global") || !isSplit(i)) return added(all, [term]);
        const scale = term.scale * this.#ids.sizeIn(i);
        return added(all, [
          { ...term, scale, id: `workgroup ${i}` },
          { ...term, id: `local ${i}` },
        ]);
      }, []);
  }
}

const limit = (bound: number | BoundLength, minus: number, divisor: number): FillLimit => ({
  bound,
  minus,
  divisor,
});

const opposites: Partial<Record<BinaryOperator, BinaryOperator>> = {
  "<": ">=",
  "<=": ">",
  ">": "<=",
  ">=": "<",
  "!=": "==",
};

/** Returns the common divisor of all factors of `terms`, or 1 if the least factor is none. */
function stepOf(terms: Sum): number {
  const least = Math.min(...terms.map(({ scale }) => scale));
  return terms.length > 0 && terms.every(({ scale }) => scale % least === 0) ? least : 1;
}

/**
 * Returns `n` if `sum` is `n` times the index of a row without its constant, and undefined for
 * other sums.
 */
function timesOf(sum: Sum, terms: Sum, step: number): number | undefined {
  if (sum.length !== terms.length || sum.length === 0) return undefined;
  const times = sum.map((term) => {
    const own = terms.find((each) => keyOf(each) === keyOf(term));
    return own ? (term.scale * step) / own.scale : Number.NaN;
  });
  const [first] = times;
  return first !== undefined && Number.isInteger(first) && times.every((each) => each === first)
    ? first
    : undefined;
}

/** Returns the nodes below a root that return or contain a `return`. */
function returningIn(root: AnyNode): Set<AnyNode> {
  const found = new Set<AnyNode>();
  const visit = (node: AnyNode): boolean => {
    let returns = node.kind === "return";
    forEachChild(node, (child) => {
      if (visit(child)) returns = true;
    });
    if (returns) found.add(node);
    return returns;
  };
  visit(root);
  return found;
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

function memberOf(type: Type, name: string): Type {
  if (type.kind === "struct") return type.members.find((member) => member.name === name)!.type;
  return elementOf(type);
}

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
