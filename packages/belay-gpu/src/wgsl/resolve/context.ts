/**
 * The state that the resolver's parts share: the tables that they fill, and the load and conversion
 * rules.
 */

import type { Diagnostic } from "../../diagnostics/diagnostic.ts";
import { resolutionError } from "../../diagnostics/resolution.ts";
import type {
  ConstDeclaration,
  Declaration,
  Expression,
  FunctionDeclaration,
  Identifier,
  Module,
  StructDeclaration,
} from "../ast.ts";
import { convert, type Folded } from "../constants/index.ts";
import { concretize, conversionRank, isAbstract, sameType } from "../conversion.ts";
import type { EvaluationStage, Target, VariableDeclaration } from "../program.ts";
import { describeType } from "../typeNames.ts";
import { type ReferenceType, type StructType, type Type, type VoidType, voidType } from "../types.ts";
import type { Value } from "../values.ts";
import { ConstantBudget } from "./constantBudget.ts";
import { LayeredMap } from "./layeredMap.ts";

/** The facts about a value expression. */
export interface ExpressionFacts {
  readonly type: Type;
  readonly stage: EvaluationStage;
  /** The value of a const-expression, unless it is in error, too large or never evaluated. */
  readonly value: Value | undefined;
  /** The type and value of an abstract value after its conversion by the context. */
  readonly converted?: { readonly type: Type; readonly value: Value | undefined };
}

/** The type of an expression in error; it silences further findings. */
export const errorType: VoidType = { ...voidType };
export const errorFacts: ExpressionFacts = { type: errorType, stage: "runtime", value: undefined };
export const runtime = (type: Type): ExpressionFacts => ({ type, stage: "runtime", value: undefined });

/**
 * Checks an expression and all its parts, and returns its facts. Expressions, calls and types
 * contain each other, so the files that check them reach each other through the context.
 */
type FactsOf = (cx: Context, expression: Expression) => ExpressionFacts;

export class Context {
  readonly targets: LayeredMap<Identifier, Target>;
  readonly facts: LayeredMap<Expression, ExpressionFacts>;
  readonly denoted: LayeredMap<Identifier, Type>;
  readonly declared: LayeredMap<VariableDeclaration, Type>;
  /** The reference types of `var` declarations. */
  readonly places: LayeredMap<VariableDeclaration, ReferenceType>;
  readonly constants: LayeredMap<ConstDeclaration, Value | "unknown">;
  readonly structs: LayeredMap<StructDeclaration, StructType>;
  readonly returns: LayeredMap<FunctionDeclaration, Type>;
  /** The module-scope declarations that name a declaration. May contain former ones. */
  readonly users: LayeredMap<Declaration, Set<Declaration>>;
  /** The declarations of the current version of the module. */
  declarations: ReadonlySet<Declaration>;
  diagnostics: Diagnostic[] = [];
  version = 0;
  /** False in the right operand of a short-circuit operator that is not evaluated. */
  evaluating = true;
  readonly #conversions = new WeakMap<Value, Value>();
  readonly #factsOf: FactsOf;
  #budget = new ConstantBudget();

  /** Creates a context that knows all facts of `base` and adds none to it. */
  constructor(factsOf: FactsOf, base?: Context) {
    this.#factsOf = factsOf;
    this.targets = new LayeredMap(base?.targets);
    this.facts = new LayeredMap(base?.facts);
    this.denoted = new LayeredMap(base?.denoted);
    this.declared = new LayeredMap(base?.declared);
    this.places = new LayeredMap(base?.places);
    this.constants = new LayeredMap(base?.constants);
    this.structs = new LayeredMap(base?.structs);
    this.returns = new LayeredMap(base?.returns);
    this.users = new LayeredMap(base?.users);
    this.declarations = base?.declarations ?? new Set();
  }

  /** Begins another version of the module. */
  begin(module: Module, diagnostics: readonly Diagnostic[]): void {
    this.version++;
    this.declarations = new Set(module.declarations);
    this.diagnostics = [...diagnostics];
    this.#budget = new ConstantBudget();
  }

