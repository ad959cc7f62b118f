import type { Diagnostic, Span } from "belay-gpu/internal/diagnostics/diagnostic";
import type { Expression, Node, Statement } from "oxc-parser";
import { loopError } from "../../diagnostics/loops.ts";
import type { BranchDirective } from "../directives/directive.ts";
import type { CopiedValue, DeclaredType } from "../source/declaredTypes.ts";
import type { Imports } from "../source/imports.ts";
import type { ParsedFile } from "../source/parse.ts";
import type { Binding, Scope, Scopes } from "../source/scopes.ts";
import type { SpeculatedLoop } from "../source/speculatedLoops.ts";
import type {
  BodyStatement,
  ElementType,
  FloatType,
  LoopExpression,
  Reduction,
  ValueType,
} from "../tree/ir.ts";
import { checkedAs } from "./numbers/checkedIntegers.ts";
import { Guards } from "./numbers/guards.ts";
import { Inputs } from "./numbers/inputs.ts";
import type { Linear } from "./numbers/linear.ts";
import { between, type IntegerValue, type Interval, type LoweredValue } from "./numbers/values.ts";
import { LoopRefusal, refuse } from "./refusal.ts";
import type { Variable, Variables } from "./variables.ts";

/** An array that the loop accesses, with all its accesses. */
export interface AccessedArray {
  readonly name: string;
  /** JavaScript that gives the array before the loop. */
  readonly code: string;
  readonly element: ElementType;
  /** The value that the host copies to the array. */
  readonly copied: CopiedValue | undefined;
  /** The copied numbers, if the value is an array of arrays or of objects. */
  readonly rows?: CopiedRows;
  readonly accesses: ElementAccess[];
}

/** An element of an array, with its index as an expression and as a range. */
export interface ArrayPlace {
  readonly array: AccessedArray;
  readonly ir: LoopExpression;
  readonly index: IntegerValue | null;
  readonly span: Span;
}

export const spanOf = ({ start, end }: Node): Span => ({ start, end });

/** The numbers that the host copies from an array of arrays or of objects. */
export interface CopiedRows {
  /**
   * The steps from an element of the array to a number: the names of properties, and null for all
   * elements of an array.
   */
  readonly path: readonly (string | null)[];
  /** True if typed arrays hold the numbers. */
  readonly isTyped: boolean;
  /** JavaScript that gives the length of the copy. */
  readonly length: string;
}

/** An array of arrays or of objects from outside, or an array, an object or a number in one. */
export interface NestedPart {
  /** JavaScript that gives the outermost array before the loop. */
  readonly code: string;
  /** The steps from there: the names of properties, and null for an element. */
  readonly path: readonly (string | null)[];
  /** The indices of the elements, and whether an array may have no such element. */
  readonly indices: readonly { readonly value: LoweredValue; readonly mayMiss: boolean }[];
  readonly type: DeclaredType;
  /** The array or object that the last step starts from; undefined for the outermost array. */
  readonly holder?: NestedPart;
}

export interface ElementAccess {
  readonly kind: "load" | "store";
  readonly span: Span;
  /** The index: `slope * i` plus a value in the interval. Null if it is unknown. */
  readonly index: (Interval & { readonly slope: Linear }) | null;
}

/** The meaning of a name of the program in the loop. */
export type Meaning =
  | { readonly kind: "value"; readonly value: LoweredValue }
  | { readonly kind: "variable"; readonly variable: Variable }
  | { readonly kind: "carried"; readonly variable: Variable }
  | { readonly kind: "reduction"; readonly operator: Reduction["operator"]; readonly variable: Variable }
  | { readonly kind: "array"; readonly array: AccessedArray }
  | { readonly kind: "scratch"; readonly scratch: ScratchArray }
  | { readonly kind: "part"; readonly part: NestedPart }
  /** A parameter for an object from outside, whose properties a function reads. */
  | { readonly kind: "object"; readonly object: OuterObject };

/** An object from outside, or a property of one. */
export interface OuterObject {
  /** The variable that holds the object; null for `this`. */
  readonly binding: Binding | null;
  /** JavaScript that gives the object of the variable before the loop. */
  readonly code: string;
  /** The names of the properties that lead from there. */
  readonly names: readonly string[];
}

/** An array that an iteration makes, with a variable for each element. */
export interface ScratchArray {
  readonly name: string;
  /** The type of a typed array's elements; null for a plain array, which keeps each value. */
  readonly element: ElementType | null;
  readonly variables: readonly Variable[];
}

/** A loop or a switch around the current statement, as a target of `break` and `continue`. */
export interface JumpTarget {
  readonly label: string | undefined;
  /** The statements that jump to the target. */
  readonly leave: () => BodyStatement;
  readonly goOn: (() => BodyStatement) | undefined;
}

