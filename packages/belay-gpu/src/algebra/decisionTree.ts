/**
 * Functions whose control depends on a sum, such as `if (x < 0.0) { return 0.0; } return x;`. Each
 * execution with symbols follows one path, and tells what it decided.
 */
import { type FunctionOfSum, mostLoaded } from "./functionOfSum.ts";
import { NoFit } from "./noFit.ts";
import type { Answers, Loaded } from "./symbols.ts";

/** A decision about a sum on the path to a result. */
export interface DecisionOnPath {
  readonly site: number;
  readonly condition: FunctionOfSum;
  readonly answer: boolean;
}

/** The results behind some decisions: a function, or the next decision. */
type Tree = { readonly leaf: FunctionOfSum } | Branch;
interface Branch {
  readonly site: number;
  readonly condition: FunctionOfSum;
  readonly yes?: Tree | undefined;
  readonly no?: Tree | undefined;
}

/** A function of WGSL with all paths. */
export interface WholeFunction {
  readonly text: string;
  readonly loaded: readonly Loaded[];
}

const differs = () => new NoFit("its results are several functions of sums");

/** A result on each path of decisions. */
export class DecisionTree {
  #root: Tree | undefined;

  /** Adds a path. Throws `NoFit` if the same decisions had led to another function. */
  add(decisions: readonly DecisionOnPath[], leaf: FunctionOfSum): void {
    this.#root = added(this.#root, decisions, leaf);
  }

  /** Returns the answers with which an execution takes a missing path; undefined if none is. */
  missing(): Answers | undefined {
    return this.#root && missingIn(this.#root, new Map());
  }

  /** Writes the function. Undefined if it does not use the sum, or too many loaded numbers. */
  whole(): WholeFunction | undefined {
    const loaded: Loaded[] = [];
    let usesSum = false;
    /** Returns the texts of a part, whose loaded numbers get other names. */
    const renamed = (part: FunctionOfSum): [statements: string, result: string] => {
      const first = loaded.length;
      loaded.push(...part.loaded);
      usesSum ||= part.usesSum;
      const inAll = (text: string) => text.replace(/\by(\d+)\b/g, (_, i) => `y${first + Number(i)}`);
      return [inAll(part.statements), inAll(part.result)];
    };
    const write = (tree: Tree): string => {
      const [statements, result] = renamed("leaf" in tree ? tree.leaf : tree.condition);
      const space = statements && `${statements} `;
      if ("leaf" in tree) return `${space}return ${result};`;
      return `${space}if (${result}) { ${write(tree.yes!)} } else { ${write(tree.no!)} }`;
    };
    const text = write(this.#root!);
    return usesSum && loaded.length <= mostLoaded ? { text, loaded } : undefined;
  }
}

function added(
  tree: Tree | undefined,
  [decision, ...others]: readonly DecisionOnPath[],
  leaf: FunctionOfSum,
): Tree {
  if (!decision) {
    if (tree && !("leaf" in tree && isSame(tree.leaf, leaf))) throw differs();
    return { leaf };
  }
  const { site, condition, answer } = decision;
  if (tree && ("leaf" in tree || tree.site !== site || !isSame(tree.condition, condition))) throw differs();
  const branch = tree ?? { site, condition };
  const side = answer ? "yes" : "no";
  return { ...branch, [side]: added(branch[side], others, leaf) };
}

function missingIn(tree: Tree, before: ReadonlyMap<number, boolean>): Answers | undefined {
  if ("leaf" in tree) return undefined;
  for (const answer of [false, true]) {
    const next = answer ? tree.yes : tree.no;
    const known = new Map([...before, [tree.site, answer]]);
    // Other sites of the same shape are missing the same answers.
    const missing = next ? missingIn(next, known) : { known, others: answer };
    if (missing) return missing;
  }
  return undefined;
}

const isSame = (a: FunctionOfSum, b: FunctionOfSum): boolean =>
  a.statements === b.statements &&
  a.result === b.result &&
  a.loaded.length === b.loaded.length &&
  a.loaded.every(
    ({ source, address }, i) => source === b.loaded[i]!.source && address === b.loaded[i]!.address,
  );
