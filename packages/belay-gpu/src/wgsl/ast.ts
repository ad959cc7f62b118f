/**
 * The syntax tree of a WGSL module. Nodes are immutable plain objects: a transform builds new nodes
 * and shares the others. Types and constants are not in the tree but in a `Program` (see
 * program.ts).
 *
 * Parentheses are not kept: the printer derives them from the grammar. Types are expressions, as in
 * the specification (a type is a template-elaborated identifier).
 */
import type { Span } from "../diagnostics/diagnostic.ts";

/** A node of the tree. */
export interface Node {
  /**
   * The node's place in the user's source. A generated node has the span of the code it stands for.
   */
  readonly span: Span;
}

export interface Module extends Node {
  readonly kind: "module";
  readonly directives: readonly Directive[];
  readonly declarations: readonly Declaration[];
}

// Directives

export interface EnableDirective extends Node {
  readonly kind: "enable";
  readonly names: readonly string[];
}
export interface RequiresDirective extends Node {
  readonly kind: "requires";
  readonly names: readonly string[];
}
export interface DiagnosticDirective extends Node {
  readonly kind: "diagnostic";
  readonly severity: string;
  /** A rule name such as `derivative_uniformity` or `chromium.unreachable_code`. */
  readonly rule: string;
}
export type Directive = EnableDirective | RequiresDirective | DiagnosticDirective;

/** `@name(args)`. The rule of `@diagnostic(off, a.b)` is a member expression. */
export interface Attribute extends Node {
  readonly kind: "attribute";
  readonly name: string;
  readonly args: readonly Expression[];
}

// Declarations

/** A module-scope `var`. */
export interface GlobalVariable extends Node {
  readonly kind: "globalVariable";
  readonly name: string;
  readonly nameSpan: Span;
  readonly attributes: readonly Attribute[];
  /** The template list of `var<space, access>`, as written. */
  readonly qualifiers: readonly Expression[];
  readonly type: TypeExpression | null;
  readonly initializer: Expression | null;
}
export interface OverrideDeclaration extends Node {
  readonly kind: "override";
  readonly name: string;
  readonly nameSpan: Span;
  readonly attributes: readonly Attribute[];
  readonly type: TypeExpression | null;
  readonly initializer: Expression | null;
}
/** `const`, at module scope or in a function. */
export interface ConstDeclaration extends Node {
  readonly kind: "const";
  readonly name: string;
  readonly nameSpan: Span;
  readonly type: TypeExpression | null;
  readonly initializer: Expression;
}
export interface AliasDeclaration extends Node {
  readonly kind: "alias";
  readonly name: string;
  readonly nameSpan: Span;
  readonly type: TypeExpression;
}
export interface StructMember extends Node {
  readonly kind: "member";
  readonly name: string;
  readonly nameSpan: Span;
  readonly attributes: readonly Attribute[];
  readonly type: TypeExpression;
}
export interface StructDeclaration extends Node {
  readonly kind: "struct";
  readonly name: string;
  readonly nameSpan: Span;
  readonly members: readonly StructMember[];
}
export interface Parameter extends Node {
  readonly kind: "parameter";
  readonly name: string;
  readonly nameSpan: Span;
  readonly attributes: readonly Attribute[];
  readonly type: TypeExpression;
}
export interface FunctionDeclaration extends Node {
  readonly kind: "function";
  readonly name: string;
  readonly nameSpan: Span;
  readonly attributes: readonly Attribute[];
  readonly parameters: readonly Parameter[];
  readonly returnAttributes: readonly Attribute[];
  readonly returnType: TypeExpression | null;
  readonly body: Block;
}
/** `const_assert`, at module scope or in a function. */
export interface ConstAssert extends Node {
  readonly kind: "constAssert";
  readonly condition: Expression;
}
export type Declaration =
  | GlobalVariable
  | OverrideDeclaration
  | ConstDeclaration
  | AliasDeclaration
  | StructDeclaration
  | FunctionDeclaration
  | ConstAssert;

// Statements