  report(diagnostic: Diagnostic): void {
    this.diagnostics.push(diagnostic);
  }

  get hasErrors(): boolean {
    return this.diagnostics.length > 0;
  }

  /** Checks an expression and all its parts once. */
  check(expression: Expression): ExpressionFacts {
    const facts = this.#factsOf(this, expression);
    this.facts.set(expression, facts);
    return facts;
  }

  /** Runs a constant evaluation with a result of `type`, and reports its failure at `at`. */
  evaluate(at: Expression, type: Type, evaluation: () => Folded | undefined): Value | undefined {
    if (!this.evaluating || !this.#budget.affords(type)) return undefined;
    const folded = evaluation();
    if (!folded || folded.ok) return folded?.value;
    this.report(resolutionError.notEvaluable(folded.reason, at.span));
    return undefined;
  }

  /** Returns the type of an expression after the load rule. */
  loadedType(expression: Expression): Type {
    return loaded(this.facts.get(expression)?.type ?? errorType);
  }

  /**
   * Converts an expression's value, after the load rule, to `type`. Reports an error if there is no
   * automatic conversion.
   */
  convert(expression: Expression, type: Type): void {
    const from = this.loadedType(expression);
    if (from === type || from === errorType || type === errorType) return;
    if (!Number.isFinite(conversionRank(from, type))) {
      this.report(resolutionError.cannotConvert(describeType(from), describeType(type), expression.span));
      return;
    }
    if (!isAbstract(from) || sameType(from, type)) return;
    const facts = this.facts.get(expression) ?? errorFacts;
    const value = facts.value && this.#convertValue(expression, facts.value, type);
    this.facts.set(expression, { ...facts, converted: { type, value } });
  }

  /**
   * Converts a constant. The last conversion is kept, because a large constant may be used often.
   */
  #convertValue(at: Expression, value: Value, type: Type): Value | undefined {
    const known = this.#conversions.get(value);
    if (known && sameType(known.type, type)) return known;
    const converted = this.evaluate(at, type, () => convert(value, type));
    if (converted) this.#conversions.set(value, converted);
    return converted;
  }

  /** Converts expressions whose types, after the load rule, are `from`. */
  convertAll(expressions: readonly Expression[], from: readonly Type[], to: readonly Type[]): void {
    for (const [i, expression] of expressions.entries())
      if (from[i] !== to[i]) this.convert(expression, to[i]!);
  }

  /** Loads a value and makes it concrete, where nothing else gives it a type. */
  materialize(expression: Expression): Type {
    const concrete = concretize(this.loadedType(expression));
    this.convert(expression, concrete);
    return concrete;
  }

  /** Returns the value of an expression in its converted type. */
  valueOf(expression: Expression): Value | undefined {
    const facts = this.facts.get(expression);
    return (facts?.converted ?? facts)?.value;
  }

  constantValue(declaration: ConstDeclaration): Value | undefined {
    const value = this.constants.get(declaration);
    return value === "unknown" ? undefined : value;
  }

  stageOf(expression: Expression): EvaluationStage {
    return (this.facts.get(expression) ?? errorFacts).stage;
  }
}

/** Returns the type after the load rule. Source: WGSL specification, "Load Rule". */
export function loaded(type: Type): Type {
  return type.kind === "reference" ? type.store : type;
}

/** Returns the latest of several evaluation stages. */
export function latestStage(stages: Iterable<EvaluationStage>): EvaluationStage {
  let latest: EvaluationStage = "const";
  for (const stage of stages) {
    if (stage === "runtime") return "runtime";
    if (stage === "override") latest = "override";
  }
  return latest;
}

/** Returns the type of a reference into the memory that `base` refers to. */
export function referenceInto(base: ReferenceType, store: Type): ReferenceType {
  return { kind: "reference", space: base.space, store, access: base.access };
}
