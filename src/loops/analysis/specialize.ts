import type { Expression, Loop, Statement } from "../ir.ts";
import { everyStatement } from "../kernels/walk.ts";
import {
  allOf,
  asType,
  combined,
  hull,
  type Range,
  rangeOf,
  rangeOfBinary,
  rangeOfElements,
} from "./ranges.ts";
import { type CountedLoop, mostAhead, unroll } from "./unroll.ts";

/** What is known of a loop when it starts. */
export interface LoopNumbers {
  readonly inputs: Readonly<Record<string, number>>;
  readonly lengths: Readonly<Record<string, number>>;
  /** The index of the first iteration, and what it changes by. */
  readonly first: number;
  readonly step: number;
  readonly count: number;
}

type Block = readonly Statement[];
type InnerLoop = Extract<Statement, { kind: "loop" }>;
/** Where locals are at some place; those that are missing may have any value. */
type Locals = Map<string, Range | null>;

/** Variants of a loop: each is compiled. */
const mostVariants = 8;
const known = new WeakMap<Loop, Map<string, Loop>>();

/**
 * The loop with what these numbers prove about it: accesses that stay `inside` their arrays, products that are `small`, and how often
 * inner loops run at `most`. Kernels check the rest. Gives the same loop again where the same is proven, so that what is kept for a
 * loop is found again.
 */
export function specialize(loop: Loop, numbers: LoopNumbers): Loop {
  const last = latest.get(loop);
  const given = textOf(loop, numbers);
  if (last?.numbers === given) return last.variant;
  const variant = variantOf(loop, numbers);
  latest.set(loop, { numbers: given, variant });
  return variant;
}

/** What came of the numbers last, which are likely to be the same again. */
const latest = new WeakMap<Loop, { readonly numbers: string; readonly variant: Loop }>();

function textOf(loop: Loop, { inputs, lengths, first, step, count }: LoopNumbers): string {
  const values = [
    ...loop.inputs.map(({ name }) => inputs[name]),
    ...loop.arrays.map(({ name }) => lengths[name]),
  ];
  return [first, step, count, ...values].join();
}

function variantOf(loop: Loop, numbers: LoopNumbers): Loop {
  const body = new Specializer(loop, numbers).iteration();
  const variants = known.get(loop) ?? new Map([[JSON.stringify(loop.body), loop]]);
  known.set(loop, variants);
  const key = JSON.stringify(body);
  const variant = variants.get(key);
  if (variant || variants.size > mostVariants) return variant ?? loop;
  const made = { ...loop, body };
  variants.set(key, made);
  return made;
}

class Specializer {
  readonly #loop: Loop;
  readonly #numbers: LoopNumbers;
  readonly #elements: ReadonlyMap<string, Range | null>;
  #locals: Locals = new Map();

  constructor(loop: Loop, numbers: LoopNumbers) {
    this.#loop = loop;
    this.#numbers = numbers;
    this.#elements = new Map(loop.arrays.map(({ name, element }) => [name, rangeOfElements(element)]));
  }

  iteration(): Block {
    return this.#block(this.#loop.body);
  }

  /** A block, whose own locals end with it. */
  #block(statements: Block): Block {
    const before = new Map(this.#locals);
    const own = new Set<string>();
    const result = statements.flatMap((statement) => {
      if (statement.kind === "declare") own.add(statement.name);
      return statement.kind === "loop" ? this.#inner(statement) : this.#statement(statement);
    });
    for (const name of own) this.#set(name, before.get(name));
    return result;
  }