/** The translation of `return` in the function that is being inlined. */
export interface Returning {
  /** The variable for the returned value. */
  readonly variable: Variable | undefined;
  /** The statement by which a return jumps. */
  readonly leave: BodyStatement;
  jumped: boolean;
  /** True if nothing follows the current statement, so that a return needs no jump. */
  isLast: boolean;
}

/** A statement of the loop that leaves the function around it: `return` or `throw`. */
export interface LoopExit {
  /** The statement, which the host executes after the loop. */
  readonly statement: string;
  /** The loop's own variables that the statement uses. */
  readonly locals: readonly ExitLocal[];
  /**
   * The arrays that the host must have before the statement, as JavaScript; null for all arrays of
   * the program.
   */
  readonly arrays: readonly string[] | null;
}

/** A variable of an iteration that a statement after the loop uses. */
export type ExitLocal =
  | { readonly name: string; readonly variable: Variable }
  | { readonly name: string; readonly code: string };

/** A loop inside the speculated one, with the largest number of executions of its body. */
export interface Repetition {
  readonly trips: Linear;
}

/**
 * The translations of expressions and of lists of statements. The constructs of a language contain
 * each other, so the files that translate them reach each other through the lowering.
 */
export interface Translators {
  expression(lowering: Lowering, node: Expression): LoweredValue;
  /** Translates the statements between two places, and the directives among them. */
  statements(lowering: Lowering, nodes: readonly Statement[], between: Span): void;
}

/** The largest number of inlined calls. More would make a kernel too large for a driver. */
const mostInlined = 200;
const deepestExpression = 100;

/**
 * The state of one loop's translation: the facts and the statements so far. The body is translated
 * again until the facts about its variables do not change any more.
 */
export class Lowering {
  readonly file: ParsedFile;
  readonly imports: Imports;
  readonly scopes: Scopes;
  readonly loop: SpeculatedLoop;
  readonly variables: Variables;
  readonly guards = new Guards();
  readonly diagnostics: Diagnostic[] = [];
  readonly warnings = new Map<string, Diagnostic>();
  readonly arrays = new Map<string, AccessedArray>();
  /** The lowest indices at which the host checks that copied arrays have no property. */
  readonly lowest = new Map<string, number>();
  readonly inputs = new Inputs();
  /** The variables from outside that the loop changes, by their names outside. */
  readonly written = new Map<string, Variable>();
  /**
   * The variables that iterations pass on and that no code outside of the loop has, with the
   * JavaScript of their first values.
   */
  readonly passed = new Map<Variable, string>();
  /** The statements that leave the function around the loop, in the order of their numbers. */
  readonly exits = new Map<Node, LoopExit>();
  readonly meanings = new Map<Binding, Meaning>();
  /** The meanings of properties of objects, by their code. */
  readonly properties = new Map<string, Meaning>();
  /** The variables whose declaration was refused. Their uses need no diagnostic. */
  readonly refused = new Set<Binding>();
  readonly jumpTargets: JumpTarget[] = [];
  readonly repetitions: Repetition[] = [];
  /** The labels of the loops around the current place, which their tests leave. */
  readonly leaving: string[] = [];
  /** The original names of the functions imported from Belay, by their names in the file. */
  readonly directiveNames: ReadonlyMap<string, string>;
  /** The range of the index. */
  index: Interval = between(0, 0);
  scope: Scope;
  block: BodyStatement[] = [];
  /** The sums of clauses that the program takes modulo 2^32, by their names in the loop. */
  readonly wrappingSums = new Set<string>();
  /** The variables that are declared where the iteration begins. */
  readonly hoisted = new Set<Variable>();
  /** The variables that have a value at the current place. */
  assigned = new Set<Variable>();
  returns: Returning | undefined;
  /** The number of branches around the current place. */
  branches = 0;
  /** The integers from outside that the loop computes with, by their code. */
  readonly hostIntegers = new Set<string>();
  /** True if the loop can tell −0 from 0 for an integer. */
  observesZeros = false;
  /** The first place where the loop computes with doubles. */
  firstDouble: Node | undefined;
  readonly usedDirectives = new Set<BranchDirective>();
  /** The calls that are being inlined, outermost first. */
  readonly calls: {
    readonly callee: Node;
    readonly at: number;
    /** The object of a method that is called. */
    readonly self: OuterObject | undefined;
  }[] = [];
  readonly #translators: Translators;
  #temporaries = 0;
  #labels = 0;
  #inlined = 0;
  #depth = 0;

  constructor(
    file: ParsedFile,
    imports: Imports,
    scopes: Scopes,
    loop: SpeculatedLoop,
    directiveNames: ReadonlyMap<string, string>,
    variables: Variables,
    translators: Translators,
  ) {
    this.#translators = translators;
    this.file = file;
    this.imports = imports;
    this.scopes = scopes;
    this.loop = loop;
    this.scope = loop.scope;
    this.directiveNames = directiveNames;
    this.variables = variables;
  }

