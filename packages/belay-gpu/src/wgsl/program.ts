/** What the resolver knows about a module, beside its tree. */
import type { Diagnostic } from "../diagnostics/diagnostic.ts";
import type {
  AliasDeclaration,
  ConstDeclaration,
  Expression,
  FunctionDeclaration,
  GlobalVariable,
  Identifier,
  LetStatement,
  Module,
  OverrideDeclaration,
  Parameter,
  StructDeclaration,
  TypeExpression,
  VarStatement,
} from "./ast.ts";
import type { Type } from "./types.ts";
import type { Value } from "./values.ts";

/** A name that the language predeclares: a function, a type, a type generator or an enumerant. */
export interface Builtin {
  readonly kind: "builtin";
  readonly name: string;
  readonly category: "function" | "type" | "enumerant";
}

/** What an identifier refers to. */
export type Target =
  | GlobalVariable
  | OverrideDeclaration
  | ConstDeclaration
  | LetStatement
  | VarStatement
  | Parameter
  | FunctionDeclaration
  | StructDeclaration
  | AliasDeclaration
  | Builtin;

/** What declares a name for a value or for memory. */
export type VariableDeclaration =
  | GlobalVariable
  | OverrideDeclaration
  | ConstDeclaration
  | LetStatement
  | VarStatement
  | Parameter;

/** When an expression's value is known (specification section "Expression evaluation"). */
export type EvaluationStage = "const" | "override" | "runtime";

/**
 * A module with what its names mean, and the types and constants of its expressions; `resolve`
 * makes it.
 */
export interface Program {
  readonly module: Module;
  /**
   * Errors make the program unfit for transforms; the other accessors then answer as far as they
   * can.
   */
  readonly diagnostics: readonly Diagnostic[];
  /**
   * The type of a value expression, before the load rule: a place has a reference type. Literals
   * and abstract expressions keep their abstract type (`valueTypeOf` gives the converted one).
   * Throws for a node of another module.
   */
  typeOf(expression: Expression): Type;
  /**
   * The type after the load rule and, where the context converts an abstract value, that concrete
   * type.
   */
  valueTypeOf(expression: Expression): Type;
  /** The type that a type expression denotes. */
  typeDenotedBy(type: TypeExpression): Type;
  /** The type of a declared variable or parameter: its store type (`var`) or its value's type. */
  declaredTypeOf(declaration: VariableDeclaration): Type;
  returnTypeOf(fn: FunctionDeclaration): Type;
  targetOf(identifier: Identifier): Target | undefined;
  stageOf(expression: Expression): EvaluationStage;
  /** The value of a const-expression, in its type after conversion; undefined for all others. */
  constantOf(expression: Expression): Value | undefined;
}
