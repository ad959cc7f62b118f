import type { BodyStatement, Loop, LoopExpression, Reduction } from "../tree/ir.ts";
import { everyStatement } from "../tree/walk.ts";
import type { Writer } from "../tree/writer.ts";

/** The accesses of one version of a loop to the state that iterations share, as JavaScript. */
export interface SharedAccesses extends SharedLoads {
  /** Returns an expression that stores. */
  store(array: string, index: string, value: string): string;
  storeCarried(name: string, value: string): string;
  /** A statement for each iteration of inner loops; empty for none. */
  readonly eachIteration: string;
}

/**
 * Writes the body of an iteration. It requires a loop around it that is labeled `iterations`, with
 * the index in `index` and a variable `ended`. Without `roundsFloats`, an f32 is the double that
 * the source computes, and stores and `Math.fround` round it.
 */
export function writeBody(writer: Writer, loop: Loop, accesses: SharedAccesses, roundsFloats = true): void {
  new BodyWriter(writer, loop, accesses, roundsFloats).list(loop.body);
}

class BodyWriter {
  readonly #writer: Writer;
  readonly #loop: Loop;
  readonly #accesses: SharedAccesses;
  readonly #expressions: JavaScriptExpressions;

  constructor(writer: Writer, loop: Loop, accesses: SharedAccesses, roundsFloats: boolean) {
    this.#writer = writer;
    this.#loop = loop;
    this.#accesses = accesses;
    this.#expressions = new JavaScriptExpressions(accesses, roundsFloats);
  }

  list(statements: readonly BodyStatement[]): void {
    for (const statement of statements) this.#statement(statement);
  }

  #statement(statement: BodyStatement): void {
    const writer = this.#writer;
    switch (statement.kind) {
      case "declare":
        writer.line(`let v_${statement.name} = ${this.#whole(statement.value)};`);
        break;
      case "assign":
        writer.line(`${this.#assignment(statement)};`);
        break;
      case "assignCarried":
        writer.line(`${this.#accesses.storeCarried(statement.name, this.#whole(statement.value))};`);
        break;
      case "store": {
        const { array, index, value } = statement;
        writer.line(`${this.#accesses.store(array, this.#whole(index), this.#whole(value))};`);
        break;
      }
      case "reduce": {
        this.#reduce(statement);
        break;
      }
      case "if":
        writer.open(`if (${this.#whole(statement.test)}) {`);
        this.list(statement.yes);
        if (statement.no.length > 0) {
          writer.reopen("} else {");
          this.list(statement.no);
        }
        writer.close("}");
        break;
      case "loop":
        this.#inner(statement);
        break;
      case "break":
        writer.line(`break ${statement.label};`);
        break;
      case "continue":
        writer.line(`continue ${statement.label};`);
        break;
      case "endIteration":
        writer.line("continue iterations;");
        break;
      case "endLoop":
        writer.line("ended = true;");
        writer.line("break iterations;");
        break;
      case "misspeculate":
        break; // In order, no iteration misspeculates.
    }
  }

  #reduce({ name, value, companions = [] }: Extract<BodyStatement, { kind: "reduce" }>): void {
    const writer = this.#writer;
    const reduction = this.#loop.reductions.find((one) => one.name === name)!;
    const { operator } = reduction;
    if (operator === ">" || operator === ">=" || operator === "<" || operator === "<=") {
      writer.open("{");
      writer.line(`const value = ${this.#whole(value)};`);
      writer.open(`if (r_${name} ${turned[operator]} value) {`);
      writer.line(`r_${name} = value;`);
      for (const [at, companion] of reduction.companions!.entries())
        writer.line(`r_${companion.name} = ${this.#whole(companions[at]!)};`);
      writer.close("}");
      writer.close("}");
    } else {
      const result = reduced(reduction, `r_${name}`, this.#expressions.operand(value));
      writer.line(`r_${name} = ${result};`);
    }
  }

  /**
   * Writes an inner loop as a `for`, which tests first. An update of other statements than
   * assignments follows the body. If the body has a `continue`, the update starts all iterations
   * but the first.
   */
  #inner({ label, body, update }: Extract<BodyStatement, { kind: "loop" }>): void {
    const writer = this.#writer;
    const [first, ...others] = body;
    const isTested = first?.kind === "if" && first.no.length === 0 && isBreak(first.yes, label);
    const test = isTested ? ` ${this.#whole(negated(first.test))}` : "";
    const rest = isTested ? others : body;
    const assignments = update.flatMap((one) => (one.kind === "assign" ? [` ${this.#assignment(one)}`] : []));
    const jumps = [...everyStatement(body)].some((one) => one.kind === "continue" && one.label === label);
    if (assignments.length === update.length) {
      this.#openLoop(`${label}: for (;${test};${assignments.join()}) {`);
      this.list(rest);
    } else if (!jumps) {
      this.#openLoop(`${label}: for (;${test};) {`);
      this.list(rest);
      this.list(update);
    } else {
      this.#openLoop(`${label}: for (let first = true; ; first = false) {`);
      writer.open("if (!first) {");
      this.list(update);
      writer.close("}");
      this.list(body);
    }
    writer.close("}");
  }

  #whole(node: LoopExpression): string {
    return this.#expressions.whole(node);
  }

  #openLoop(text: string): void {
    this.#writer.open(text);
    if (this.#accesses.eachIteration) this.#writer.line(this.#accesses.eachIteration);
  }

  #assignment({ name, value }: Extract<BodyStatement, { kind: "assign" }>): string {
    return `v_${name} = ${this.#whole(value)}`;
  }
}

