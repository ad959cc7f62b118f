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

/** A module. */
export interface Module extends Node {
  readonly kind: "module";
  /** The directives, in order. */
  readonly directives: readonly Directive[];
  /** The declarations, in order. */
  readonly declarations: readonly Declaration[];
}

// Directives

/** `enable f16;` */
export interface EnableDirective extends Node {
  readonly kind: "enable";
  /** The enabled extensions. */
  readonly names: readonly string[];
}
/** `requires readonly_and_readwrite_storage_textures;` */
export interface RequiresDirective extends Node {
  readonly kind: "requires";
  /** The required language extensions. */
  readonly names: readonly string[];
}
/** `diagnostic(off, rule);` */
export interface DiagnosticDirective extends Node {
  readonly kind: "diagnostic";
  /** The severity: `error`, `warning`, `info` or `off`. */
  readonly severity: string;
  /** A rule name such as `derivative_uniformity` or `chromium.unreachable_code`. */
  readonly rule: string;
}
/** A directive at the beginning of a module. */
export type Directive = EnableDirective | RequiresDirective | DiagnosticDirective;

/** `@name(args)`. The rule of `@diagnostic(off, a.b)` is a member expression. */
export interface Attribute extends Node {
  readonly kind: "attribute";
  /** The name without `@`. */
  readonly name: string;
  /** The arguments; empty if there are none. */
  readonly args: readonly Expression[];
}

// Declarations

/** A module-scope `var`. */
export interface GlobalVariable extends Node {
  readonly kind: "globalVariable";
  /** The name in the source. */
  readonly name: string;
  /** The place of the name. */
  readonly nameSpan: Span;
  /** The attributes, in order. */
  readonly attributes: readonly Attribute[];
  /** The template list of `var<space, access>`, as written. */
  readonly qualifiers: readonly Expression[];
  /** The written type; null if there is none. */
  readonly type: TypeExpression | null;
  /** The initial value; null if there is none. */
  readonly initializer: Expression | null;
}
/** A module-scope `override`. */
export interface OverrideDeclaration extends Node {
  readonly kind: "override";
  /** The name in the source. */
  readonly name: string;
  /** The place of the name. */
  readonly nameSpan: Span;
  /** The attributes, in order. */
  readonly attributes: readonly Attribute[];
  /** The written type; null if there is none. */
  readonly type: TypeExpression | null;
  /** The default; null if there is none. */
  readonly initializer: Expression | null;
}
/** `const`, at module scope or in a function. */
export interface ConstDeclaration extends Node {
  readonly kind: "const";
  /** The name in the source. */
  readonly name: string;
  /** The place of the name. */
  readonly nameSpan: Span;
  /** The written type; null if there is none. */
  readonly type: TypeExpression | null;
  /** The value. */
  readonly initializer: Expression;
}
/** `alias name = type;` */
export interface AliasDeclaration extends Node {
  readonly kind: "alias";
  /** The name in the source. */
  readonly name: string;
  /** The place of the name. */
  readonly nameSpan: Span;
  /** The type that the name stands for. */
  readonly type: TypeExpression;
}
/** A member of a structure. */
export interface StructMember extends Node {
  readonly kind: "member";
  /** The name in the source. */
  readonly name: string;
  /** The place of the name. */
  readonly nameSpan: Span;
  /** The attributes, in order. */
  readonly attributes: readonly Attribute[];
  /** The written type. */
  readonly type: TypeExpression;
}
/** A structure. */
export interface StructDeclaration extends Node {
  readonly kind: "struct";
  /** The name in the source. */
  readonly name: string;
  /** The place of the name. */
  readonly nameSpan: Span;
  /** The members, in order. */
  readonly members: readonly StructMember[];
}
/** A parameter of a function. */
export interface Parameter extends Node {
  readonly kind: "parameter";
  /** The name in the source. */
  readonly name: string;
  /** The place of the name. */
  readonly nameSpan: Span;
  /** The attributes, in order. */
  readonly attributes: readonly Attribute[];
  /** The written type. */
  readonly type: TypeExpression;
}
/** A function. An entry point has a stage among its attributes. */
export interface FunctionDeclaration extends Node {
  readonly kind: "function";
  /** The name in the source. */
  readonly name: string;
  /** The place of the name. */
  readonly nameSpan: Span;
  /** The attributes, in order. */
  readonly attributes: readonly Attribute[];
  /** The parameters, in order. */
  readonly parameters: readonly Parameter[];
  /** The attributes of the result. */
  readonly returnAttributes: readonly Attribute[];
  /** The written type of the result; null if there is no result. */
  readonly returnType: TypeExpression | null;
  /** The statements. */
  readonly body: Block;
}
/** `const_assert`, at module scope or in a function. */
export interface ConstAssert extends Node {
  readonly kind: "constAssert";
  /** The condition that must be true. */
  readonly condition: Expression;
}
/** A declaration at module scope. */
export type Declaration =
  | GlobalVariable
  | OverrideDeclaration
  | ConstDeclaration
  | AliasDeclaration
  | StructDeclaration
  | FunctionDeclaration
  | ConstAssert;

