import type { Diagnostic, Span } from "belay-gpu/internal/diagnostics/diagnostic";
import type { Node } from "oxc-parser";
import { loopError } from "../../diagnostics/loops.ts";
import type { BranchDirective } from "../directives/directive.ts";
import type { ParsedFile } from "../source/parse.ts";
import type { Binding, Scope, Scopes } from "../source/scopes.ts";
import type { SpeculatedLoop } from "../source/speculatedLoops.ts";
import type { ElementType, Expression, Reduction, Statement, ValueType } from "../tree/ir.ts";
import { Guards } from "./numbers/guards.ts";
import { Inputs } from "./numbers/inputs.ts";
import type { Linear } from "./numbers/linear.ts";
import { between, type Interval, type Value } from "./numbers/values.ts";
import { LoopRefusal, refuse } from "./refusal.ts";
import type { Variable, Variables } from "./variables.ts";

/** An array that the loop accesses, and every index that it does so with. */
export interface AccessedArray {
  readonly name: string;
  readonly element: ElementType;
  readonly accesses: Access[];
}

export interface Access {
  readonly kind: "load" | "store";
  readonly span: Span;
  /** The index is `slope * i` plus something in the interval; null when nothing is known. */
  readonly index: (Interval & { readonly slope: Linear }) | null;
}

/** What a name of the program stands for in the loop. */
export type Meaning =
  | { readonly kind: "value"; readonly value: Value }
  | { readonly kind: "variable"; readonly variable: Variable }
  | { readonly kind: "carried"; readonly variable: Variable }
  | { readonly kind: "reduction"; readonly operator: Reduction["operator"]; readonly variable: Variable }
  | { readonly kind: "array"; readonly array: AccessedArray };

/** A loop or a switch around the current statement that `break` and `continue` may name. */
export interface JumpTarget {
  readonly label: string | undefined;
  /** The statements that jump there. */
  readonly leave: () => Statement;
  readonly goOn: (() => Statement) | undefined;
}

/** What `return` does in the function that is being inlined. */
export interface Returning {
  /** Where its value goes. */
  readonly variable: Variable | undefined;
  /** The loop that a return jumps out of. */
  readonly label: string;
  jumped: boolean;
  /** Whether nothing comes after the current statement, so that nothing has to be jumped over. */
  isLast: boolean;
}

/** A loop inside the speculated one: how often its body runs at most. */
export interface Repetition {
  readonly trips: Linear;
}

/** More than this many inlined calls make a kernel too large for a driver. */
const mostInlined = 200;
const deepestExpression = 100;

/**
 * The translation of one loop, in the middle of its work: what is known so far, and the statements
 * made so far. The body is translated again and again until what is known about its variables does
 * not change any more.
 */
export class Lowering {
  readonly file: ParsedFile;
  readonly scopes: Scopes;
  readonly loop: SpeculatedLoop;
  readonly variables: Variables;
  readonly guards = new Guards();
  readonly diagnostics: Diagnostic[] = [];
  readonly warnings = new Map<string, Diagnostic>();
  readonly arrays = new Map<string, AccessedArray>();
  readonly inputs = new Inputs();
  /** Variables from outside that the loop changes, by their names there. */
  readonly written = new Map<string, Variable>();
  readonly meanings = new Map<Binding, Meaning>();
  /** Variables whose declaration was refused: what uses them need not be told. */
  readonly refused = new Set<Binding>();
  readonly jumpTargets: JumpTarget[] = [];
  readonly repetitions: Repetition[] = [];
  /** Labels of the loops around the current place, which their tests leave. */
  readonly leaving: string[] = [];
  /** What the names imported from Belay are called there. */
  readonly directiveNames: ReadonlyMap<string, string>;
  /** Which iteration's values the index has. */
  index: Interval = between(0, 0);
  scope: Scope;
  block: Statement[] = [];
  /** Variables that have a value at the current place. */
  assigned = new Set<Variable>();
  returns: Returning | undefined;
  /** How many branches are around the current place. */
  branches = 0;
  /** Integers from outside that the loop computes with, by their code. */
  readonly hostIntegers = new Set<string>();
  /** Whether something tells −0 from 0 that an integer may be. */
  observesZeros = false;
  readonly usedDirectives = new Set<BranchDirective>();
  /** The calls that are being inlined, outermost first. */
  readonly calls: { readonly callee: Node; readonly at: number }[] = [];
  #temporaries = 0;
  #labels = 0;
  #inlined = 0;
  #depth = 0;

  constructor(
    file: ParsedFile,
    scopes: Scopes,
    loop: SpeculatedLoop,
    directiveNames: ReadonlyMap<string, string>,
    variables: Variables,
  ) {
    this.file = file;
    this.scopes = scopes;
    this.loop = loop;
    this.scope = loop.scope;
    this.directiveNames = directiveNames;
    this.variables = variables;
  }

  /** Makes a part of the translation; false when it is refused, for a reason that is kept. */
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

  /** Tells of something that is translated all the same, once for each place. */
  warn(warning: Diagnostic): void {
    this.warnings.set(`${warning.code} ${warning.span.start} ${warning.span.end}`, warning);
  }

  emit(statement: Statement): void {
    if (statement.kind === "declare" || statement.kind === "assign" || statement.kind === "assignCarried") {
      this.variables.define(statement.name, statement.value);
    }
    this.block.push(statement);
  }

  /** The statements that `make` emits, in a list of their own. */
  collect(make: () => void): Statement[] {
    const outer = this.block;
    const inner: Statement[] = [];
    this.block = inner;
    try {
      make();
    } finally {
      this.block = outer;
    }
    return inner;
  }

  /** Runs `make` in the scope of a node, if it makes one. */
  within<Result>(node: Node, make: () => Result): Result {
    const outer = this.scope;
    this.scope = this.scopes.get(node) ?? outer;
    try {
      return make();
    } finally {
      this.scope = outer;
    }
  }

  /** Guards against nesting that would overflow a stack, here or in a compiler behind. */
  nested<Result>(node: Node, make: () => Result): Result {
    if (this.#depth >= deepestExpression) refuse(loopError.tooDeep(node));
    this.#depth++;
    try {
      return make();
    } finally {
      this.#depth--;
    }
  }

  countInlined(node: Node): void {
    if (++this.#inlined > mostInlined) refuse(loopError.tooDeep(node));
  }

  /** A local that holds the value of an expression, so that it is evaluated once and here. */
  hold(ir: Expression): Expression {
    if (ir.kind === "literal" || ir.kind === "index" || ir.kind === "input" || ir.kind === "length")
      return ir;
    const name = this.temporary();
    this.emit({ kind: "declare", name, type: ir.type, value: ir });
    return { kind: "local", type: ir.type, name };
  }

  /** A new local, which has no value that matters yet. */
  newLocal(type: ValueType): Extract<Expression, { kind: "local" }> {
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

  /** The path of calls to the current place: distinguishes what is inlined several times. */
  get path(): string {
    return this.calls.map(({ at }) => at).join("/");
  }

  lengthOf(array: AccessedArray): Expression {
    return { kind: "length", type: "i32", array: array.name };
  }

  /**
   * Declares a local variable of the program; what it is known to hold is joined from all
   * assignments.
   */
  declare(name: string, node: Node): Variable {
    return this.variables.get(`${this.path}@${node.start}`, name, this.repetitions.length);
  }
}
