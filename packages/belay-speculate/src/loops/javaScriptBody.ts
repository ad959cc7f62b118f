import type { Expression, Loop, Reduction, Statement } from "./ir.ts";
import { JavaScriptExpressions, type Loads } from "./javaScriptExpressions.ts";
import { everyStatement } from "./kernels/walk.ts";
import type { Writer } from "./writer.ts";

/** How a version of a loop accesses what iterations share, as JavaScript. */
export interface Accesses extends Loads {
  /** An expression that stores. */
  store(array: string, index: string, value: string): string;
  storeCarried(name: string, value: string): string;
  /** A statement for each turn of the loops of an iteration; empty for none. */
  readonly turn: string;
}

/** Writes what an iteration does: inside a loop that is labelled `iterations`, where `index` is the loop's and `ended` may be set. */
export function writeBody(writer: Writer, loop: Loop, accesses: Accesses): void {
  new BodyWriter(writer, loop, accesses).list(loop.body);
}

class BodyWriter {
  readonly #writer: Writer;
  readonly #loop: Loop;
  readonly #accesses: Accesses;
  readonly #expressions: JavaScriptExpressions;

  constructor(writer: Writer, loop: Loop, accesses: Accesses) {
    this.#writer = writer;
    this.#loop = loop;
    this.#accesses = accesses;
    this.#expressions = new JavaScriptExpressions(accesses);
  }

  list(statements: readonly Statement[]): void {
    for (const statement of statements) this.#statement(statement);
  }

  #statement(statement: Statement): void {
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
        const reduction = this.#loop.reductions.find(({ name }) => name === statement.name)!;
        const result = reduced(reduction, `r_${statement.name}`, this.#expressions.operand(statement.value));
        writer.line(`r_${statement.name} = ${result};`);
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
        break; // In order, nothing is ever wrong.
    }
  }

  /** As a `for`, which tests first. An update that is more than assignments follows the body, or starts all turns but the first. */
  #inner({ label, body, update }: Extract<Statement, { kind: "loop" }>): void {
    const writer = this.#writer;
    const [first, ...others] = body;
    const isTested = first?.kind === "if" && first.no.length === 0 && isBreak(first.yes, label);
    const test = isTested ? ` ${this.#whole(negated(first.test))}` : "";
    const rest = isTested ? others : body;
    const assignments = update.flatMap((one) => (one.kind === "assign" ? [` ${this.#assignment(one)}`] : []));
    const jumps = [...everyStatement(body)].some((one) => one.kind === "continue" && one.label === label);
    if (assignments.length === update.length) {
      this.#openTurns(`${label}: for (;${test};${assignments.join()}) {`);
      this.list(rest);
    } else if (!jumps) {
      this.#openTurns(`${label}: for (;${test};) {`);
      this.list(rest);
      this.list(update);
    } else {
      this.#openTurns(`${label}: for (let first = true; ; first = false) {`);
      writer.open("if (!first) {");
      this.list(update);
      writer.close("}");
      this.list(body);
    }
    writer.close("}");
  }

  #whole(node: Expression): string {
    return this.#expressions.whole(node);
  }

  #openTurns(text: string): void {
    this.#writer.open(text);
    if (this.#accesses.turn) this.#writer.line(this.#accesses.turn);
  }

  #assignment({ name, value }: Extract<Statement, { kind: "assign" }>): string {
    return `v_${name} = ${this.#whole(value)}`;
  }
}

const isBreak = (statements: readonly Statement[], label: string) =>
  statements.length === 1 && statements[0]!.kind === "break" && statements[0]!.label === label;

const negated = (test: Expression): Expression =>
  test.kind === "unary" && test.operator === "!"
    ? test.operand
    : { kind: "unary", type: "bool", operator: "!", operand: test };

function reduced({ operator, type }: Reduction, before: string, value: string): string {
  switch (operator) {
    case "min":
    case "max":
      return `Math.${operator}(${before}, ${value})`;
    case "+":
      return coerced(type, `${before} + ${value}`);
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