// Statements

/** `{ … }`, a statement or the body of one. */
export interface Block extends Node {
  readonly kind: "block";
  /** The attributes, in order. */
  readonly attributes: readonly Attribute[];
  /** The statements, in order. */
  readonly statements: readonly Statement[];
}
/** `let name: type = value;` */
export interface LetStatement extends Node {
  readonly kind: "let";
  /** The name in the source. */
  readonly name: string;
  /** The place of the name. */
  readonly nameSpan: Span;
  /** The written type; null if there is none. */
  readonly type: TypeExpression | null;
  /** The value. */
  readonly initializer: Expression;
}
/** A function-scope `var`. */
export interface VarStatement extends Node {
  readonly kind: "var";
  /** The name in the source. */
  readonly name: string;
  /** The place of the name. */
  readonly nameSpan: Span;
  /** The template list of `var<function>`, as written. */
  readonly qualifiers: readonly Expression[];
  /** The written type; null if there is none. */
  readonly type: TypeExpression | null;
  /** The initial value; null if there is none. */
  readonly initializer: Expression | null;
}
/** The operator of an assignment. */
export type AssignmentOperator = "=" | "+=" | "-=" | "*=" | "/=" | "%=" | "&=" | "|=" | "^=" | "<<=" | ">>=";
/** An assignment, also a compound one. */
export interface Assignment extends Node {
  readonly kind: "assign";
  /** The operator, as written. */
  readonly operator: AssignmentOperator;
  /** `null` for the phony assignment `_ = value`. */
  readonly target: Expression | null;
  /** The right-hand side. */
  readonly value: Expression;
}
/** `place++` and `place--`. */
export interface Increment extends Node {
  readonly kind: "increment";
  /** The operator, as written. */
  readonly operator: "++" | "--";
  /** The place that changes. */
  readonly target: Expression;
}
/** A call whose result is not used. */
export interface CallStatement extends Node {
  readonly kind: "callStatement";
  /** The call. */
  readonly call: CallExpression;
}
/** `if (condition) { … } else …` */
export interface IfStatement extends Node {
  readonly kind: "if";
  /** The attributes, in order. */
  readonly attributes: readonly Attribute[];
  /** The condition. */
  readonly condition: Expression;
  /** The block for a true condition. */
  readonly then: Block;
  /** The branch for a false condition; null if there is none. */
  readonly otherwise: IfStatement | Block | null;
}
/** A clause of a `switch`. */
export interface SwitchClause extends Node {
  readonly kind: "clause";
  /** The selectors. `"default"` stands alone in a default clause, or among the others. */
  readonly selectors: readonly (Expression | "default")[];
  /** The statements of the clause. */
  readonly body: Block;
}
/** A `switch`. */
export interface SwitchStatement extends Node {
  readonly kind: "switch";
  /** The attributes before `switch`. */
  readonly attributes: readonly Attribute[];
  /** The value that selects a clause. */
  readonly selector: Expression;
  /** The attributes before the clauses. */
  readonly bodyAttributes: readonly Attribute[];
  /** The clauses, in order. */
  readonly clauses: readonly SwitchClause[];
}
/** `loop { … continuing { … } }` */
export interface LoopStatement extends Node {
  readonly kind: "loop";
  /** The attributes, in order. */
  readonly attributes: readonly Attribute[];
  /** The statements before the continuing block. */
  readonly body: Block;
  /** The continuing block; null if there is none. */
  readonly continuing: Block | null;
  /** `break if` at the end of the continuing block. */
  readonly breakIf: Expression | null;
}
/** `for (initializer; condition; update) { … }` */
export interface ForStatement extends Node {
  readonly kind: "for";
  /** The attributes, in order. */
  readonly attributes: readonly Attribute[];
  /** The statement before the loop; null if there is none. */
  readonly initializer:
    | LetStatement
    | VarStatement
    | ConstDeclaration
    | Assignment
    | Increment
    | CallStatement
    | null;
  /** The condition of a further iteration; null if it is always true. */
  readonly condition: Expression | null;
  /** The statement after each iteration; null if there is none. */
  readonly update: Assignment | Increment | CallStatement | null;
  /** The statements of an iteration. */
  readonly body: Block;
}
/** `while condition { … }` */
export interface WhileStatement extends Node {
  readonly kind: "while";
  /** The attributes, in order. */
  readonly attributes: readonly Attribute[];
  /** The condition of a further iteration. */
  readonly condition: Expression;
  /** The statements of an iteration. */
  readonly body: Block;
}
/** `break;` */
export interface BreakStatement extends Node {
  readonly kind: "break";
}
/** `continue;` */
export interface ContinueStatement extends Node {
  readonly kind: "continue";
}
/** `discard;` */
export interface DiscardStatement extends Node {
  readonly kind: "discard";
}
/** `return value;` */
export interface ReturnStatement extends Node {
  readonly kind: "return";
  /** The result; null if there is none. */
  readonly value: Expression | null;
}
/** A statement of a function. */
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

