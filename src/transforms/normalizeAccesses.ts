/**
 * Gives every store, atomic and `workgroupUniformLoad` a statement of its own, with operands that may be repeated.
 *
 * Before:  out[next()] += atomicAdd(&n, 1) + x;
 * After:   let i = next(); let a = out[i]; let n1 = atomicAdd(&n, 1); let v: u32 = a + (n1 + x); out[i] = v;
 *
 * A store to shared memory (storage or workgroup) becomes `place = value`, and a memory operation becomes a `let` or
 * a call statement. Their indices and values are then *stable*: constants, overrides, `let`s or parameters. Evaluation
 * order is kept: what an expression evaluates before a hoisted operation is saved before it, and the right operands
 * of `&&` and `||` stay conditional.
 *
 * Requires: unique names, resolved pointers, loops whose headers have no memory operation (desugarLoops).
 * Ensures:  valid module; access normal form.   Order: before every transform that hooks on accesses.
 * Source:   WGSL specification, "Evaluation order" and "Compound assignment".
 */
import { builtinFunction, containsMemoryOperation, isMemoryOperation } from "../analysis/effects.ts";
import { isShared } from "../analysis/places.ts";
import type { Span } from "../diagnostics/diagnostic.ts";
import type {
  Assignment,
  BinaryOperator,
  Block,
  Expression,
  IfStatement,
  Increment,
  LoopStatement,
  Module,
  Statement,
  TypeExpression,
} from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { quote } from "../wgsl/quote.ts";
import { typeExpressionOf } from "../wgsl/typeNames.ts";
import { mapFunctions } from "./mapFunctions.ts";
import type { Names } from "./names.ts";

export function normalizeAccesses(program: Program, names: Names): Module {
  const normalizer = new Normalizer(program, names);
  return mapFunctions(program.module, (fn) => ({ ...fn, body: normalizer.block(fn.body) }));
}

/** In each method, `before` collects the statements that must run before the one that uses the result. */
class Normalizer {
  readonly #program: Program;
  readonly #names: Names;

  constructor(program: Program, names: Names) {
    this.#program = program;
    this.#names = names;
  }

  block(block: Block): Block {
    const statements = block.statements.flatMap((statement) => {
      const before: Statement[] = [];
      const normal = this.#statement(statement, before);
      return [...before, normal];
    });
    return { ...block, statements };
  }

  #statement(statement: Statement, before: Statement[]): Statement {
    switch (statement.kind) {
      case "block":
        return this.block(statement);
      case "let":
        return { ...statement, initializer: this.#operation(statement.initializer, before) };
      case "var":
        return {
          ...statement,
          initializer: statement.initializer && this.#value(statement.initializer, before),
        };
      case "assign":
      case "increment":
        return this.#assignment(statement, before);
      case "callStatement": {
        const call = this.#operation(statement.call, before);
        return call.kind === "call" ? { ...statement, call } : statement;
      }
      case "if":
        return this.#if(statement, before);
      case "switch": {
        const selector = this.#value(statement.selector, before);
        const clauses = statement.clauses.map((clause) => ({ ...clause, body: this.block(clause.body) }));
        return { ...statement, selector, clauses };
      }
      case "loop":
        return this.#loop(statement);
      case "for":
      case "while":
        return { ...statement, body: this.block(statement.body) };
      case "return":
        return { ...statement, value: statement.value && this.#value(statement.value, before) };
      default:
        return statement;
    }
  }

  #if(statement: IfStatement, before: Statement[]): IfStatement {
    const condition = this.#value(statement.condition, before);
    let otherwise = statement.otherwise;
    if (otherwise?.kind === "block") otherwise = this.block(otherwise);
    else if (otherwise) {
      const inner: Statement[] = [];
      const nested = this.#if(otherwise, inner);
      otherwise = inner.length === 0 ? nested : blockOf([...inner, nested], nested);
    }
    return { ...statement, condition, then: this.block(statement.then), otherwise };
  }

