/**
 * Rewrites every store, atomic operation and `workgroupUniformLoad` as a statement of its own. Its
 * operands may be evaluated again without a side effect.
 *
 * Before:   out[next()] += atomicAdd(&n, 1) + x;
 * After:    let i = next();
 *           let a = out[i];
 *           let n1 = atomicAdd(&n, 1);
 *           let v: u32 = a + (n1 + x);
 *           out[i] = v;
 *
 * A store to shared memory (storage or workgroup) becomes `place = value`. A memory operation
 * becomes a `let` or a call statement. Their indices and values are then *stable*: constants,
 * overrides, `let`s or parameters. The order of evaluation stays. An expression that is evaluated
 * before a hoisted operation is saved before the operation. The right operands of `&&` and `||`
 * stay conditional.
 *
 * Requires: unique names, resolved pointers, loops without memory operations in their headers
 *           (desugarLoops).
 * Ensures:  a valid module in access normal form.
 * Order:    before every transform that rewrites accesses.
 * Source:   WGSL specification, "Evaluation order" and "Compound assignment".
 */
import { containsMemoryOperation } from "../../analysis/effects.ts";
import { isShared, spaceOf } from "../../analysis/places.ts";
import type { Span } from "../../diagnostics/diagnostic.ts";
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
} from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import { typeExpressionOf } from "../../wgsl/typeNames.ts";
import { Hoister } from "../shared/hoister.ts";
import { mapBodies } from "../shared/mapFunctions.ts";
import type { Names } from "../shared/names.ts";

export function normalizeAccesses(program: Program, names: Names): Module {
  const normalizer = new Normalizer(program, names);
  return mapBodies(program.module, (body) => normalizer.block(body));
}

/**
 * The rewrite of one module. Each method adds to `before` the statements that must run before the
 * statement that uses the result.
 */
class Normalizer {
  readonly #program: Program;
  readonly #hoist: Hoister;

  constructor(program: Program, names: Names) {
    this.#program = program;
    this.#hoist = new Hoister(program, names);
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
        return { ...statement, initializer: this.#hoist.operation(statement.initializer, before) };
      case "var":
        return {
          ...statement,
          initializer: statement.initializer && this.#hoist.value(statement.initializer, before),
        };
      case "assign":
      case "increment":
        return this.#assignment(statement, before);
      case "callStatement": {
        const call = this.#hoist.operation(statement.call, before);
        return call.kind === "call" ? { ...statement, call } : statement;
      }
      case "if":
        return this.#if(statement, before);
      case "switch": {
        const selector = this.#hoist.value(statement.selector, before);
        const clauses = statement.clauses.map((clause) => ({ ...clause, body: this.block(clause.body) }));
        return { ...statement, selector, clauses };
      }
      case "loop":
        return this.#loop(statement);
      case "for":
      case "while":
        return { ...statement, body: this.block(statement.body) };
      case "return":
        return { ...statement, value: statement.value && this.#hoist.value(statement.value, before) };
      default:
        return statement;
    }
  }

  #if(statement: IfStatement, before: Statement[]): IfStatement {
    const condition = this.#hoist.value(statement.condition, before);
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
    const breakIf = statement.breakIf && this.#hoist.value(statement.breakIf, before);
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
      return { ...statement, value: this.#hoist.value(statement.value, before) };
    if (!target) return statement;
    const shared = isShared(spaceOf(this.#program, target));
    const operands = statement.kind === "assign" ? [target, statement.value] : [target];
    if (!shared && !operands.some((operand) => containsMemoryOperation(this.#program, operand)))
      return statement;
    const place = this.#hoist.place(target, before);
    if (!shared && statement.kind === "increment") return { ...statement, target: place };
    let value = this.#assigned(statement, target, place, before);
    if (shared && !this.#hoist.isTypedName(value)) {
      value = this.#hoist.save(value, before, typeExpressionOf(this.#program.valueTypeOf(target)));
    }
    return { kind: "assign", span: statement.span, operator: "=", target: place, value };
  }

  /**
   * Returns the value that an assignment stores. A compound assignment loads its place before it
   * evaluates its operand.
   */
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
    if (statement.operator === "=") return this.#hoist.value(statement.value, before);
    const operator = statement.operator.slice(0, -1) as BinaryOperator;
    const loaded = containsMemoryOperation(this.#program, statement.value)
      ? this.#hoist.save(place, before)
      : place;
    return {
      kind: "binary",
      span: target.span,
      operator,
      left: loaded,
      right: this.#hoist.value(statement.value, before),
    };
  }
}

const one = (span: Span): Expression => ({ kind: "literal", span, text: "1" });

const blockOf = (statements: readonly Statement[], { span }: { readonly span: Span }): Block => ({
  kind: "block",
  span,
  attributes: [],
  statements,
});
