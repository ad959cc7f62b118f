import type { Expression } from "./ir.ts";

/** How a version of a loop loads what iterations share, as JavaScript expressions. */
export interface Loads {
  load(array: string, index: string): string;
  loadCarried(name: string): string;
}

/** Writes expressions of a loop: the index is `index`, variables, inputs and arrays have the prefixes `v_`, `i_` and `a_`. */
export class JavaScriptExpressions {
  readonly #loads: Loads;

  constructor(loads: Loads) {
    this.#loads = loads;
  }

  /** An expression where none can follow, without parentheses around all of it. */
  whole(node: Expression): string {
    const text = this.operand(node);
    const isEnclosed =
      ["unary", "binary", "conditional", "convert"].includes(node.kind) && text.startsWith("(");
    return isEnclosed && text.endsWith(")") ? text.slice(1, -1) : text;
  }

  /** An expression as an operand, in parentheses where it needs them. */
  operand(node: Expression): string {
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
        // TypeScript takes `> (` for the end of type arguments where a `<` stands before.
        if (node.operator === ">") return `(${right} < ${left})`;
        const operator = operators[node.operator] ?? node.operator;
        const result = `(${left} ${operator} ${right})`;
        return node.type === "f32" ? `Math.fround${result}` : result;
      }
      case "conditional":
        return `(${this.operand(node.test)} ? ${this.operand(node.yes)} : ${this.operand(node.no)})`;
      case "call": {
        const result = call(
          node.callee,
          node.args.map((each) => this.operand(each)),
        );
        return node.type === "f32" && !exactFunctions.has(node.callee) ? `Math.fround(${result})` : result;
      }
      case "convert":
        return this.#converted(node);
    }
  }

  #converted({ type, operand, implicit }: Extract<Expression, { kind: "convert" }>): string {
    const value = this.operand(operand);
    switch (type) {
      case "bool":
        return `!!${value}`;
      case "f32":
        return `Math.fround(${value})`;
      default:
        return implicit ? value : `(${value} ${type === "i32" ? "|" : ">>>"} 0)`;
    }
  }
}

const operators: Readonly<Record<string, string>> = { "==": "===", "!=": "!==" };

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