  #statement(statement: Statement): Statement {
    switch (statement.kind) {
      case "declare": {
        const [value, range] = this.#expression(statement.value);
        this.#set(statement.name, asType(statement.type, range));
        return { ...statement, value };
      }
      case "assign": {
        const [value, range] = this.#expression(statement.value);
        this.#set(statement.name, range);
        return { ...statement, value };
      }
      case "assignCarried":
      case "reduce":
        return { ...statement, value: this.#expression(statement.value)[0] };
      case "store": {
        const [index, range] = this.#expression(statement.index);
        const [value] = this.#expression(statement.value);
        return { ...statement, index, value, ...this.#inside(statement.array, range) };
      }
      case "if": {
        const [test] = this.#expression(statement.test);
        const before = new Map(this.#locals);
        const yes = this.#block(statement.yes);
        const afterYes = this.#locals;
        this.#locals = before;
        const no = this.#block(statement.no);
        for (const [name, range] of this.#locals) {
          const other = afterYes.get(name);
          this.#set(name, other === undefined ? undefined : hull(range, other));
        }
        return { ...statement, test, yes, no };
      }
      case "misspeculate":
        return statement.which.kind === "absolute"
          ? { ...statement, which: { ...statement.which, index: this.#expression(statement.which.index)[0] } }
          : statement;
      default:
        return statement;
    }
  }

  /** In an inner loop, and behind it, nothing is known of what it assigns to but of the variable that it counts with. */
  #inner(statement: InnerLoop): Statement[] {
    const inside = [...everyStatement([...statement.body, ...statement.update])];
    const changed = inside.flatMap((each) => (each.kind === "assign" ? [each.name] : []));
    const counter = this.#counter(statement, changed);
    for (const name of changed) this.#set(name, undefined);
    if (counter) this.#set(counter.counter.name, counter.values);
    // The test itself sees one value more, which decides nothing about elements.
    const [test, ...rest] = statement.body;
    const body = this.#block(counter ? rest : statement.body);
    const update = this.#block(statement.update);
    for (const name of changed) this.#set(name, undefined);
    if (!counter) return [{ ...statement, body, update }];
    // Rounded up: loops that differ in little share a variant.
    const turns = Math.min(statement.most ?? Infinity, 2 ** Math.ceil(Math.log2(counter.turns)));
    const loop = { ...statement, body: [test!, ...body], update, most: turns };
    return unroll({ ...counter, loop, body, turns });
  }

  /** `for (; name < end; name += step)`, where nothing else changes any of these: the values of `name` in the body. */
  #counter(
    { body, update }: InnerLoop,
    changed: readonly string[],
  ): (Pick<CountedLoop, "counter" | "test" | "step" | "turns"> & { readonly values: Range }) | null {
    const [leave] = body;
    if (leave?.kind !== "if" || leave.yes[0]?.kind !== "break") return null;
    const { test } = leave;
    if (test.kind !== "unary" || test.operand.kind !== "binary") return null;
    const { left, operator, right } = test.operand;
    const [step] = update;
    if (left.kind !== "local" || step?.kind !== "assign" || step.name !== left.name || update.length > 1)
      return null;
    const { value } = step;
    const isSum = value.kind === "binary" && value.left.kind === "local" && value.left.name === left.name;
    if (!isSum || value.right.kind !== "literal" || changed.filter((name) => name === left.name).length > 1)
      return null;
    const size = Number(value.right.value);
    const start = this.#locals.get(left.name);
    const end = this.#constant(right, changed);
    if (!start || !end || !(size > 0)) return null;
    const closed = operator.endsWith("=") ? 0 : 1;
    const isUp = value.operator === "+" && (operator === "<" || operator === "<=");
    const isDown = value.operator === "-" && (operator === ">" || operator === ">=");
    if (!isUp && !isDown) return null;
    const values = isUp
      ? rangeOf(start.low, Math.max(start.low, end.high - closed))
      : rangeOf(Math.min(start.high, end.low + closed), start.high);
    // Some steps further it must not wrap.
    const ahead = mostAhead * size;
    const reached = isUp
      ? rangeOf(values.low, values.high + ahead)
      : rangeOf(values.low - ahead, values.high);
    const all = allOf(left.type);
    if (!all || reached.low < all.low || reached.high > all.high) return null;
    const turns = Math.ceil((values.high - values.low + 1) / size);
    return { counter: left, test: test.operand, step: size, values, turns };
  }

  /** The range of an expression that no turn of a loop changes. */
  #constant(expression: Expression, changed: readonly string[]): Range | null {
    switch (expression.kind) {
      case "literal":
      case "input":
      case "length":
      case "index":
        return this.#expression(expression)[1];
      case "local":
        return changed.includes(expression.name) ? null : this.#expression(expression)[1];
      default:
        return null;
    }
  }

  #set(name: string, range: Range | null | undefined): void {
    if (range === undefined) this.#locals.delete(name);
    else this.#locals.set(name, range);
  }