  #loop(statement: LoopStatement): LoopStatement {
    const continuing = statement.continuing && this.block(statement.continuing);
    const before: Statement[] = [];
    const breakIf = statement.breakIf && this.#value(statement.breakIf, before);
    return {
      ...statement,
      body: this.block(statement.body),
      continuing:
        before.length === 0 ? continuing : blockOf([...(continuing?.statements ?? []), ...before], statement),
      breakIf,
    };
  }

  #assignment(statement: Assignment | Increment, before: Statement[]): Statement {
    const { target } = statement;
    if (statement.kind === "assign" && !target)
      return { ...statement, value: this.#value(statement.value, before) };
    if (!target) return statement;
    const type = this.#program.typeOf(target);
    const shared = type.kind === "reference" && isShared(type.space);
    const operands = statement.kind === "assign" ? [target, statement.value] : [target];
    if (!shared && !operands.some((operand) => containsMemoryOperation(this.#program, operand)))
      return statement;
    const place = this.#place(target, before);
    if (!shared && statement.kind === "increment") return { ...statement, target: place };
    let value = this.#assigned(statement, target, place, before);
    if (shared && type.kind === "reference" && !this.#isTypedName(value)) {
      value = this.#save(value, before, typeExpressionOf(type.store));
    }
    return { kind: "assign", span: statement.span, operator: "=", target: place, value };
  }

  /** The value that an assignment stores; a compound assignment loads its place first, then its operand. */
  #assigned(
    statement: Assignment | Increment,
    target: Expression,
    place: Expression,
    before: Statement[],
  ): Expression {
    const { span } = statement;
    if (statement.kind === "increment") {
      return {
        kind: "binary",
        span,
        operator: statement.operator === "++" ? "+" : "-",
        left: place,
        right: one(span),
      };
    }
    if (statement.operator === "=") return this.#value(statement.value, before);
    const operator = statement.operator.slice(0, -1) as BinaryOperator;
    const loaded = containsMemoryOperation(this.#program, statement.value)
      ? this.#save(place, before)
      : place;
    return {
      kind: "binary",
      span: target.span,
      operator,
      left: loaded,
      right: this.#value(statement.value, before),
    };
  }

  /** A memory operation with stable operands, or any other expression without a memory operation inside. */
  #operation(expression: Expression, before: Statement[]): Expression {
    if (
      expression.kind !== "call" ||
      !(isMemoryOperation(this.#program, expression) || this.#isTextureStore(expression))
    ) {
      return this.#value(expression, before);
    }
    return { ...expression, args: expression.args.map((argument) => this.#stable(argument, before)) };
  }

  #isTextureStore(expression: Expression): boolean {
    return expression.kind === "call" && builtinFunction(this.#program, expression) === "textureStore";
  }

  /** The same value, without a memory operation inside. */
  #value(expression: Expression, before: Statement[]): Expression {
    if (!containsMemoryOperation(this.#program, expression)) return expression;
    switch (expression.kind) {
      case "unary":
        return { ...expression, operand: this.#part(expression.operand, before) };
      case "memberAccess":
        return { ...expression, base: this.#part(expression.base, before) };
      case "index": {
        const [base, index] = this.#operands([expression.base, expression.index], before);
        return { ...expression, base: base!, index: index! };
      }
      case "call":
        if (isMemoryOperation(this.#program, expression))
          return this.#save(this.#operation(expression, before), before);
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

  /** Operands in order: those before the last memory operation are saved, so that it can't overtake them. */
  #operands(operands: readonly Expression[], before: Statement[]): Expression[] {
    const last = operands.findLastIndex((operand) => containsMemoryOperation(this.#program, operand));
    return operands.map((operand, i) => {
      if (i < last) return this.#stable(operand, before);
      return i === last ? this.#part(operand, before) : operand;
    });
  }

  /** An operand that may denote memory without loading it (the base of an index, the operand of `&`). */
  #part(expression: Expression, before: Statement[]): Expression {
    return this.#program.typeOf(expression).kind === "reference"
      ? this.#place(expression, before)
      : this.#value(expression, before);
  }

  #shortCircuit(operator: "&&" | "||", left: Expression, right: Expression, before: Statement[]): Expression {
    const { statements, expression } = quote(left.span);
    const result = this.#names.fresh("condition");
    const inner: Statement[] = [];
    const first = this.#value(left, before);
    const second = this.#value(right, inner);
    const needed = operator === "&&" ? expression`${result}` : expression`!${result}`;
    before.push(...statements`var ${result} = ${first}; if (${needed}) { ${inner} ${result} = ${second}; }`);
    return expression`${result}`;
  }

  /** A place whose indices are stable. */
  #place(expression: Expression, before: Statement[]): Expression {
    switch (expression.kind) {
      case "memberAccess":
        return { ...expression, base: this.#place(expression.base, before) };
      case "index": {
        const base = this.#place(expression.base, before);
        return { ...expression, base, index: this.#stable(expression.index, before) };
      }
      case "unary":
        return { ...expression, operand: this.#place(expression.operand, before) };
      default:
        return expression;
    }
  }

  /** The same value, as an expression that may be evaluated again, anywhere later in the block. */
  #stable(expression: Expression, before: Statement[]): Expression {
    if (this.#isStable(expression)) return expression;
    if (expression.kind === "unary" && expression.operator === "&") return this.#place(expression, before);
    const value = this.#value(expression, before);
    return this.#isTypedName(value) ? value : this.#save(value, before);
  }

  #isStable(expression: Expression): boolean {
    return (
      this.#isTypedName(expression) ||
      this.#program.stageOf(expression) !== "runtime" ||
      this.#isHandle(expression)
    );
  }

  /** True for the name of a `let` or a parameter: typed and never changing. */
  #isTypedName(expression: Expression): boolean {
    if (expression.kind !== "identifier") return false;
    if (this.#names.isGenerated(expression.name)) return true;
    const target = this.#program.targetOf(expression);
    return target?.kind === "let" || target?.kind === "parameter";
  }

  /** Textures and samplers can't be saved, and never change. */
  #isHandle(expression: Expression): boolean {
    const type = this.#program.valueTypeOf(expression);
    return type.kind === "texture" || type.kind === "sampler";
  }

  #save(value: Expression, before: Statement[], type?: TypeExpression): Expression {
    const { statements, expression } = quote(value.span);
    const name = this.#names.fresh("value");
    before.push(
      ...(type ? statements`let ${name}: ${type} = ${value};` : statements`let ${name} = ${value};`),
    );
    return expression`${name}`;
  }
}

const one = (span: Span): Expression => ({ kind: "literal", span, text: "1" });

const blockOf = (statements: readonly Statement[], { span }: { readonly span: Span }): Block => ({
  kind: "block",
  span,
  attributes: [],
  statements,
});
