/** Writes what a kernel computes from a sum as a function of WGSL. */
import { isSymbol, type Loaded, type Precision, type Symbols, textOf } from "./symbols.ts";

/** A function of a sum and of loaded numbers. */
export interface FunctionOfSum {
  /** The statements of WGSL before the result, of the sum `x` and the loaded numbers `y0`, `y1`. */
  readonly statements: string;
  readonly result: string;
  /** The loaded numbers. */
  readonly loaded: readonly Loaded[];
  readonly usesSum: boolean;
}

/** The most functions and operations between a sum and a result. */
const mostOperations = 64;
/** The most loaded numbers beside a sum. */
export const mostLoaded = 4;

/**
 * Returns the function that computes a number of a format, or a condition without one, from one of
 * some sums, as the kernel does. Undefined if there is none.
 */
export function functionOfSum(
  symbols: Symbols,
  number: number,
  sums: ReadonlySet<number>,
  format: Precision | undefined,
): FunctionOfSum | undefined {
  const written = new Map<string, string>();
  // Two loads may have the same address in some results only.
  const loaded = new Map<number, Loaded>();
  const lines: string[] = [];
  let operations = 0;
  let usesSum = false;
  const inFormat = (name: string, is: Precision | undefined, asked: Precision | undefined) => {
    if (is === undefined || asked === undefined || is === asked) return name;
    return asked === "f32" ? `f32(${name})` : undefined;
  };
  /** Returns the name of a number in a format. Booleans and integers have none. */
  const write = (each: number, asked: Precision | undefined): string | undefined => {
    if (sums.has(each)) {
      usesSum = true;
      return inFormat("x", "f32", asked);
    }
    if (!isSymbol(each)) return Number.isFinite(each) ? textOf(each, asked) : undefined;
    const key = `${each} ${asked}`;
    const known = written.get(key);
    if (known !== undefined) return known;
    if (++operations > mostOperations) return undefined;
    const name = nameOf(each, asked);
    if (name !== undefined) written.set(key, name);
    return name;
  };
  const nameOf = (each: number, asked: Precision | undefined): string | undefined => {
    const load = symbols.loadedAt(each);
    if (load) {
      loaded.set(each, load);
      const number = [...loaded.keys()].indexOf(each);
      if (number >= mostLoaded) return undefined;
      // Only numbers of f16 are used as such.
      return asked === "f16" ? `f16(y${number})` : `y${number}`;
    }
    const application = symbols.applicationAt(each);
    if (!application) return undefined;
    const { template, from = asked, to } = application;
    const operands: string[] = [];
    for (const operand of application.operands) {
      const text = write(operand, from);
      if (text === undefined) return undefined;
      operands.push(text);
    }
    const name = `t${lines.length}`;
    lines.push(`let ${name} = ${template.replace(/\$(\d)/g, (_, i) => operands[i]!)};`);
    return inFormat(name, to, asked);
  };
  const result = write(number, format);
  if (result === undefined) return undefined;
  return { statements: lines.join(" "), result, loaded: [...loaded.values()], usesSum };
}
