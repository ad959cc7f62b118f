import type { BodyStatement, Loop, LoopExpression, NumberType, WordFunction } from "../tree/ir.ts";
import { oncePerLoop } from "../tree/oncePerLoop.ts";
import { doubleFunctions } from "./code/doubles.ts";

/**
 * Returns the loop with its doubles in words, as kernels access memory. Doubles remain in
 * expressions only. An array of doubles has two elements for each double, and so has a variable
 * two variables of integers.
 *
 * Before:  y[i] = y[i] + alpha
 * After:   let sum = double(y[lowWord(i)], y[highWord(i)]) + double(alpha$low, alpha$high)
 *          y[lowWord(i)] = low(sum); y[highWord(i)] = high(sum)
 */
export const wordLoop = oncePerLoop((loop): Loop => {
  const doubles = new Set(loop.arrays.flatMap(({ name, element }) => (element === "f64" ? [name] : [])));
  const twice = (count: number | null) => count && count * (doubles.size > 0 ? 2 : 1);
  return {
    ...loop,
    inputs: loop.inputs.flatMap(wordsOf),
    carried: loop.carried.flatMap(wordsOf),
    mostLoads: twice(loop.mostLoads),
    mostStores: twice(loop.mostStores),
    body: new Splitter(doubles).block(loop.body),
    functions: doubleFunctions,
  };
});

const words = ["low", "high"] as const;

/** Returns the variables that hold the words of a double; another variable itself. */
function wordsOf(variable: { readonly name: string; readonly type: NumberType }) {
  if (variable.type !== "f64") return [variable];
  return words.map((word) => ({ name: wordName(variable.name, word), type: "u32" as const }));
}

/** Returns the name of the variable that holds a word of a double. */
export const wordName = (name: string, word: "low" | "high"): string => `${name}$${word}`;

class Splitter {
  readonly #doubles: ReadonlySet<string>;
  #names = 0;

  constructor(doubles: ReadonlySet<string>) {
    this.#doubles = doubles;
  }

  block(statements: readonly BodyStatement[]): BodyStatement[] {
    return statements.flatMap((statement) => this.#statement(statement));
  }

  #statement(statement: BodyStatement): BodyStatement[] {
    switch (statement.kind) {
      case "declare":
      case "assign":
        return [{ ...statement, value: this.#split(statement.value) }];
      case "reduce": {
        const companions = statement.companions?.map((one) => this.#split(one));
        return [{ ...statement, value: this.#split(statement.value), ...(companions && { companions }) }];
      }
      case "assignCarried": {
        const value = this.#split(statement.value);
        if (value.type !== "f64") return [{ ...statement, value }];
        const [held, local] = this.#hold(value);
        const assign = (word: "low" | "high"): BodyStatement => ({
          ...statement,
          name: wordName(statement.name, word),
          value: call("u32", word, local),
        });
        return [held, ...words.map(assign)];
      }
      case "store": {
        const [index, value] = [this.#split(statement.index), this.#split(statement.value)];
        if (!this.#doubles.has(statement.array)) return [{ ...statement, index, value }];
        const [heldIndex, place] = this.#hold(index);
        const [heldValue, local] = this.#hold(value);
        const store = (word: "low" | "high"): BodyStatement => ({
          ...statement,
          index: call("u32", `${word}Word`, place),
          value: call("u32", word, local),
        });
        return [heldIndex, heldValue, ...words.map(store)];
      }
      case "if":
        return [
          {
            ...statement,
            test: this.#split(statement.test),
            yes: this.block(statement.yes),
            no: this.block(statement.no),
          },
        ];
      case "loop":
        return [{ ...statement, body: this.block(statement.body), update: this.block(statement.update) }];
      default:
        return [statement];
    }
  }

  #hold(value: LoopExpression): [BodyStatement, LoopExpression] {
    const { type } = value;
    const name = `$word${this.#names++}`;
    return [
      { kind: "declare", name, type, value },
      { kind: "local", type, name },
    ];
  }

  /** Returns an expression whose loads and variables from outside are words. */
  #split(expression: LoopExpression): LoopExpression {
    switch (expression.kind) {
      case "input":
      case "carried": {
        if (expression.type !== "f64") return expression;
        const [low, high] = words.map(
          (word): LoopExpression => ({ ...expression, type: "u32", name: wordName(expression.name, word) }),
        );
        return call("f64", "double", low!, high!);
      }
      case "load": {
        const index = this.#split(expression.index);
        if (expression.type !== "f64") return { ...expression, index };
        const [low, high] = words.map(
          (word): LoopExpression => ({
            ...expression,
            type: "u32",
            index: call("u32", `${word}Word`, index),
          }),
        );
        return call("f64", "double", low!, high!);
      }
      case "unary":
      case "convert":
        return { ...expression, operand: this.#split(expression.operand) };
      case "binary": {
        const { operator, right } = expression;
        const left = this.#split(expression.left);
        const factor = operator === "/" && right.type === "f64" ? reciprocalOf(right) : undefined;
        if (factor) return { ...expression, operator: "*", left, right: factor };
        return { ...expression, left, right: this.#split(right) };
      }
      case "conditional":
        return {
          ...expression,
          test: this.#split(expression.test),
          yes: this.#split(expression.yes),
          no: this.#split(expression.no),
        };
      case "call":
        return { ...expression, args: expression.args.map((one) => this.#split(one)) };
      case "length": {
        if (!this.#doubles.has(expression.array)) return expression;
        const right: LoopExpression = { kind: "literal", type: "i32", value: 1 };
        return { kind: "binary", type: "i32", operator: ">>", left: expression, right };
      }
      default:
        return expression;
    }
  }
}

/**
 * Returns the reciprocal of a constant power of two. A product with it is the quotient by the
 * constant, to the bit, and takes a fraction of the operations.
 */
function reciprocalOf(divisor: LoopExpression): LoopExpression | undefined {
  const value = divisor.kind === "literal" ? Number(divisor.value) : 0;
  const size = Math.abs(value);
  const isPower = size === 2 ** Math.round(Math.log2(size)) && Math.abs(1 / value) >= 2 ** -1022;
  return isPower && Number.isFinite(1 / value)
    ? { kind: "literal", type: "f64", value: 1 / value }
    : undefined;
}

const call = (type: "u32" | "f64", callee: WordFunction, ...args: LoopExpression[]): LoopExpression => ({
  kind: "call",
  type,
  callee,
  args,
});
