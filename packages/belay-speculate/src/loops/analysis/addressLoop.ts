import type { BodyStatement, Loop, LoopExpression, MathFunction, WordFunction } from "../tree/ir.ts";
import { oncePerLoop } from "../tree/oncePerLoop.ts";
import {
  everyStatement,
  expressionsOf,
  isChecked,
  isLoad,
  operandsOf,
  someExpression,
  withOperands,
} from "../tree/walk.ts";

/**
 * A loop that is evaluated in place of another one, to find the elements that its iterations may
 * access before any is executed.
 */
export interface AddressLoop {
  readonly loop: Loop;
  /**
   * True if the iterations of both loops access the same elements and take the same branches.
   * Otherwise the original's iterations may leave some accesses out.
   */
  readonly isExact: boolean;
  /**
   * True if addresses follow from carried variables, whose values are predicted to stay the same.
   * The prediction holds up to the first iteration of a window that stores to one.
   */
  readonly isPredicted: boolean;
  /**
   * True if addresses and bail-outs follow from inputs, lengths and variables only, and from no
   * element of any array.
   */
  readonly followsFromNumbers: boolean;
}

/**
 * Makes the loop by which kernels find an iteration's addresses before its values. Every evaluation
 * gives the same addresses. Null if there is no such loop. Requires that no element which the loop
 * writes decides an address, nor arithmetic whose rounding differs between kernels. If only
 * branches depend on such values, both sides are evaluated, one after the other.
 */
export const addressLoop = oncePerLoop(
  (loop): AddressLoop | null =>
    findWith(loop, false) ?? (loop.carried.length > 0 ? findWith(loop, true) : null),
);

function findWith(loop: Loop, isPredicted: boolean): AddressLoop | null {
  const read = new Set(loop.arrays.filter(({ role }) => role === "read").map(({ name }) => name));
  const varies = varyingIn(loop, read, isPredicted);
  const { expressions, indices, branches } = partsOf(loop);
  if (indices.some(varies)) return null;
  // A kernel that finds addresses has other values, so it cannot find bail-outs that need them.
  if (expressions.some((expression) => isChecked(expression) && varies(expression))) return null;
  // A predicted variable's change must be known, or the address of the next iteration is not.
  if (isPredicted && loop.carried.some(({ name, type }) => varies({ kind: "carried", name, type })))
    return null;
  const open = branches.filter(({ test }) => varies(test));
  if (open.some(({ yes, no }) => leaves([...yes, ...no]))) return null;
  const isExact = open.length === 0 && !expressions.some((expression) => choosesLoads(expression, varies));
  const evaluated = isExact ? loop : { ...loop, body: hoistConditionalLoads(loop.body, varies) };
  return {
    loop: evaluated,
    isExact,
    isPredicted,
    followsFromNumbers: followsFromNumbers(evaluated, isPredicted),
  };
}

function followsFromNumbers(loop: Loop, isPredicted: boolean): boolean {
  const varies = varyingIn(loop, new Set(), isPredicted);
  const { expressions, indices, branches } = partsOf(loop);
  return (
    // An element decides whether an integer leaves its type, and the iteration bails out.
    !expressions.some((expression) => isChecked(expression) && varies(expression)) &&
    !indices.some(varies) &&
    !branches.some(({ test }) => varies(test)) &&
    !expressions.some((expression) => choosesLoads(expression, varies))
  );
}

/** Returns all expressions of a loop, those that are indices, and its branches. */
function partsOf(loop: Loop) {
  const statements = [...everyStatement(loop.body)];
  const expressions = statements.flatMap((statement) =>
    expressionsOf(statement).flatMap((expression) => [...withOperands(expression)]),
  );
  const indices = [
    ...expressions.flatMap((expression) => (expression.kind === "load" ? [expression.index] : [])),
    ...statements.flatMap((statement) => (statement.kind === "store" ? [statement.index] : [])),
  ];
  const branches = statements.flatMap((statement) => (statement.kind === "if" ? [statement] : []));
  return { expressions, indices, branches };
}

/** Returns true if the statements jump to a loop around them, or end the speculated loop. */
function leaves(statements: readonly BodyStatement[]): boolean {
  const inside = [...everyStatement(statements)];
  const labels = new Set(inside.flatMap((statement) => (statement.kind === "loop" ? [statement.label] : [])));
  return inside.some(
    (statement) =>
      statement.kind === "endLoop" ||
      ((statement.kind === "break" || statement.kind === "continue") && !labels.has(statement.label)),
  );
}

/**
 * Returns statements that evaluate all loads that the given ones may evaluate. Varying values come
 * out wrong; no address depends on them.
 */
function hoistConditionalLoads(
  statements: readonly BodyStatement[],
  varies: (expression: LoopExpression) => boolean,
): BodyStatement[] {
  return new LoadHoister(varies).block(statements);
}

class LoadHoister {
  readonly #varies: (expression: LoopExpression) => boolean;
  #names = 0;

  constructor(varies: (expression: LoopExpression) => boolean) {
    this.#varies = varies;
  }

