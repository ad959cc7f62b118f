/**
 * A loop as JavaScript whose accesses to what it writes are tracked, so that threads can execute blocks of its iterations
 * before it is known whether they may.
 */
import type { Expression, Loop, NumberType, Reduction, Statement, ValueType } from "../../loops/ir.ts";

/** Everything that one thread's block of iterations has accessed, and a copy of what it wrote; keys count all tracked elements. */
export interface Track {
  /** Stamps the elements that the block has written with the round. */
  readonly written: Int32Array;
  readonly round: number;
  readonly reads: Int32Array;
  readCount: number;
  readonly writes: Int32Array;
  writeCount: number;
  /** The written values, by array: typed as the array, as long as it is. */
  readonly values: Readonly<Record<string, Int32Array>>;
  /** Turns of loops left; below zero the block is given up. */
  fuel: number;
}

/** Of a tracked array: the key of its first element. Carried variables are arrays of one. */
export type FirstKeys = Readonly<Record<string, number>>;

/**
 * The body of `new Function("arrays", "inputs", "keys", "track", "reduced", "from", "to", …)`. It executes iterations `from` to
 * `to - 1`, adds to `reduced`, and returns whether the loop ended itself; it throws `track` when it runs out of fuel.
 */
export function emitTrackedLoop(loop: Loop): string {
  const emitter = new Emitter(loop);
  const carried = loop.carried.map(({ name }) => name);
  const tracked = [...loop.arrays.filter(({ role }) => role !== "read").map(({ name }) => name), ...carried];
  const lines = [
    '"use strict";',
    ...loop.arrays.map(({ name }) => `const a_${word(name)} = arrays[${JSON.stringify(name)}];`),
    ...carried.map((name) => `const a_${word(name)} = arrays[${JSON.stringify(name)}];`),
    ...loop.inputs.map(({ name }) => `const n_${word(name)} = inputs[${JSON.stringify(name)}];`),
    ...tracked.flatMap((name) => accessors(word(name), name)),
    ...loop.reductions.map(({ name }) => `let r_${word(name)} = reduced[${JSON.stringify(name)}];`),
    "let ended = false;",
    "for (let k = from; k < to && !ended; k++) {",
    `const index = ${rounded(loop.index.type, "inputs.$first + k * inputs.$step")};`,
    "iteration: {",
    ...emitter.block(loop.body),
    "}",
    "}",
    ...loop.reductions.map(({ name }) => `reduced[${JSON.stringify(name)}] = r_${word(name)};`),
    "return ended;",
  ];
  return lines.join("\n");
}

function accessors(id: string, name: string): string[] {
  return [
    `const k_${id} = keys[${JSON.stringify(name)}], v_${id} = track.values[${JSON.stringify(name)}];`,
    `const load_${id} = (i) => {
  if (!(i >>> 0 === i && i < a_${id}.length)) return a_${id}[i];
  const key = k_${id} + i;
  if (track.written[key] === track.round) return v_${id}[i];
  track.reads[track.readCount++] = key;
  return a_${id}[i];
};`,
    `const store_${id} = (i, value) => {
  if (!(i >>> 0 === i && i < a_${id}.length)) return;
  const key = k_${id} + i;
  if (track.written[key] !== track.round) {
    track.written[key] = track.round;
    track.writes[track.writeCount++] = key;
  }
  v_${id}[i] = value;
};`,
  ];
}

const word = (name: string) => name.replace(/[^A-Za-z0-9_]/gu, (letter) => `$${letter.codePointAt(0)}$`);

/** The text of a number as JavaScript rounds it to the type. */
function rounded(type: ValueType, text: string): string {
  return { i32: `(${text} | 0)`, u32: `(${text} >>> 0)`, f32: `Math.fround(${text})`, bool: `!!(${text})` }[
    type
  ];
}

/** Two values of a reduction as one, as text. */
export function combined({ type, operator }: Reduction, a: string, b: string): string {
  const text =
    operator === "min" || operator === "max" ? `Math.${operator}(${a}, ${b})` : `${a} ${operator} ${b}`;
  return rounded(type, text);
}