/** A number or a boolean. */
export interface Literal extends Node {
  readonly kind: "literal";
  /** The token as written: `0x1p-2f`, `12u`, `true`. */
  readonly text: string;
}
/** A name, and its template list if it has one: `x`, `vec3<f32>`, `array<u32, 4>`. */
export interface Identifier extends Node {
  readonly kind: "identifier";
  /** The name without its template list. */
  readonly name: string;
  /** The template list; null if there is none. */
  readonly templateArgs: readonly Expression[] | null;
}
/** An expression that denotes a type. */
export type TypeExpression = Identifier;
/** An operator before its operand: arithmetic, logical, or of pointers. */
export type UnaryOperator = "-" | "!" | "~" | "*" | "&";
/** An operator and its operand. */
export interface UnaryExpression extends Node {
  readonly kind: "unary";
  /** The operator, as written. */
  readonly operator: UnaryOperator;
  /** The operand. */
  readonly operand: Expression;
}
/** An operator between two operands. */
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
/** An operator and its two operands. */
export interface BinaryExpression extends Node {
  readonly kind: "binary";
  /** The operator, as written. */
  readonly operator: BinaryOperator;
  /** The first operand. */
  readonly left: Expression;
  /** The second operand. */
  readonly right: Expression;
}
/** A function call or a value constructor. */
export interface CallExpression extends Node {
  readonly kind: "call";
  /** The function or the type. */
  readonly callee: Identifier;
  /** The arguments, in order. */
  readonly args: readonly Expression[];
}
/** `base[index]` */
export interface IndexExpression extends Node {
  readonly kind: "index";
  /** The array, vector, matrix or pointer to one. */
  readonly base: Expression;
  /** The index. */
  readonly index: Expression;
}
/** A struct member or a swizzle. */
export interface MemberExpression extends Node {
  readonly kind: "memberAccess";
  /** The structure, vector or pointer to one. */
  readonly base: Expression;
  /** The name of the member, or the letters of the swizzle. */
  readonly member: string;
}
/** An expression, also one that denotes a type. */
export type Expression =
  | Literal
  | Identifier
  | UnaryExpression
  | BinaryExpression
  | CallExpression
  | IndexExpression
  | MemberExpression;
