import type { Expression, Statement } from "../ir.ts";
import { choosesLoads } from "./varyingIn.ts";
import { isLoad, operandsOf, withOperands } from "./walk.ts";

/** Statements that evaluate all loads that these may evaluate. Values that vary come out wrong, which no address depends on. */
export function openedBranches(
  statements: readonly Statement[],
  varies: (expression: Expression) => boolean,
): Statement[] {
  return new Opening(varies).block(statements);
}

class Opening {
  readonly #varies: (expression: Expression) => boolean;
  #names = 0;

  constructor(varies: (expression: Expression) => boolean) {
    this.#varies = varies;
  }

  /** `isOpen`: in a branch that may not be taken, so that the iteration may go on where it seems to end. */
  block(statements: readonly Statement[], isOpen = false): Statement[] {
    return statements.flatMap((statement) => this.#statement(statement, isOpen));
  }

  #statement(statement: Statement, isOpen: boolean): Statement[] {
    switch (statement.kind) {
      case "declare":
      case "assign":
      case "assignCarried":
      case "reduce":
      case "store":
        return [...this.#loads(statement.value), { ...statement, value: this.#value(statement.value) }];
      case "if": {
        const { test, yes, no } = statement;
        if (!this.#varies(test))
          return [{ ...statement, yes: this.block(yes, isOpen), no: this.block(no, isOpen) }];
        const taken = (side: readonly Statement[]): Statement => ({
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

  /** What to evaluate before an expression that may leave some of its loads out. */
  #loads(expression: Expression): Statement[] {
    return this.#isOpen(expression) ? this.#load(expression) : [];
  }

  #value(expression: Expression): Expression {
    return this.#isOpen(expression) ? { kind: "literal", type: expression.type, value: 0 } : expression;
  }

  #isOpen(expression: Expression): boolean {
    return [...withOperands(expression)].some((part) => choosesLoads(part, this.#varies));
  }

  /** Evaluates all loads of an expression; the loads in their indices come along. */
  #load(expression: Expression): Statement[] {
    if (isLoad(expression)) {
      return [{ kind: "declare", name: `$opened${this.#names++}`, type: expression.type, value: expression }];
    }
    return operandsOf(expression).flatMap((operand) => this.#load(operand));
  }
}
