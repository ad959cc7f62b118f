/**
 * Finds the values of which a kernel's results are functions, such as the sums before an
 * activation. Candidates are values of the source that an operation uses. The kernel with all of
 * them kept then shows, in an execution with symbols, which of them are sums.
 */
import type { BindingAccess, BindingPoint } from "../analysis/bindings.ts";
import { reachableFrom } from "../analysis/callGraph.ts";
import type { Span } from "../diagnostics/diagnostic.ts";
import type { ResolvedKernel } from "../reference/referenceKernel.ts";
import {
  isKeepable,
  type KeptValues,
  keepSums,
  resultStores,
  variableAt,
} from "../transforms/redundancy/keepSums.ts";
import { Names } from "../transforms/shared/names.ts";
import type { Expression } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { versionsOf } from "../wgsl/resolve/index.ts";
import { type AnyNode, forEachChild } from "../wgsl/traverse.ts";
import { f16Type, f32Type, type Type } from "../wgsl/types.ts";
import { type DecisionOnPath, DecisionTree } from "./decisionTree.ts";
import { type DigitMap, fitDigits } from "./digits.ts";
import { functionOfSum } from "./functionOfSum.ts";
import { NoFit } from "./noFit.ts";
import { type Operand, operandOf } from "./operand.ts";
import type { Answers, Decision, Loaded, Precision, Symbols } from "./symbols.ts";

/** A function of the sums that a dispatch computes. Its results are stored in place of the sums. */
export interface Activation {
  /** The places of the sums in the source. The last one before the store of a result is its sum. */
  readonly values: readonly Span[];
  /**
   * The statements of a function of WGSL that computes a result from its sum, `x`, and from other
   * numbers, `y0` and so on.
   */
  readonly text: string;
  /** The format of the results. */
  readonly format: Precision;
  /** The buffers of the other numbers. */
  readonly others: readonly Operand[];
  /** The addresses of the other numbers, by the number of the result. */
  readonly addresses: DigitMap;
}

/** The most values of the source that one execution keeps. */
const mostCandidates = 48;

/** An operand of a function or of an operator. */
interface Value {
  readonly operand: Expression;
  /** True for an argument of a call that adds up no terms. */
  readonly isArgument: boolean;
}

/** A value of the source that may be a sum. */
export interface Candidate {
  readonly span: Span;
  readonly type: Type;
}

/**
 * Returns the values of the source that may be sums of which the results are functions. Arguments
 * of calls come first, as most activations are calls.
 */
export function candidatesIn({ program, declaration }: ResolvedKernel, output: BindingPoint): Candidate[] {
  const variable = variableAt(program, output);
  const stores = variable && resultStores(program, variable);
  if (!stores) return [];
  const isCandidate = ({ operand }: Value) =>
    operand.kind !== "literal" &&
    !program.constantOf(operand) &&
    isOfFloats(program.valueTypeOf(operand)) &&
    isKeepable(program, stores, program.valueTypeOf(operand));
  const functions = [...reachableFrom(program, [declaration])];
  const found = functions.flatMap(({ body }) => operandsIn(body)).filter(isCandidate);
  const ordered = [true, false].flatMap((wanted) => found.filter(({ isArgument }) => isArgument === wanted));
  const candidates = ordered.map(({ operand }): [string, Candidate] => [
    `${operand.span.start} ${operand.span.end}`,
    { span: operand.span, type: program.valueTypeOf(operand) },
  ]);
  return [...new Map(candidates).values()].slice(0, mostCandidates);
}

/** Returns the bytes of the numbers to which a buffer is stored, whose stores can be repeated. */
export function bytesOfNumbers(program: Program, output: BindingPoint): number {
  const { type } = resultStores(program, variableAt(program, output)!)!;
  return (type.kind === "vector" ? type.element : type) === f16Type ? 2 : 4;
}

const isOfFloats = (type: Type): boolean => (type.kind === "vector" ? type.element : type) === f32Type;

/** Returns all operands, except those in compound assignments: these add up the terms of sums. */
function operandsIn(node: AnyNode): Value[] {
  if (node.kind === "assign" && node.operator !== "=") return [];
  const own: Expression[] = [];
  if (node.kind === "call") own.push(...node.args);
  else if (node.kind === "binary") own.push(node.left, node.right);
  else if (node.kind === "unary" && node.operator === "-") own.push(node.operand);
  const isArgument = node.kind === "call" && !["fma", "dot"].includes(node.callee.name);
  const operands = own.map((operand) => ({ operand, isArgument }));
  forEachChild(node, (child) => {
    operands.push(...operandsIn(child));
  });
  return operands;
}

