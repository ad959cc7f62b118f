/**
 * The loop on the CPU: what a speculated loop falls back to, recovers with, and is compared with.
 *
 * A `SequentialLoop` executes the iterations `from` to `to - 1` in order and exactly as JavaScript does, with f32
 * arithmetic rounded after each operation. Iterations count from 0: iteration `k` sees the index `$first + k * $step`, which the
 * caller gives among the inputs. Arrays are changed in place; `carried` and `reductions` hold the values of these
 * variables before, and are updated. It returns the first iteration that it did not execute, and whether the loop ended
 * itself with a `break`, in which case no further iteration may be executed.
 *
 * The tree of a loop has the shape of its source, so each operator becomes the operator of JavaScript, applied to whatever
 * JavaScript finds: elements that do not exist are `undefined` here as there. Only f32 arithmetic is rounded, and what the source
 * coerces is coerced.
 */
import type { Expression, Loop, Reduction, Statement } from "./ir.ts";
import { everyStatement } from "./kernels/walk.ts";

/** Any array that a loop may access. */
export type LoopData =
  | Int8Array
  | Uint8Array
  | Uint8ClampedArray
  | Int16Array
  | Uint16Array
  | Int32Array
  | Uint32Array
  | Float32Array;

export type SequentialLoop = (
  arrays: Readonly<Record<string, LoopData>>,
  /** The loop's inputs, and `$first` and `$step`. */
  inputs: Readonly<Record<string, number>>,
  carried: Record<string, number>,
  reductions: Record<string, number>,
  from: number,
  to: number,
) => { readonly next: number; readonly ended: boolean };

/** The CPU version of a loop, compiled. */
export function sequentialLoop(loop: Loop): SequentialLoop {
  return new Function(`return ${sequentialSource(loop)};`)() as SequentialLoop;
}

/** The CPU version of a loop as JavaScript: an expression that is a {@link SequentialLoop}. */
export function sequentialSource(loop: Loop): string {
  const writer = new Writer();
  const unpack = (
    kind: string,
    object: string,
    prefix: string,
    names: readonly { readonly name: string }[],
  ) => {
    if (names.length === 0) return;
    const pairs = names.map(({ name }) => `${name}: ${prefix}${name}`);
    writer.line(`${kind} { ${pairs.join(", ")} } = ${object};`);
  };
  writer.open("(arrays, inputs, carried, reductions, from, to) => {");
  unpack("const", "arrays", "a_", loop.arrays);
  unpack("const", "inputs", "i_", loop.inputs);
  unpack("let", "carried", "c_", loop.carried);
  unpack("let", "reductions", "r_", loop.reductions);
  writer.line("const { $first, $step } = inputs;");
  writer.line("let ended = false;");
  writer.line("let k = from;");
  writer.open("iterations: for (; k < to; k++) {");
  writer.line("const index = $first + k * $step;");
  for (const statement of loop.body) writeStatement(writer, statement, loop);
  writer.close("}");
  for (const { name } of loop.carried) writer.line(`carried.${name} = c_${name};`);
  for (const { name } of loop.reductions) writer.line(`reductions.${name} = r_${name};`);
  writer.line("return { next: ended ? k + 1 : k, ended };");
  writer.close("}");
  return writer.text;
}

class Writer {
  text = "";
  #depth = 0;

  line(text: string): void {
    this.text += `${"  ".repeat(this.#depth)}${text}\n`;
  }

  open(text: string): void {
    this.line(text);
    this.#depth++;
  }

  close(text: string): void {
    this.#depth--;
    this.line(text);
  }

  reopen(text: string): void {
    this.close(text);
    this.#depth++;
  }
}

