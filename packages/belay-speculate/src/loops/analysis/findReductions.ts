import type {
  BodyStatement,
  ChoiceOperator,
  Loop,
  LoopExpression,
  NumberType,
  ReducedVariable,
  Reduction,
  ReductionOperator,
} from "../tree/ir.ts";
import { everyStatement, expressionsOf, someExpression, withOperands } from "../tree/walk.ts";

type Carried = Loop["carried"];
type Body = readonly BodyStatement[];
type Assignment = Extract<BodyStatement, { kind: "assignCarried" }>;
type If = Extract<BodyStatement, { kind: "if" }>;

/** A body with its carried variables, some of which became reductions. */
export interface FoundReductions {
  readonly body: Body;
  readonly carried: Carried;
  readonly reductions: readonly Reduction[];
}

/**
 * Finds the variables that iterations only reduce, so that iterations need not wait for each other.
 * Each reduction gives what the loop in order gives: operations on integers, minima, maxima, and
 * choices of a value. Sums and products of floats depend on their order and stay as they are.
 * `isSafe` tells whether the host has checked that a double holds a variable's integers.
 *
 * Before: carried s, best, at
 *         s = s + a[i]; if (f[i] > best) { best = f[i]; at = i }
 * After:  reductions s with +, best with > and its companion at
 *         reduce s by a[i]; reduce best by f[i], with at = i
 */
export function findReductions(
  body: Body,
  carried: Carried,
  isSafe: (name: string) => boolean,
): FoundReductions {
  let candidates = carried;
  for (;;) {
    const finder = new Finder(candidates, isSafe);
    const rewritten = finder.block(body);
    const uses = usesOf(rewritten);
    const reductions = finder.reductions;
    const reduced = new Set(
      reductions.flatMap(({ name, companions = [] }) => [name, ...companions.map((one) => one.name)]),
    );
    const isFound = ({ name }: ReducedVariable | Carried[number]) => reduced.has(name) && !uses.has(name);
    const remaining = candidates.filter(isFound);
    if (remaining.length === candidates.length)
      return { body: rewritten, reductions, carried: carried.filter((one) => !candidates.includes(one)) };
    candidates = remaining;
  }
}

/** Returns the names of the carried variables that a body reads or sets. */
function usesOf(body: Body): ReadonlySet<string> {
  const names = new Set<string>();
  for (const statement of everyStatement(body)) {
    if (statement.kind === "assignCarried") names.add(statement.name);
    for (const expression of expressionsOf(statement))
      for (const part of withOperands(expression)) if (part.kind === "carried") names.add(part.name);
  }
  return names;
}

/** A reduction as one statement of the body makes it. */
interface Site extends Reduction {
  readonly value: LoopExpression;
  readonly values: readonly LoopExpression[];
}

class Finder {
  readonly #candidates: ReadonlyMap<string, NumberType>;
  readonly #isSafe: (name: string) => boolean;
  readonly #sites = new Map<string, Site[]>();

  constructor(candidates: Carried, isSafe: (name: string) => boolean) {
    this.#candidates = new Map(candidates.map(({ name, type }) => [name, type]));
    this.#isSafe = isSafe;
  }