export interface Block extends Node {
  readonly kind: "block";
  readonly attributes: readonly Attribute[];
  readonly statements: readonly Statement[];
}
export interface LetStatement extends Node {
  readonly kind: "let";
  readonly name: string;
  readonly nameSpan: Span;
  readonly type: TypeExpression | null;
  readonly initializer: Expression;
}
/** A function-scope `var`. */
export interface VarStatement extends Node {
  readonly kind: "var";
  readonly name: string;
  readonly nameSpan: Span;
  readonly qualifiers: readonly Expression[];
  readonly type: TypeExpression | null;
  readonly initializer: Expression | null;
}
export type AssignmentOperator = "=" | "+=" | "-=" | "*=" | "/=" | "%=" | "&=" | "|=" | "^=" | "<<=" | ">>=";
export interface Assignment extends Node {
  readonly kind: "assign";
  readonly operator: AssignmentOperator;
  /** `null` for the phony assignment `_ = value`. */
  readonly target: Expression | null;
  readonly value: Expression;
}
/** `place++` and `place--`. */
export interface Increment extends Node {
  readonly kind: "increment";
  readonly operator: "++" | "--";
  readonly target: Expression;
}
export interface CallStatement extends Node {
  readonly kind: "callStatement";
  readonly call: CallExpression;
}
export interface IfStatement extends Node {
  readonly kind: "if";
  readonly attributes: readonly Attribute[];
  readonly condition: Expression;
  readonly then: Block;
  readonly otherwise: IfStatement | Block | null;
}
export interface SwitchClause extends Node {
  readonly kind: "clause";
  /** The selectors. `"default"` stands alone in a default clause, or among the others. */
  readonly selectors: readonly (Expression | "default")[];
  readonly body: Block;
}
export interface SwitchStatement extends Node {
  readonly kind: "switch";
  readonly attributes: readonly Attribute[];
  readonly selector: Expression;
  readonly bodyAttributes: readonly Attribute[];
  readonly clauses: readonly SwitchClause[];
}
export interface LoopStatement extends Node {
  readonly kind: "loop";
  readonly attributes: readonly Attribute[];
  readonly body: Block;
  readonly continuing: Block | null;
  /** `break if` at the end of the continuing block. */
  readonly breakIf: Expression | null;
}
export interface ForStatement extends Node {
  readonly kind: "for";
  readonly attributes: readonly Attribute[];
  readonly initializer:
    | LetStatement
    | VarStatement
    | ConstDeclaration
    | Assignment
    | Increment
    | CallStatement
    | null;
  readonly condition: Expression | null;
  readonly update: Assignment | Increment | CallStatement | null;
  readonly body: Block;
}
export interface WhileStatement extends Node {
  readonly kind: "while";
  readonly attributes: readonly Attribute[];
  readonly condition: Expression;
  readonly body: Block;
}
export interface BreakStatement extends Node {
  readonly kind: "break";
}
export interface ContinueStatement extends Node {
  readonly kind: "continue";
}
export interface DiscardStatement extends Node {
  readonly kind: "discard";
}
export interface ReturnStatement extends Node {
  readonly kind: "return";
  readonly value: Expression | null;
}
export type Statement =
  | Block
  | LetStatement
  | VarStatement
  | ConstDeclaration
  | ConstAssert
  | Assignment
  | Increment
  | CallStatement
  | IfStatement
  | SwitchStatement
  | LoopStatement
  | ForStatement
  | WhileStatement
  | BreakStatement
  | ContinueStatement
  | DiscardStatement
  | ReturnStatement;

// Expressions

export interface Literal extends Node {
  readonly kind: "literal";
  /** The token as written: `0x1p-2f`, `12u`, `true`. */
  readonly text: string;
}
/** A name, and its template list if it has one: `x`, `vec3<f32>`, `array<u32, 4>`. */
export interface Identifier extends Node {
  readonly kind: "identifier";
  readonly name: string;
  readonly templateArgs: readonly Expression[] | null;
}
export type TypeExpression = Identifier;
export type UnaryOperator = "-" | "!" | "~" | "*" | "&";
export interface UnaryExpression extends Node {
  readonly kind: "unary";
  readonly operator: UnaryOperator;
  readonly operand: Expression;
}
export type BinaryOperator =
  | "+"
  | "-"
  | "*"
  | "/"
  | "%"
  | "&"
  | "|"
  | "^"
  | "<<"
  | ">>"
  | "&&"
  | "||"
  | "=="
  | "!="
  | "<"
  | "<="
  | ">"
  | ">=";
export interface BinaryExpression extends Node {
  readonly kind: "binary";
  readonly operator: BinaryOperator;
  readonly left: Expression;
  readonly right: Expression;
}
/** A function call or a value constructor. */
export interface CallExpression extends Node {
  readonly kind: "call";
  readonly callee: Identifier;
  readonly args: readonly Expression[];
}
export interface IndexExpression extends Node {
  readonly kind: "index";
  readonly base: Expression;
  readonly index: Expression;
}
/** A struct member or a swizzle. */
export interface MemberExpression extends Node {
  readonly kind: "memberAccess";
  readonly base: Expression;
  readonly member: string;
}
export type Expression =
  | Literal
  | Identifier
  | UnaryExpression
  | BinaryExpression
  | CallExpression
  | IndexExpression
  | MemberExpression;
