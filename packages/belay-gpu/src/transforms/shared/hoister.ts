import { containsMemoryOperation, isMemoryOperation, isTextureStore } from "../../analysis/effects.ts";
import { matrixAccess } from "../../analysis/matrixAccesses.ts";
import type { Expression, Statement, TypeExpression } from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import { isHandle } from "../../wgsl/typeFamilies.ts";
import type { Names } from "./names.ts";

/**
 * The extraction of memory operations from expressions, in evaluation order. Each method adds to
 * `before` the statements that must run before the statement that uses the result.
 */
export class Hoister {
  readonly #program: Program;
  readonly #names: Names;
  /** The names of the `let`s that were added. The program does not contain them. */
  readonly #saved = new Set<string>();

  constructor(program: Program, names: Names) {
    this.#program = program;
    this.#names = names;
  }

  /**
   * Returns a memory operation with stable operands. Returns any other expression without memory
   * operations inside.
   */
  operation(expression: Expression, before: Statement[]): Expression {
    if (
      expression.kind !== "call" ||
      !(
        isMemoryOperation(this.#program, expression) ||
        isTextureStore(this.#program, expression) ||
        matrixAccess(this.#program, expression)
      )
    ) {
      return this.value(expression, before);
    }
    return { ...expression, args: expression.args.map((argument) => this.stable(argument, before)) };
  }

  /** Returns an expression of the same value without memory operations inside. */
  value(expression: Expression, before: Statement[]): Expression {
    if (!containsMemoryOperation(this.#program, expression)) return expression;
    // A reference is loaded in its place, after its indices are known.
    if (this.#program.typeOf(expression).kind === "reference") return this.place(expression, before);
    switch (expression.kind) {
      case "unary":
        return { ...expression, operand: this.value(expression.operand, before) };
      case "memberAccess":
        return { ...expression, base: this.value(expression.base, before) };
      case "index": {
        const [base, index] = this.#operands([expression.base, expression.index], before);
        return { ...expression, base: base!, index: index! };
      }
      case "call":
        if (isMemoryOperation(this.#program, expression))
          return this.save(this.operation(expression, before), before);
        return { ...expression, args: this.#operands(expression.args, before) };
      case "binary": {
        const { operator } = expression;
        if (operator === "&&" || operator === "||")
          return this.#shortCircuit(operator, expression.left, expression.right, before);
        const [left, right] = this.#operands([expression.left, expression.right], before);
        return { ...expression, left: left!, right: right! };
      }
      default:
        return expression;
    }
  }

  /**
   * Returns the operands in order. Those before the last memory operation are saved, so that the
   * operation cannot overtake them.
   */
  #operands(operands: readonly Expression[], before: Statement[]): Expression[] {
    const last = operands.findLastIndex((operand) => containsMemoryOperation(this.#program, operand));
    return operands.map((operand, i) => {
      if (i < last) return this.stable(operand, before);
      return i === last ? this.value(operand, before) : operand;
    });
  }

  #shortCircuit(operator: "&&" | "||", left: Expression, right: Expression, before: Statement[]): Expression {
    const { statements, expression } = quote(left.span);
    const result = this.#names.fresh("condition");
    const inner: Statement[] = [];
    const first = this.value(left, before);
    const second = this.value(right, inner);
    const needed = operator === "&&" ? expression`${result}` : expression`!${result}`;
    before.push(...statements`var ${result} = ${first}; if (${needed}) { ${inner} ${result} = ${second}; }`);
    return expression`${result}`;
  }

  /** Returns a place with stable indices. */
  place(expression: Expression, before: Statement[]): Expression {
    switch (expression.kind) {
      case "memberAccess":
        return { ...expression, base: this.place(expression.base, before) };
      case "index": {
        const base = this.place(expression.base, before);
        return { ...expression, base, index: this.stable(expression.index, before) };
      }
      case "unary":
        return { ...expression, operand: this.place(expression.operand, before) };
      default:
        return expression;
    }
  }

  /**
   * Returns an expression of the same value that may be evaluated again, anywhere later in the
   * block.
   */
  stable(expression: Expression, before: Statement[]): Expression {
    // An index into an array of textures may contain a memory operation.
    if (this.#isHandle(expression)) return this.place(expression, before);
    if (this.#isStable(expression)) return expression;
    if (expression.kind === "unary" && expression.operator === "&") return this.place(expression, before);
    const value = this.value(expression, before);
    return this.isTypedName(value) ? value : this.save(value, before);
  }

  #isStable(expression: Expression): boolean {
    return this.isTypedName(expression) || this.#program.stageOf(expression) !== "runtime";
  }

  /** Returns true for the name of a `let` or a parameter: it has a type and never changes. */
  isTypedName(expression: Expression): boolean {
    if (expression.kind !== "identifier") return false;
    if (this.#saved.has(expression.name)) return true;
    const target = this.#program.targetOf(expression);
    return target?.kind === "let" || target?.kind === "parameter";
  }

  /** Returns true for textures and samplers, which cannot be saved and never change. */
  #isHandle(expression: Expression): boolean {
    return isHandle(this.#program.valueTypeOf(expression));
  }

  /** Saves a value in a `let`, of the type `type` if given, and returns its name. */
  save(value: Expression, before: Statement[], type?: TypeExpression): Expression {
    const { statements, expression } = quote(value.span);
    const name = this.#names.fresh("value");
    this.#saved.add(name);
    before.push(
      ...(type ? statements`let ${name}: ${type} = ${value};` : statements`let ${name} = ${value};`),
    );
    return expression`${name}`;
  }
}