  /**
   * Rewrites a block. `isOpen` says that the block is in a branch that may not be taken, so that
   * the iteration continues after its `endIteration`.
   */
  block(statements: readonly BodyStatement[], isOpen = false): BodyStatement[] {
    return statements.flatMap((statement) => this.#statement(statement, isOpen));
  }

  #statement(statement: BodyStatement, isOpen: boolean): BodyStatement[] {
    switch (statement.kind) {
      case "declare":
      case "assign":
      case "assignCarried":
      case "store":
        return [...this.#loads(statement.value), { ...statement, value: this.#value(statement.value) }];
      case "reduce": {
        const { value, companions = [] } = statement;
        return [
          ...[value, ...companions].flatMap((each) => this.#loads(each)),
          {
            ...statement,
            value: this.#value(value),
            companions: companions.map((each) => this.#value(each)),
          },
        ];
      }
      case "if": {
        const { test, yes, no } = statement;
        if (!this.#varies(test))
          return [{ ...statement, yes: this.block(yes, isOpen), no: this.block(no, isOpen) }];
        const taken = (side: readonly BodyStatement[]): BodyStatement => ({
          kind: "if",
          test: { kind: "literal", type: "bool", value: 1 },
          yes: this.block(side, true),
          no: [],
        });
        return [...this.#load(test), taken(yes), taken(no)];
      }
      case "loop":
        return [
          {
            ...statement,
            body: this.block(statement.body, isOpen),
            update: this.block(statement.update, isOpen),
          },
        ];
      case "endIteration":
        return isOpen ? [] : [statement];
      case "misspeculate":
        return [];
      default:
        return [statement];
    }
  }

  /** Returns the loads to evaluate before an expression that may leave some of its loads out. */
  #loads(expression: LoopExpression): BodyStatement[] {
    return this.#isOpen(expression) ? this.#load(expression) : [];
  }

  #value(expression: LoopExpression): LoopExpression {
    return this.#isOpen(expression) ? { kind: "literal", type: expression.type, value: 0 } : expression;
  }

  #isOpen(expression: LoopExpression): boolean {
    return [...withOperands(expression)].some((part) => choosesLoads(part, this.#varies));
  }

  /** Returns statements that evaluate all loads of an expression, including those in indices. */
  #load(expression: LoopExpression): BodyStatement[] {
    if (isLoad(expression)) {
      return [{ kind: "declare", name: `$opened${this.#names++}`, type: expression.type, value: expression }];
    }
    return operandsOf(expression).flatMap((operand) => this.#load(operand));
  }
}

/** The functions of f32 whose result is the same in every kernel. */
const exactFunctions = new Set<MathFunction | WordFunction>([
  "abs",
  "ceil",
  "floor",
  "trunc",
  "sign",
  "min",
  "max",
]);

/**
 * Returns a predicate for expressions that may vary: their values depend on elements of arrays
 * outside `read` or on a kernel's rounding. Carried variables vary too, unless they are predicted
 * and only values that do not vary are stored to them.
 */
export function varyingIn(
  loop: Loop,
  read: ReadonlySet<string>,
  predictsCarried: boolean,
): (expression: LoopExpression) => boolean {
  const varying = new Set<string>();
  const varyingCarried = new Set(predictsCarried ? [] : loop.carried.map(({ name }) => name));
  const varies = (expression: LoopExpression): boolean => {
    switch (expression.kind) {
      case "load":
        if (!read.has(expression.array)) return true;
        break;
      case "carried":
        return varyingCarried.has(expression.name);
      case "local":
        return varying.has(expression.name);
      case "binary":
        if (expression.type === "f32") return true;
        break;
      case "call":
        if (expression.type === "f32" && !exactFunctions.has(expression.callee)) return true;
        break;
    }
    return operandsOf(expression).some(varies);
  };

  // A local varies when a varying value is assigned to it, or any value in a branch that may not be
  // taken. `own` are the locals of that branch, which do not exist outside of it.
  const walk = (statements: readonly BodyStatement[], own: Set<string> | null): void => {
    for (const statement of statements) {
      switch (statement.kind) {
        case "declare":
          own?.add(statement.name);
          if (varies(statement.value)) varying.add(statement.name);
          break;
        case "assign":
          if (varies(statement.value) || own?.has(statement.name) === false) varying.add(statement.name);
          break;
        case "assignCarried":
          if (varies(statement.value) || own) varyingCarried.add(statement.name);
          break;
        case "if": {
          const inside = () => (varies(statement.test) ? new Set<string>() : own);
          walk(statement.yes, inside());
          walk(statement.no, inside());
          break;
        }
        case "loop":
          walk(statement.body, own);
          walk(statement.update, own);
      }
    }
  };
  for (let before = -1; before !== varying.size + varyingCarried.size; ) {
    before = varying.size + varyingCarried.size;
    walk(loop.body, null);
  }
  return varies;
}

/** Returns true if a varying value decides whether the expression loads something. */
function choosesLoads(expression: LoopExpression, varies: (test: LoopExpression) => boolean): boolean {
  const loads = (side: LoopExpression) => someExpression(side, isLoad);
  switch (expression.kind) {
    case "conditional":
      return (loads(expression.yes) || loads(expression.no)) && varies(expression.test);
    case "binary": {
      const shortCircuits = expression.operator === "&&" || expression.operator === "||";
      return shortCircuits && loads(expression.right) && varies(expression.left);
    }
    default:
      return false;
  }
}