function writeStatement(writer: Writer, statement: Statement, loop: Loop): void {
  const list = (statements: readonly Statement[]) => {
    for (const one of statements) writeStatement(writer, one, loop);
  };
  switch (statement.kind) {
    case "declare":
      writer.line(`let v_${statement.name} = ${whole(statement.value)};`);
      break;
    case "assign":
      writer.line(`${assignment(statement)};`);
      break;
    case "assignCarried":
      writer.line(`c_${statement.name} = ${whole(statement.value)};`);
      break;
    case "store":
      writer.line(`a_${statement.array}[${whole(statement.index)}] = ${whole(statement.value)};`);
      break;
    case "reduce": {
      const reduction = loop.reductions.find(({ name }) => name === statement.name)!;
      const result = reduced(reduction, `r_${statement.name}`, expression(statement.value));
      writer.line(`r_${statement.name} = ${result};`);
      break;
    }
    case "if":
      writer.open(`if (${whole(statement.test)}) {`);
      list(statement.yes);
      if (statement.no.length > 0) {
        writer.reopen("} else {");
        list(statement.no);
      }
      writer.close("}");
      break;
    case "loop":
      writeLoop(writer, statement, list);
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
function writeLoop(
  writer: Writer,
  { label, body, update }: Extract<Statement, { kind: "loop" }>,
  list: (statements: readonly Statement[]) => void,
): void {
  const [first, ...others] = body;
  const isTested = first?.kind === "if" && first.no.length === 0 && isBreak(first.yes, label);
  const test = isTested ? ` ${whole(negated(first.test))}` : "";
  const rest = isTested ? others : body;
  const assignments = update.flatMap((one) => (one.kind === "assign" ? [` ${assignment(one)}`] : []));
  const jumps = [...everyStatement(body)].some((one) => one.kind === "continue" && one.label === label);
  if (assignments.length === update.length) {
    writer.open(`${label}: for (;${test};${assignments.join()}) {`);
    list(rest);
  } else if (!jumps) {
    writer.open(`${label}: for (;${test};) {`);
    list(rest);
    list(update);
  } else {
    writer.open(`${label}: for (let first = true; ; first = false) {`);
    writer.open("if (!first) {");
    list(update);
    writer.close("}");
    list(body);
  }
  writer.close("}");
}

const isBreak = (statements: readonly Statement[], label: string) =>
  statements.length === 1 && statements[0]!.kind === "break" && statements[0]!.label === label;

const negated = (test: Expression): Expression =>
  test.kind === "unary" && test.operator === "!"
    ? test.operand
    : { kind: "unary", type: "bool", operator: "!", operand: test };

const assignment = ({ name, value }: Extract<Statement, { kind: "assign" }>) => `v_${name} = ${whole(value)}`;

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

const operators: Readonly<Record<string, string>> = { "==": "===", "!=": "!==" };

/** An expression where none can follow, without parentheses around all of it. */
function whole(node: Expression): string {
  const text = expression(node);
  const isEnclosed =
    ["unary", "binary", "conditional", "convert"].includes(node.kind) && text.startsWith("(");
  return isEnclosed && text.endsWith(")") ? text.slice(1, -1) : text;
}

/** An expression as an operand, in parentheses where it needs them. */
function expression(node: Expression): string {
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
      return `c_${node.name}`;
    case "length":
      return `a_${node.array}.length`;
    case "load":
      return `a_${node.array}[${whole(node.index)}]`;
    case "unary":
      return `(${node.operator}${expression(node.operand)})`;
    case "binary": {
      const operator = operators[node.operator] ?? node.operator;
      const result = `(${expression(node.left)} ${operator} ${expression(node.right)})`;
      return node.type === "f32" ? `Math.fround${result}` : result;
    }
    case "conditional":
      return `(${expression(node.test)} ? ${expression(node.yes)} : ${expression(node.no)})`;
    case "call": {
      const result = call(node.callee, node.args.map(expression));
      return node.type === "f32" && !exactFunctions.has(node.callee) ? `Math.fround(${result})` : result;
    }
    case "convert":
      return converted(node);
  }
}

/** Functions that give an f32 for every f32. */
const exactFunctions = new Set(["abs", "ceil", "floor", "round", "trunc", "sign", "min", "max"]);

function call(callee: string, args: readonly string[]): string {
  return callee === "exp2" ? `(2 ** ${args[0]})` : `Math.${callee}(${args.join(", ")})`;
}

function literal({ type, value }: Extract<Expression, { kind: "literal" }>): string {
  if (type === "bool") return value === 0 ? "false" : "true";
  const text = String(value);
  return text.startsWith("-") ? `(${text})` : text;
}

function converted({ type, operand, implicit }: Extract<Expression, { kind: "convert" }>): string {
  const value = expression(operand);
  switch (type) {
    case "bool":
      return `!!${value}`;
    case "f32":
      return `Math.fround(${value})`;
    default:
      return implicit ? value : `(${value} ${type === "i32" ? "|" : ">>>"} 0)`;
  }
}