const isBreak = (statements: readonly BodyStatement[], label: string) =>
  statements.length === 1 && statements[0]!.kind === "break" && statements[0]!.label === label;

const negated = (test: LoopExpression): LoopExpression =>
  test.kind === "unary" && test.operator === "!"
    ? test.operand
    : { kind: "unary", type: "bool", operator: "!", operand: test };

/** The comparisons with their sides exchanged. */
const turned = { ">": "<", ">=": "<=", "<": ">", "<=": ">=" } as const;

function reduced({ operator, type, wraps }: Reduction, before: string, value: string): string {
  switch (operator) {
    case "=":
      return value;
    case "min":
    case "max": {
      const chosen = `Math.${operator}(${before}, ${value})`;
      return wraps ? coerced(type, chosen) : chosen;
    }
    case "+":
      return type === "f32" || wraps ? coerced(type, `${before} + ${value}`) : `${before} + ${value}`;
    case "*":
      return type === "f32"
        ? `Math.fround(${before} * ${value})`
        : coerced(type, `Math.imul(${before}, ${value})`);
    default:
      return coerced(type, `${before} ${operator} ${value}`);
  }
}

function coerced(type: string, value: string): string {
  return { i32: `(${value}) | 0`, u32: `(${value}) >>> 0`, f32: `Math.fround(${value})` }[type]!;
}

/**
 * The loads of one version of a loop from the state that iterations share, as JavaScript
 * expressions.
 */
export interface SharedLoads {
  load(array: string, index: string): string;
  loadCarried(name: string): string;
}

/**
 * A writer of a loop's expressions. The index is `index`; variables, inputs and arrays have the
 * prefixes `v_`, `i_` and `a_`.
 */
class JavaScriptExpressions {
  readonly #loads: SharedLoads;
  readonly #roundsFloats: boolean;

  constructor(loads: SharedLoads, roundsFloats: boolean) {
    this.#loads = loads;
    this.#roundsFloats = roundsFloats;
  }

  /**
   * Returns an expression for a place where none can follow, without parentheses around all of it.
   */
  whole(node: LoopExpression): string {
    const text = this.operand(node);
    const isEnclosed =
      ["unary", "binary", "conditional", "convert"].includes(node.kind) && text.startsWith("(");
    return isEnclosed && text.endsWith(")") ? text.slice(1, -1) : text;
  }

  /** Returns an expression as an operand, in parentheses where it needs them. */
  operand(node: LoopExpression): string {
    switch (node.kind) {
      case "literal":
        return literal(node);
      case "index":
        return "index";
      case "local":
        return `v_${node.name}`;
      case "input":
        return `i_${node.name}`;
      case "carried":
        return this.#loads.loadCarried(node.name);
      case "length":
        return `a_${node.array}.length`;
      case "load":
        return this.#loads.load(node.array, this.whole(node.index));
      case "unary":
        return `(${node.operator}${this.operand(node.operand)})`;
      case "binary": {
        const [left, right] = [this.operand(node.left), this.operand(node.right)];
        // TypeScript takes `> (` for the end of type arguments if a `<` stands before.
        if (node.operator === ">") return `(${right} < ${left})`;
        const operator = operators[node.operator] ?? node.operator;
        const result = `(${left} ${operator} ${right})`;
        return node.type === "f32" ? this.#rounded(result) : result;
      }
      case "conditional":
        return `(${this.operand(node.test)} ? ${this.operand(node.yes)} : ${this.operand(node.no)})`;
      case "call": {
        const result = call(
          node.callee,
          node.args.map((each) => this.operand(each)),
        );
        return node.type === "f32" && !exactFunctions.has(node.callee) ? this.#rounded(result) : result;
      }
      case "convert":
        return this.#converted(node);
    }
  }

  /** Returns the result of an operation of f32, rounded if this version rounds. */
  #rounded(result: string): string {
    if (!this.#roundsFloats) return result;
    return result.startsWith("(") ? `Math.fround${result}` : `Math.fround(${result})`;
  }

  #converted({ type, operand, implicit }: Extract<LoopExpression, { kind: "convert" }>): string {
    const value = this.operand(operand);
    switch (type) {
      case "bool":
        return `!!${value}`;
      case "f32":
        return implicit ? this.#rounded(value) : `Math.fround(${value})`;
      case "f64":
        return value;
      default:
        return implicit ? value : `(${value} ${type === "i32" ? "|" : ">>>"} 0)`;
    }
  }
}

const operators: Readonly<Record<string, string>> = { "==": "===", "!=": "!==" };

/** The functions that give an f32 for every f32. */
const exactFunctions = new Set(["abs", "ceil", "floor", "round", "trunc", "sign", "min", "max"]);

function call(callee: string, args: readonly string[]): string {
  return callee === "exp2" ? `(2 ** ${args[0]})` : `Math.${callee}(${args.join(", ")})`;
}

function literal({ type, value, written }: Extract<LoopExpression, { kind: "literal" }>): string {
  if (type === "bool") return value === 0 ? "false" : "true";
  const text = written ?? String(value);
  return text.startsWith("-") ? `(${text})` : text;
}
