/**
 * Resolves overloads of predeclared functions and operators, and evaluates them. Source: WGSL
 * specification, "Overload Resolution".
 */
import { resolutionError } from "../../diagnostics/resolution.ts";
import type { Expression } from "../ast.ts";
import type { Folded } from "../constants/index.ts";
import { conversionRank } from "../conversion.ts";
import type { EvaluationStage } from "../program.ts";
import { describeType } from "../typeNames.ts";
import type { Type } from "../types.ts";
import type { Value } from "../values.ts";
import {
  type Context,
  type ExpressionFacts,
  errorFacts,
  errorType,
  latestStage,
  loaded,
  runtime,
} from "./context.ts";
import { instantiate, type Overload } from "./instantiate.ts";
import { signaturesOf } from "./signatures.ts";

/**
 * Returns the preferred overload for arguments of the given types, after the load rule, or
 * undefined. Abstract parameter types are possible only if every argument is a const-expression.
 */
export function selectOverload(name: string, args: readonly Type[], allConst: boolean): Overload | undefined {
  const found = allConst ? foundForConstants : foundForOthers;
  let known = found.get(name);
  for (const arg of args) known = known?.with(arg);
  if (known?.overload) return known.overload;
  const overload = select(name, args, allConst);
  if (overload) {
    let node = found.get(name) ?? new OverloadTree();
    found.set(name, node);
    for (const arg of args) node = node.withNew(arg);
    node.overload = overload;
  }
  return overload;
}

/**
 * The overloads of one name that were found, by each argument type. Programs use few overloads
 * often.
 */
class OverloadTree {
  overload: Overload | undefined;
  readonly #more = new WeakMap<Type, OverloadTree>();

  with(arg: Type): OverloadTree | undefined {
    return this.#more.get(arg);
  }

  withNew(arg: Type): OverloadTree {
    const node = this.with(arg) ?? new OverloadTree();
    this.#more.set(arg, node);
    return node;
  }
}

const foundForConstants = new Map<string, OverloadTree>();
const foundForOthers = new Map<string, OverloadTree>();

function select(name: string, args: readonly Type[], allConst: boolean): Overload | undefined {
  let best: Overload | undefined;
  let bestRanks: readonly number[] = [];
  let ambiguous = false;
  for (const signature of signaturesOf(name)) {
    if (signature.parameters.length !== args.length) continue;
    const candidate = instantiate(signature, args, allConst);
    if (!candidate) continue;
    const ranks = candidate.parameters.map((parameter, i) => conversionRank(args[i]!, parameter));
    if (!ranks.every(Number.isFinite)) continue;
    if (!best || isPreferred(ranks, bestRanks)) {
      best = candidate;
      bestRanks = ranks;
      ambiguous = false;
    } else if (!isPreferred(bestRanks, ranks)) {
      ambiguous = true;
    }
  }
  return ambiguous ? undefined : best;
}

function isPreferred(a: readonly number[], b: readonly number[]): boolean {
  return a.every((rank, i) => rank <= b[i]!) && a.some((rank, i) => rank < b[i]!);
}

/**
 * Evaluates an expression from its operands' values, or returns undefined if it turns out not to be
 * a const-expression.
 */
type Fold = (values: readonly Value[], type: Type) => Folded | undefined;

/**
 * Resolves the overload of an operator or predeclared function for checked arguments, and evaluates
 * it if possible.
 */
export function applyOverload(
  cx: Context,
  at: Expression,
  name: string,
  args: readonly Expression[],
  fold: Fold,
): ExpressionFacts {
  const facts = args.map((arg) => cx.facts.get(arg) ?? errorFacts);
  const types = facts.map(({ type }) => loaded(type));
  if (types.includes(errorType)) return errorFacts;
  const stage = latestStage(facts.map((each) => each.stage));
  const overload = selectOverload(name, types, stage === "const");
  if (!overload) {
    const candidates = signaturesOf(name).filter(({ parameters }) => parameters.length === args.length);
    const shown = candidates.length > 0 ? candidates : signaturesOf(name);
    const texts = shown.map(({ text }) => text);
    cx.report(resolutionError.noOverload(name, types.map(describeType), texts, at.span));
    return errorFacts;
  }
  cx.convertAll(args, types, overload.parameters);
  if (!overload.signature.isConst) return runtime(overload.result);
  return evaluated(cx, at, overload.result, stage, args, fold);
}

/** Returns the facts of an expression whose operands have their types already. */
export function evaluated(
  cx: Context,
  at: Expression,
  type: Type,
  stage: EvaluationStage,
  operands: readonly Expression[],
  fold: Fold,
): ExpressionFacts {
  if (stage !== "const") return { type, stage, value: undefined };
  const values: Value[] = [];
  for (const operand of operands) {
    const value = cx.valueOf(operand);
    if (!value) return { type, stage, value: undefined };
    values.push(value);
  }
  return { type, stage, value: cx.evaluate(at, type, () => fold(values, type)) };
}