  #inside(array: string, index: Range | null): { inside?: true } {
    return index && index.low >= 0 && index.high < this.#numbers.lengths[array]! ? { inside: true } : {};
  }

  /** The expression with what is proven about it, and its range; null for what is no integer. */
  #expression(expression: Expression): [Expression, Range | null] {
    const { type } = expression;
    switch (expression.kind) {
      case "literal": {
        const value = Number(expression.value);
        return [expression, allOf(type) && rangeOf(value, value)];
      }
      case "index": {
        const { first, step, count } = this.#numbers;
        const last = first + (count - 1) * step;
        return [expression, rangeOf(Math.min(first, last), Math.max(first, last))];
      }
      case "local": {
        const range = this.#locals.get(expression.name);
        return [expression, range === undefined ? allOf(type) : asType(type, range)];
      }
      case "input": {
        const value = this.#numbers.inputs[expression.name]!;
        return [expression, allOf(type) && rangeOf(value, value)];
      }
      case "carried":
        return [expression, allOf(type)];
      case "length": {
        const length = this.#numbers.lengths[expression.array]!;
        return [expression, rangeOf(length, length)];
      }
      case "load": {
        const [index, range] = this.#expression(expression.index);
        const loaded = asType(type, this.#elements.get(expression.array) ?? null);
        return [{ ...expression, index, ...this.#inside(expression.array, range) }, loaded];
      }
      case "unary": {
        const [operand, range] = this.#expression(expression.operand);
        const value = { ...expression, operand };
        if (!range || expression.operator === "!") return [value, allOf(type)];
        const negated = rangeOf(-range.high, -range.low);
        return [
          value,
          asType(type, expression.operator === "-" ? negated : rangeOf(negated.low - 1, negated.high - 1)),
        ];
      }
      case "binary": {
        const [left, a] = this.#expression(expression.left);
        const [right, b] = this.#expression(expression.right);
        const range = allOf(type) && a && b && rangeOfBinary(expression, a, b);
        const isSmall = expression.operator === "*" && range;
        return [{ ...expression, left, right, ...(isSmall ? { small: true } : {}) }, asType(type, range)];
      }
      case "conditional": {
        const [[test], [yes, a], [no, b]] = [expression.test, expression.yes, expression.no].map((part) =>
          this.#expression(part),
        ) as [[Expression, Range | null], [Expression, Range | null], [Expression, Range | null]];
        return [{ ...expression, test, yes, no }, hull(a, b)];
      }
      case "call": {
        const parts = expression.args.map((arg) => this.#expression(arg));
        const ranges = parts.map(([, range]) => range);
        const name = { imul: "*", min: "min", max: "max" }[expression.callee as string];
        const isKnown = name && ranges.length > 0 && allOf(type) && ranges.every((range) => range !== null);
        const range = isKnown
          ? (ranges as Range[]).reduce((one, other) => combined(name as "*", one, other))
          : null;
        return [{ ...expression, args: parts.map(([arg]) => arg) }, asType(type, range)];
      }
      case "convert": {
        const [operand, range] = this.#expression(expression.operand);
        return [{ ...expression, operand }, asType(type, range)];
      }
    }
  }
}