  /** The reductions of which all statements agree. No variable belongs to two. */
  get reductions(): readonly Reduction[] {
    const agreed = [...this.#sites].flatMap(([name, sites]): Reduction[] => {
      const [{ type, operator, wraps, isWide, companions }] = sites as [Site];
      const isSame = sites.every(
        (site) =>
          site.operator === operator &&
          site.type === type &&
          site.isWide === isWide &&
          site.wraps === wraps &&
          namesOf(site.companions) === namesOf(companions),
      );
      if (!isSame) return [];
      return [
        {
          name,
          type,
          operator,
          ...(wraps && { wraps }),
          ...(isWide && { isWide }),
          ...(companions && { companions }),
        },
      ];
    });
    const owners = agreed.flatMap(({ name, companions = [] }) => [
      name,
      ...companions.map((one) => one.name),
    ]);
    const isAlone = (name: string) => owners.indexOf(name) === owners.lastIndexOf(name);
    return agreed.filter(({ name, companions = [] }) =>
      [name, ...companions.map((one) => one.name)].every(isAlone),
    );
  }

  block(statements: Body): BodyStatement[] {
    return statements.flatMap((statement) => this.#statement(statement));
  }

  #statement(statement: BodyStatement): BodyStatement[] {
    switch (statement.kind) {
      case "assignCarried": {
        const site = this.#reduction(statement) ?? this.#conditional(statement) ?? this.#last(statement);
        return site ? [this.#reduce(site)] : [statement];
      }
      case "if": {
        const choice = this.#choice(statement);
        if (choice) return choice;
        return [{ ...statement, yes: this.block(statement.yes), no: this.block(statement.no) }];
      }
      case "loop":
        return [{ ...statement, body: this.block(statement.body), update: this.block(statement.update) }];
      default:
        return [statement];
    }
  }

  #reduce({ value, values, ...reduction }: Site): BodyStatement {
    const { name, companions } = reduction;
    this.#sites.set(name, [...(this.#sites.get(name) ?? []), { ...reduction, value, values }]);
    return { kind: "reduce", name, value, ...(companions && { companions: values }) };
  }

  /** Returns the type of a candidate that is no double. */
  #typeOf(name: string): Reduction["type"] | undefined {
    const type = this.#candidates.get(name);
    return type === "f64" ? undefined : type;
  }

  /** Returns the site of `x = x + value` and the like. */
  #reduction({ name, value }: Assignment): Site | undefined {
    const type = this.#typeOf(name);
    const found = type && combinationOf(value, type, (part) => isCarried(part, name, type));
    if (!found) return undefined;
    const { operator, coerced, checked } = found;
    if (checked && (coerced || !this.#isSafe(name))) return undefined;
    const operand = checked ? wideSummand(found.operand, checked) : found.operand;
    if (reads(operand, name)) return undefined;
    const wraps = coerced && !"*&|^".includes(operator);
    return {
      name,
      type: checked ? (operand.type as "i32") : type,
      operator,
      ...(wraps && { wraps }),
      ...(checked && { isWide: true }),
      value: operand,
      values: [],
    };
  }

  /** Returns the site of `x = value > x ? value : x`. */
  #conditional({ name, value }: Assignment): Site | undefined {
    if (value.kind !== "conditional") return undefined;
    const compared = this.#compared(value.test);
    if (compared?.name !== name) return undefined;
    const isKept = isCarried(value.no, name, compared.type) && isSame(value.yes, compared.value);
    return isKept ? { ...compared, companions: [], values: [] } : undefined;
  }

  /** Returns the site of `x = value`, which keeps the last value. */
  #last({ name, value }: Assignment): Site | undefined {
    const type = this.#typeOf(name);
    if (!type || reads(value, name)) return undefined;
    return { name, type, operator: "=", value, values: [], companions: [] };
  }

  /** Returns a statement for `if (value > x) { x = value; y = other; }`. */
  #choice({ test, yes, no }: If): BodyStatement[] | undefined {
    if (no.length > 0) return undefined;
    if (test.kind === "binary" && test.operator === "&&") {
      const inner = this.#choice({ kind: "if", test: test.right, yes, no });
      return inner && [{ kind: "if", test: test.left, yes: inner, no }];
    }
    const compared = this.#compared(test);
    if (!compared) return undefined;
    const { name } = compared;
    const declared = yes.filter((statement) => statement.kind === "declare");
    const assigned = yes.filter((statement) => statement.kind === "assignCarried");
    const chosen = assigned.find((one) => one.name === name);
    const others = assigned.filter((one) => one !== chosen);
    const names = new Set([name, ...others.map((one) => one.name)]);
    if (!chosen || !isSame(chosen.value, compared.value)) return undefined;
    if (declared.length + assigned.length < yes.length || names.size < assigned.length) return undefined;
    // A companion is evaluated with the values before the choice.
    const isFree = [...declared, ...others].every(({ value }) =>
      [...names].every((one) => !reads(value, one)),
    );
    if (!isFree) return undefined;
    const companions = others.map((one) => ({ name: one.name, type: this.#typeOf(one.name) }));
    if (companions.some(({ type }) => !type)) return undefined;
    const reduce = this.#reduce({
      ...compared,
      companions: companions as ReducedVariable[],
      values: others.map(({ value }) => value),
    });
    if (declared.length === 0) return [reduce];
    return [
      { kind: "if", test: { kind: "literal", type: "bool", value: 1 }, yes: [...declared, reduce], no: [] },
    ];
  }

  /** Returns the comparison `value > x` of a value with a candidate. */
  #compared(test: LoopExpression) {
    if (test.kind !== "binary") return undefined;
    const { operator, left, right } = test;
    if (!(operator in turned)) return undefined;
    for (const [value, best, chosen] of [
      [left, right, operator],
      [right, left, turned[operator as keyof typeof turned]],
    ] as const) {
      const type = best.kind === "carried" ? this.#typeOf(best.name) : undefined;
      if (best.kind !== "carried" || !type || best.type !== type || value.type !== type) continue;
      if (!reads(value, best.name))
        return { name: best.name, type, operator: chosen as ChoiceOperator, value };
    }
    return undefined;
  }
}