  /** The type in which the loop computes its floats. */
  get floats(): FloatType {
    return this.variables.floats;
  }

  /** Translates an expression. */
  expression(node: Expression): LoweredValue {
    return this.#translators.expression(this, node);
  }

  /** Translates the statements between two places, and the directives among them. */
  statements(nodes: readonly Statement[], between: Span): void {
    this.#translators.statements(this, nodes, between);
  }

  /** Makes a part of the translation. Returns false if it is refused, and keeps the diagnostic. */
  attempt(make: () => void): boolean {
    try {
      make();
      return true;
    } catch (thrown) {
      if (!(thrown instanceof LoopRefusal)) throw thrown;
      if (thrown.diagnostic) this.diagnostics.push(thrown.diagnostic);
      return false;
    }
  }

  /** Adds a warning, once for each place. The translation goes on. */
  warn(warning: Diagnostic): void {
    this.warnings.set(`${warning.code} ${warning.span.start} ${warning.span.end}`, warning);
  }

  emit(given: BodyStatement): void {
    const statement = this.#exactly(given);
    if (statement.kind === "declare" || statement.kind === "assign" || statement.kind === "assignCarried") {
      this.variables.define(statement.name, statement.value);
    }
    this.block.push(statement);
  }

  /** Returns an assignment that checks its integer, if something depends on all bits of it. */
  #exactly(statement: BodyStatement): BodyStatement {
    if (statement.kind !== "declare" && statement.kind !== "assign") return statement;
    const type = statement.kind === "declare" ? statement.type : statement.value.type;
    if ((type !== "i32" && type !== "u32") || !this.variables.isExact(statement.name)) return statement;
    return { ...statement, value: checkedAs(this.variables, type, statement.value) };
  }

  /** Returns the statements that `make` emits, in a list of their own. */
  collect(make: () => void): BodyStatement[] {
    const outer = this.block;
    const inner: BodyStatement[] = [];
    this.block = inner;
    try {
      make();
    } finally {
      this.block = outer;
    }
    return inner;
  }

  /** Runs `make` in the scope of a node, if the node makes a scope. */
  within<Result>(node: Node, make: () => Result): Result {
    const outer = this.scope;
    this.scope = this.scopes.get(node) ?? outer;
    try {
      return make();
    } finally {
      this.scope = outer;
    }
  }

  /** Refuses nesting that would overflow the stack here or in a later compiler. */
  nested<Result>(node: Node, make: () => Result): Result {
    if (this.#depth >= deepestExpression) refuse(loopError.tooDeep(node));
    this.#depth++;
    try {
      return make();
    } finally {
      this.#depth--;
    }
  }

  /** True if a function that calls itself should not be nested once more. */
  get isDeep(): boolean {
    return this.#depth > deepestExpression / 2;
  }

  countInlined(node: Node): void {
    if (++this.#inlined > mostInlined) refuse(loopError.tooDeep(node));
  }

  /** Returns a local that holds the value of an expression, which is evaluated once and here. */
  hold(ir: LoopExpression): LoopExpression {
    if (ir.kind === "literal" || ir.kind === "index" || ir.kind === "input" || ir.kind === "length")
      return ir;
    const name = this.temporary();
    this.emit({ kind: "declare", name, type: ir.type, value: ir });
    return { kind: "local", type: ir.type, name };
  }

  /** Declares a local without a meaningful value. */
  newLocal(type: ValueType): Extract<LoopExpression, { kind: "local" }> {
    const name = this.temporary();
    this.emit({ kind: "declare", name, type, value: { kind: "literal", type, value: 0 } });
    return { kind: "local", type, name };
  }

  temporary(): string {
    return `$${this.#temporaries++}`;
  }

  label(name = "loop"): string {
    return `${name}$${this.#labels++}`;
  }

  /**
   * The path of calls to the current place, which tells repeated inlining of one function apart.
   */
  get path(): string {
    return this.calls.map(({ at }) => at).join("/");
  }

  lengthOf(array: AccessedArray): LoopExpression {
    return { kind: "length", type: "i32", array: array.name };
  }

  /** Returns the variable of a `var`, which the whole iteration has. */
  hoist(name: string, node: Node): Variable {
    const variable = this.variables.get(`var ${this.path}@${node.start}`, name, 1);
    this.hoisted.add(variable);
    return variable;
  }

  /**
   * Declares a local variable of the program. The facts about its value are joined from all
   * assignments. `part` tells several variables of one declaration apart.
   */
  declare(name: string, node: Node, part = ""): Variable {
    return this.variables.get(`${this.path}@${node.start}${part}`, name, this.repetitions.length);
  }
}