/** Returns a kernel that also stores values of its source, next to its results. */
export function keeping(
  { program, declaration, size }: ResolvedKernel,
  output: BindingPoint,
  kept: readonly KeptValues[],
): ResolvedKernel {
  const stores = resultStores(program, variableAt(program, output)!)!;
  const module = keepSums(program, new Names(program), stores, kept);
  const changed = versionsOf(program)(module);
  const kernel = module.declarations.find(
    (each) => each.kind === "function" && each.name === declaration.name,
  );
  return { program: changed, declaration: kernel as typeof declaration, size };
}

/** Results that are functions of sums, which the kernel stores to another buffer. */
export class Activated {
  readonly results: BindingAccess;
  /** The binding point of the sums. */
  readonly at: BindingPoint;
  readonly #values: readonly Span[];
  #text: string | undefined;
  #format: Precision = "f32";
  /** The paths of the results that were looked at last, by their addresses. */
  #trees = new Map<number, DecisionTree>();
  /** The numbers beside the sums, by the address of the result. */
  readonly #others = new Map<number, readonly Loaded[]>();

  constructor(results: BindingAccess, at: BindingPoint, values: readonly Span[]) {
    this.results = results;
    this.at = at;
    this.#values = values;
  }

  /** Takes a result and its sum in an execution. Throws `NoFit` if it is no function of the sum. */
  note(symbols: Symbols, { address, number, format }: StoredResult, sum: number | undefined): void {
    const leaf =
      number !== undefined && sum !== undefined && functionOfSum(symbols, number, new Set([sum]), format);
    if (!leaf) throw new NoFit("its results are several functions of sums");
    const tree = this.#trees.get(address) ?? new DecisionTree();
    this.#trees.set(address, tree);
    tree.add(decisionsOn(symbols, sum), leaf);
    this.#format = format;
  }

  /** Returns the answers of a further execution that the results need; undefined for none. */
  missing(): Answers | undefined {
    for (const tree of this.#trees.values()) {
      const answers = tree.missing();
      if (answers) return answers;
    }
    return undefined;
  }

  /** Ends the executions of a workgroup. Throws `NoFit` if the function is another one. */
  conclude(): void {
    for (const [address, tree] of this.#trees) {
      const found = tree.whole();
      const [first] = this.#others.values();
      const isSame = ({ source }: Loaded, i: number) => source === first?.[i]?.source;
      this.#text ??= found?.text;
      if (!found || found.text !== this.#text || (first && !found.loaded.every(isSame)))
        throw new NoFit("its results are several functions of sums");
      this.#others.set(address, found.loaded);
    }
    this.#trees = new Map();
  }

  /** Returns the function of the sums. Throws `NoFit` if other numbers lie without a pattern. */
  function(bindings: readonly BindingAccess[], { first, count }: ResultRange): Activation {
    const [sample = []] = this.#others.values();
    const facts = [...this.#others].map(([address, loaded]) => ({
      index: address - first,
      at: loaded.map((each) => each.address),
    }));
    const addresses = fitDigits(facts, count);
    if (!addresses) throw new NoFit("the numbers beside its sums have no pattern");
    const others = sample.map(({ source }) => operandOf(bindings, source));
    return { values: this.#values, text: this.#text!, format: this.#format, others, addresses };
  }
}

/** Returns the decisions about functions of a sum. */
const decisionsOn = (symbols: Symbols, sum: number): DecisionOnPath[] =>
  symbols.decisions.flatMap(({ site, condition, answer }) => {
    const written = functionOfSum(symbols, condition, new Set([sum]), undefined);
    return written?.usesSum ? [{ site, condition: written, answer }] : [];
  });

/** Returns true if an execution has decided about functions of some sums only. */
export function isCovering(symbols: Symbols, sums: ReadonlySet<number>): boolean {
  const isOnSum = ({ condition }: Decision) => functionOfSum(symbols, condition, sums, undefined)?.usesSum;
  return symbols.decisions.every(isOnSum);
}

/** The addresses of all results. */
interface ResultRange {
  readonly first: number;
  readonly count: number;
}

/** A stored result: its address in numbers, and the number, if there is one. */
interface StoredResult {
  readonly address: number;
  readonly number: number | undefined;
  readonly format: Precision;
}

/** Returns binding points that a program does not use. */
export function freePoints(bindings: readonly BindingAccess[], count: number): BindingPoint[] {
  const group = Math.max(...bindings.map((each) => each.group)) + 1;
  return Array.from({ length: count }, (_, binding) => ({ group, binding }));
}