/** A value that combines a variable with an operand, as `x + operand` does. */
interface Combination {
  readonly operator: ReductionOperator;
  readonly operand: LoopExpression;
  /** The type to which the program coerces the value. */
  readonly coerced: LoopExpression["type"] | undefined;
  /** The sign of the operand in a sum that is exact. Other sums are taken modulo 2^32. */
  readonly checked?: "+" | "-";
}

/** Returns the combination that a value is, given which expressions are the variable. */
export function combinationOf(
  value: LoopExpression,
  type: Reduction["type"],
  isVariable: (part: LoopExpression) => boolean,
): Combination | undefined {
  const { coerced, whole } = withoutCoercion(value);
  if (coerced && coerced !== type) return undefined;
  if (whole.kind === "call") {
    const { callee, args } = whole;
    const others = args.filter((arg) => !isVariable(arg));
    if (others.length !== args.length - 1 || others.length === 0) return undefined;
    if (callee === "imul") return { operator: "*", operand: asSummand(others[0]!, type as "i32"), coerced };
    if (callee !== "min" && callee !== "max") return undefined;
    if ([whole, ...others].some((other) => other.type !== type)) return undefined;
    const operand = others.length === 1 ? others[0]! : { ...whole, args: others };
    return { operator: callee, operand, coerced };
  }
  if (whole.kind !== "binary" || type === "f32") return undefined;
  const { operator, left, right } = whole;
  if (!isInteger(left) || !isInteger(right)) return undefined;
  const other = isVariable(left) ? right : isVariable(right) ? left : undefined;
  if (!other) return undefined;
  switch (operator) {
    case "&":
    case "|":
    case "^":
      return { operator, operand: other, coerced };
    case "+":
    case "-": {
      if (operator === "-" && !isVariable(left)) return undefined;
      if (whole.checked) return { operator: "+", operand: other, coerced, checked: operator };
      const operand = operator === "+" ? asSummand(other, type) : negated(other, type);
      return { operator: "+", operand, coerced };
    }
    default:
      return undefined;
  }
}

/** The comparisons with their sides exchanged. */
const turned = { ">": "<", ">=": "<=", "<": ">", "<=": ">=" } as const;

const isInteger = ({ type }: LoopExpression) => type === "i32" || type === "u32";
const isCarried = (part: LoopExpression, name: string, type: NumberType) =>
  part.kind === "carried" && part.name === name && part.type === type;
const reads = (expression: LoopExpression, name: string) =>
  someExpression(expression, (part) => part.kind === "carried" && part.name === name);
const namesOf = (variables: readonly ReducedVariable[] = []) => variables.map(({ name }) => name).join();

/** Returns the operand of `x | 0` and `x >>> 0`, and the type of the coercion if there is one. */
function withoutCoercion(value: LoopExpression): {
  readonly coerced: LoopExpression["type"] | undefined;
  readonly whole: LoopExpression;
} {
  if (value.kind !== "convert" || !isInteger(value) || !isInteger(value.operand) || value.checked)
    return { coerced: undefined, whole: value };
  const { coerced, whole } = withoutCoercion(value.operand);
  return { coerced: value.implicit ? coerced : value.type, whole };
}

/** Returns a summand or a factor in the type of its reduction. */
const asSummand = (operand: LoopExpression, type: "i32" | "u32"): LoopExpression =>
  operand.type === type ? operand : { kind: "convert", type, operand, implicit: true };

const negated = (value: LoopExpression, type: "i32" | "u32"): LoopExpression => ({
  kind: "unary",
  type,
  operator: "-",
  operand: asSummand(value, type),
});

/** Returns a summand of a wide sum in the type that holds it. */
function wideSummand(value: LoopExpression, operator: "+" | "-"): LoopExpression {
  const isConverted = value.kind === "convert" && value.implicit && value.checked && isInteger(value.operand);
  const summand = isConverted ? value.operand : value;
  if (operator === "+") return summand;
  const operand: LoopExpression =
    summand.type === "i32"
      ? summand
      : { kind: "convert", type: "i32", operand: summand, implicit: true, checked: true };
  return { kind: "unary", type: "i32", operator: "-", operand, checked: true };
}

/** Returns true if two expressions are the same, apart from their places in the source. */
export function isSame(one: LoopExpression, other: LoopExpression): boolean {
  const text = (expression: LoopExpression) =>
    JSON.stringify(expression, (key, value) => (key === "span" ? undefined : value));
  return text(one) === text(other);
}