class Emitter {
  readonly #types = new Map<string, NumberType>();
  readonly #writable: ReadonlySet<string>;
  readonly #reductions: ReadonlyMap<string, Reduction>;

  constructor(loop: Loop) {
    for (const { name, type } of loop.carried) this.#types.set(name, type);
    this.#writable = new Set(loop.arrays.filter(({ role }) => role !== "read").map(({ name }) => name));
    this.#reductions = new Map(loop.reductions.map((reduction) => [reduction.name, reduction]));
  }

  block(statements: readonly Statement[]): string[] {
    return statements.flatMap((statement) => this.#statement(statement));
  }

  #statement(statement: Statement): string[] {
    switch (statement.kind) {
      case "declare":
        return [`let l_${word(statement.name)} = ${rounded(statement.type, this.#value(statement.value))};`];
      case "assign":
        return [`l_${word(statement.name)} = ${this.#value(statement.value)};`];
      case "assignCarried": {
        const value = rounded(this.#types.get(statement.name)!, this.#value(statement.value));
        return [`store_${word(statement.name)}(0, ${value});`];
      }
      case "store":
        return [
          `store_${word(statement.array)}(${this.#value(statement.index)}, ${this.#value(statement.value)});`,
        ];
      case "reduce": {
        const id = `r_${word(statement.name)}`;
        return [
          `${id} = ${combined(this.#reductions.get(statement.name)!, id, this.#value(statement.value))};`,
        ];
      }
      case "if":
        return [
          `if (${this.#value(statement.test)}) {`,
          ...this.block(statement.yes),
          "} else {",
          ...this.block(statement.no),
          "}",
        ];
      case "loop": {
        const label = word(statement.label);
        return [
          `${label}_all: while (true) {`,
          "if (--track.fuel < 0) throw track;",
          `${label}_turn: {`,
          ...this.block(statement.body),
          "}",
          ...this.block(statement.update),
          "}",
        ];
      }
      case "break":
        return [`break ${word(statement.label)}_all;`];
      case "continue":
        return [`break ${word(statement.label)}_turn;`];
      case "endIteration":
        return ["break iteration;"];
      case "endLoop":
        return ["ended = true;", "break iteration;"];
      case "misspeculate":
        return []; // All accesses are tracked, so nothing needs to be told.
    }
  }

  #value(expression: Expression): string {
    const value = (operand: Expression) => this.#value(operand);
    switch (expression.kind) {
      case "literal":
        return expression.type === "bool" ? String(Boolean(expression.value)) : `(${expression.value})`;
      case "index":
        return "index";
      case "local":
        return `l_${word(expression.name)}`;
      case "input":
        return `n_${word(expression.name)}`;
      case "carried":
        return `load_${word(expression.name)}(0)`;
      case "length":
        return `a_${word(expression.array)}.length`;
      case "load": {
        const id = word(expression.array);
        const index = value(expression.index);
        return rounded(
          expression.type,
          this.#writable.has(expression.array) ? `load_${id}(${index})` : `a_${id}[${index}]`,
        );
      }
      case "unary":
        return rounded(expression.type, `${expression.operator}${value(expression.operand)}`);
      case "binary":
        return rounded(
          expression.type,
          `(${value(expression.left)} ${expression.operator} ${value(expression.right)})`,
        );
      case "conditional":
        return `(${value(expression.test)} ? ${value(expression.yes)} : ${value(expression.no)})`;
      case "call":
        return rounded(
          expression.type,
          `Math.${functionName(expression.callee)}(${expression.args.map(value).join(", ")})`,
        );
      case "convert":
        return rounded(expression.type, value(expression.operand));
    }
  }
}

/** `exp2` is the one function of the language that JavaScript lacks. */
const functionName = (callee: string) => (callee === "exp2" ? "pow.bind(null, 2)" : callee);
