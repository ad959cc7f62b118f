/**
 * The interface to a resolved module: the meaning of its names, its types and its constants,
 * separate from its tree.
 */
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
  /** The predeclared name. */
  readonly name: string;
  /** The use of the name. */
  readonly category: "function" | "type" | "enumerant";
}

/** The declaration that an identifier refers to. */
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

/** A declaration that names a value or memory. */
export type VariableDeclaration =
  | GlobalVariable
  | OverrideDeclaration
  | ConstDeclaration
  | LetStatement
  | VarStatement
  | Parameter;

/**
 * The stage at which an expression's value is known. Source: WGSL specification, "Expression
 * evaluation".
 */
export type EvaluationStage = "const" | "override" | "runtime";

/**
 * A module with the meaning of its names, and the types and constants of its expressions. `resolve`
 * creates it.
 */
export interface Program {
  /** The syntax tree. */
  readonly module: Module;
  /**
   * The errors and warnings. A program with errors is unfit for transforms; its other accessors
   * then answer as far as possible.
   */
  readonly diagnostics: readonly Diagnostic[];
  /**
   * Returns the type of a value expression before the load rule: a place has a reference type.
   * Literals and abstract expressions keep their abstract type (`valueTypeOf` returns the converted
   * one). Throws for a node of another module.
   */
  typeOf(expression: Expression): Type;
  /**
   * Returns the type after the load rule. An abstract value that its context converts has the
   * converted type.
   */
  valueTypeOf(expression: Expression): Type;
  /** Returns the type that a type expression denotes. */
  typeDenotedBy(type: TypeExpression): Type;
  /**
   * Returns the type of a declared variable or parameter: the store type of a `var`, or its value's
   * type.
   */
  declaredTypeOf(declaration: VariableDeclaration): Type;
  /** Returns the type of a function's result. */
  returnTypeOf(fn: FunctionDeclaration): Type;
  /** Returns the declaration that an identifier refers to, or undefined for an unknown name. */
  targetOf(identifier: Identifier): Target | undefined;
  /** Returns the stage at which an expression's value is known. */
  stageOf(expression: Expression): EvaluationStage;
  /** Returns the value of a const-expression in its converted type, or undefined for any other. */
  constantOf(expression: Expression): Value | undefined;
}
