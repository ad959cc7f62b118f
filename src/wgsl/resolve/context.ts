/** What the resolver's parts share: the tables they fill, and the load and conversion rules. */

import type { Diagnostic } from "../../diagnostics/diagnostic.ts";
import { resolutionError } from "../../diagnostics/resolution.ts";
import type {
  ConstDeclaration,
  Expression,
  FunctionDeclaration,
  Identifier,
  StructDeclaration,
} from "../ast.ts";
import { convert, type Folded } from "../constants/index.ts";
import { concretize, conversionRank, isAbstract, sameType } from "../conversion.ts";
import type { EvaluationStage, Target, VariableDeclaration } from "../program.ts";
import { describeType } from "../typeNames.ts";
import { type ReferenceType, type StructType, type Type, type VoidType, voidType } from "../types.ts";
import type { Value } from "../values.ts";

/** What is known about a value expression. */
export interface ExpressionFacts {
  readonly type: Type;
  readonly stage: EvaluationStage;
  /** For a const-expression, unless it is in error, too large or never evaluated. */
  readonly value: Value | undefined;
}

/** The type of an expression in error; it silences further findings. */
export const errorType: VoidType = { ...voidType };
export const errorFacts: ExpressionFacts = { type: errorType, stage: "runtime", value: undefined };

export class Context {
  readonly targets: ReadonlyMap<Identifier, Target>;
  readonly diagnostics: Diagnostic[];
  readonly facts = new Map<Expression, ExpressionFacts>();
  /** The types that contexts convert expressions to, after the load rule. */
  readonly converted = new Map<Expression, ExpressionFacts>();
  readonly denoted = new Map<Identifier, Type>();
  readonly declared = new Map<VariableDeclaration, Type>();
  /** The references that `var`s are, by declaration. */
  readonly places = new Map<VariableDeclaration, ReferenceType>();
  readonly constants = new Map<ConstDeclaration, Value>();
  readonly structs = new Map<StructDeclaration, StructType>();
  readonly returns = new Map<FunctionDeclaration, Type>();
  /** Off in the right operand of a short-circuit operator that is not evaluated. */
  evaluating = true;
  readonly #conversions = new WeakMap<Value, Value>();
  #scalarBudget = maxConstantScalars;

  constructor(targets: ReadonlyMap<Identifier, Target>, diagnostics: readonly Diagnostic[]) {
    this.targets = targets;
    this.diagnostics = [...diagnostics];
  }

  report(diagnostic: Diagnostic): void {
    this.diagnostics.push(diagnostic);
  }

  get hasErrors(): boolean {
    return this.diagnostics.length > 0;
  }

  /** Runs a constant evaluation that makes a value of `type`, and reports its failure at `at`. */
  evaluate(at: Expression, type: Type, evaluation: () => Folded | undefined): Value | undefined {
    if (!this.evaluating || !this.#affords(type)) return undefined;
    const folded = evaluation();
    if (!folded || folded.ok) return folded?.value;
    this.report(resolutionError.notEvaluable(folded.reason, at.span));
    return undefined;
  }

  #affords(type: Type): boolean {
    const size = scalarCount(type);
    if (size <= smallConstant) return true;
    if (size > maxConstantSize || size > this.#scalarBudget) return false;
    this.#scalarBudget -= size;
    return true;
  }

  /** The facts after the load rule (specification section "Load Rule"). */
  loaded(expression: Expression): ExpressionFacts {
    const facts = this.facts.get(expression) ?? errorFacts;
    return facts.type.kind === "reference" ? { ...facts, type: facts.type.store } : facts;
  }

  /** Converts an expression's value, after the load rule, to `type`; reports when there is no automatic conversion. */
  convert(expression: Expression, type: Type): void {
    const facts = this.loaded(expression);
    if (facts.type === errorType || type === errorType) return;
    if (!Number.isFinite(conversionRank(facts.type, type))) {
      this.report(
        resolutionError.cannotConvert(describeType(facts.type), describeType(type), expression.span),
      );
      return;
    }
    const isSame = !isAbstract(facts.type) || sameType(facts.type, type);
    const value = facts.value && !isSame ? this.#convertValue(expression, facts.value, type) : facts.value;
    this.converted.set(expression, { ...facts, type, value });
  }

  /** A large constant may be used often: its last conversion is kept. */
  #convertValue(at: Expression, value: Value, type: Type): Value | undefined {
    const known = this.#conversions.get(value);
    if (known && sameType(known.type, type)) return known;
    const converted = this.evaluate(at, type, () => convert(value, type));
    if (converted) this.#conversions.set(value, converted);
    return converted;
  }

  convertAll(expressions: readonly Expression[], types: readonly Type[]): void {
    for (const [i, expression] of expressions.entries()) this.convert(expression, types[i]!);
  }

  /** Loads and makes concrete a value that nothing else gives a type. */
  materialize(expression: Expression): Type {
    const { type } = this.loaded(expression);
    const concrete = concretize(type);
    this.convert(expression, concrete);
    return concrete;
  }

  /** The value of an expression in the type it is converted to. */
  valueOf(expression: Expression): Value | undefined {
    return (this.converted.get(expression) ?? this.facts.get(expression))?.value;
  }

  stageOf(expression: Expression): EvaluationStage {
    return (this.facts.get(expression) ?? errorFacts).stage;
  }
}

/** Constants of no more scalars than this are always evaluated: their number is bounded by the program's length. */
const smallConstant = 16;
/** The largest constant that is evaluated, in scalars; the specification lets no array value have more than 2047 elements. */
const maxConstantSize = 65_536;
/** Scalars that the large constants of a module may have together; past it they stay unknown. */
const maxConstantScalars = 1_000_000;
const scalarCounts = new WeakMap<Type, number>();

function scalarCount(type: Type): number {
  let count = scalarCounts.get(type);
  if (count === undefined) {
    count = countScalars(type);
    scalarCounts.set(type, count);
  }
  return count;
}

function countScalars(type: Type): number {
  switch (type.kind) {
    case "vector":
      return type.size;
    case "matrix":
      return type.columns * type.rows;
    case "array":
      return typeof type.count === "number"
        ? type.count * scalarCount(type.element)
        : Number.POSITIVE_INFINITY;
    case "struct":
      return type.members.reduce((sum, member) => sum + scalarCount(member.type), 0);
    default:
      return 1;
  }
}

/** The latest of several evaluation stages. */
export function latestStage(stages: Iterable<EvaluationStage>): EvaluationStage {
  let latest: EvaluationStage = "const";
  for (const stage of stages) {
    if (stage === "runtime") return "runtime";
    if (stage === "override") latest = "override";
  }
  return latest;
}

/** A reference into the memory that `base` refers to. */
export function referenceInto(base: ReferenceType, store: Type): ReferenceType {
  return { kind: "reference", space: base.space, store, access: base.access };
}
