/**
 * Computes chosen values of an invocation twice, in the same lane, and compares them where they
 * leave the chosen computation.
 *
 * Before:   let a = x[id.x];
 *           let b = a * a;
 *           y[id.x] = b;
 * After:    let a = x[id.x];
 *           let a_2 = opaque(a);
 *           let b = a * a;
 *           let b_2 = a_2 * a_2;
 *           check(b, b_2);
 *           y[id.x] = b;
 *           at the end of the entry point:
 *             if (differs != 0) { record(site); }
 *
 * A variable whose values are chosen has a second one beside it. A variable that second values are
 * computed from has a copy. No compiler knows that the copy is equal (`opaque`), so that it
 * computes twice. Second values go on from one chosen variable to the next without a comparison.
 * They are compared where a chosen variable decides a store, a branch, a call, or a value that is
 * not chosen. A value that is in no variable, such as an index or a condition, chooses the
 * variables in it.
 *
 * Functions that change nothing outside of them are called twice. Results of atomic and subgroup
 * operations are copied.
 *
 * Requires: access normal form, declareReport, and loops without chosen variables in their headers.
 * Ensures:  a valid module.
 * Order:    after injectFaults, before replicateInvocations.
 * Source:   selective instruction duplication with shadow values; Feng et al., "Shoestring:
 *           probabilistic soft error reliability on the cheap", 2010.
 */
import { reachableFrom } from "../../analysis/callGraph.ts";
import { builtinFunction, isMemoryOperation, isTextureStore } from "../../analysis/effects.ts";
import { rootIdentifier } from "../../analysis/places.ts";
import type { Span } from "../../diagnostics/diagnostic.ts";
import type {
  Block,
  CallExpression,
  Expression,
  FunctionDeclaration,
  LetStatement,
  Module,
  Parameter,
  Statement,
  VarStatement,
} from "../../wgsl/ast.ts";
import { printExpression, printType } from "../../wgsl/printer.ts";
import type { Program } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import { type AnyNode, isExpression, mapExpression, mapStatements, walk } from "../../wgsl/traverse.ts";
import { isSpellable, typeExpressionOf } from "../../wgsl/typeNames.ts";
import type { Type } from "../../wgsl/types.ts";
import { hiddenZero } from "../shared/diversity.ts";
import { wrapEntryPoint } from "../shared/entryPointWrapper.ts";
import { withDeclarations } from "../shared/mapFunctions.ts";
import type { Names } from "../shared/names.ts";
import type { Comparison } from "./comparison/comparison.ts";
import type { CheckSites } from "./reportBuffer.ts";

/** The values to compute twice. */
export interface DuplicateValuesOptions {
  /** The places of the values in the source. */
  readonly chosen: readonly Span[];
  /** The functions that run protected. */
  readonly functions: ReadonlySet<FunctionDeclaration>;
  /** The names of the entry points among `functions`. */
  readonly entryPoints: ReadonlySet<string>;
  readonly comparison: Comparison;
  readonly sites: CheckSites;
  /** Receives the places among `chosen` that are computed twice wherever they are executed. */
  readonly twice: Set<Span>;
}

/** Returns the module that computes the chosen values twice. */
export function duplicateValues(program: Program, names: Names, options: DuplicateValuesOptions): Module {
  const { functions, entryPoints, comparison, sites } = options;
  const values = new DuplicatedValues(program, names, options);
  const declarations = program.module.declarations.flatMap((declaration) => {
    if (declaration.kind !== "function" || !functions.has(declaration)) return [declaration];
    const fn = { ...declaration, body: values.body(declaration) };
    if (!entryPoints.has(fn.name)) return [fn];
    const site = sites.addSignature(declaration);
    const { statements } = quote(fn.nameSpan);
    const differs = names.the("differs");
    return wrapEntryPoint(program, names, fn, {
      inputs: new Map([
        ["workgroup_id", "vec3<u32>"],
        ["num_workgroups", "vec3<u32>"],
      ]),
      derived: {},
      before: statements`${names.the("hidden")} = ${hiddenZero(names)};`,
      after: statements`
        if (${differs} != 0u) { ${names.the("record")}(${`${site}u`}, 1u, 0u, vec4<u32>(${differs}, 0u, 0u, 0u)); }`,
      attributes: fn.attributes,
    });
  });
  values.tell();
  const { declarations: quoted } = quote();
  return withDeclarations({ ...program.module, declarations }, [
    ...quoted`var<private> ${names.the("differs")}: u32; var<private> ${names.the("hidden")}: u32;`,
    ...values.takeDeclarations(),
    ...comparison.takeDeclarations(),
  ]);
}

/** A variable or a parameter of a function. */
type Local = LetStatement | VarStatement | Parameter;

/** A statement that gives a variable a value. */
type Definition = Extract<Statement, { readonly kind: "let" | "var" | "assign" | "increment" }>;

/** The variables of one function that have second values. */
interface SecondValues {
  /** The variables whose values are computed twice. */
  readonly chosen: ReadonlySet<Local>;
  /** The names of second variables, also of copies. */
  readonly names: ReadonlyMap<Local, string>;
}

class DuplicatedValues {
  readonly #program: Program;
  readonly #names: Names;
  readonly #options: DuplicateValuesOptions;
  readonly #callees: ReadonlyMap<string, FunctionDeclaration>;
  /** The functions that change nothing outside of them. */
  readonly #pure = new Map<FunctionDeclaration, boolean>();
  /** The chosen places in code that is executed twice, and in code that is executed once. */
  readonly #twice = new Set<Span>();
  readonly #once = new Set<Span>();
  /** The WGSL of generated functions, by their names. */
  readonly #generated = new Map<string, string>();

  constructor(program: Program, names: Names, options: DuplicateValuesOptions) {
    this.#program = program;
    this.#names = names;
    this.#options = options;
    this.#callees = new Map(
      program.module.declarations.flatMap((each) => (each.kind === "function" ? [[each.name, each]] : [])),
    );
    // Callees come first, because call chains may be longer than the call stack.
    for (const fn of reachableFrom(program, this.#callees.values())) this.#isPure(fn);
  }

  /** Returns the declarations of the generated functions. */
  takeDeclarations() {
    return quote().declarations`${[...this.#generated.values()].join("\n")}`;
  }

  /** Adds the places that are computed twice to those of the options. */
  tell(): void {
    for (const each of this.#twice) if (!this.#once.has(each)) this.#options.twice.add(each);
  }

  /** Returns the body of a function with second values. */
  body(fn: FunctionDeclaration): Block {
    // A function that is called twice computes nothing twice itself.
    if (!this.#options.entryPoints.has(fn.name) && this.#isPure(fn)) return fn.body;
    const second = this.#secondValuesOf(fn);
    const body = mapStatements(fn.body, (statement) => this.#rewritten(statement, second));
    const copies = fn.parameters.flatMap((each) => this.#copied(each, second));
    return { ...body, statements: [...copies, ...body.statements] };
  }

  /** Finds the chosen variables of a function, and those that their second values need. */
  #secondValuesOf(fn: FunctionDeclaration): SecondValues {
    const definitions = new Map<Local, Definition[]>();
    const pointedTo = new Set<unknown>();
    walk(fn.body, (node) => {
      if (node.kind === "unary" && node.operator === "&") pointedTo.add(this.#localAt(node.operand));
      const local = this.#definedBy(node);
      if (local) definitions.set(local, [...(definitions.get(local) ?? []), node as Definition]);
    });
    const mayHave = (local: Local) =>
      !pointedTo.has(local) && isComparable(this.#program.declaredTypeOf(local));
    const chosen = new Set<Local>();
    for (const [local, all] of definitions) if (mayHave(local) && all.some(this.#isChosen)) chosen.add(local);
    // A value that is no variable's is compared by the variables that decide it.
    walk(fn.body, (node) => {
      for (const operand of this.#operandsOf(node).filter(this.#isChosen))
        for (const local of this.#localsIn(operand)) if (mayHave(local)) chosen.add(local);
    });
    const needed = new Set(chosen);
    for (const local of chosen)
      for (const each of (definitions.get(local) ?? []).flatMap((definition) => this.#localsIn(definition)))
        if (mayHave(each)) needed.add(each);
    return {
      chosen,
      names: new Map([...needed].map((local) => [local, this.#names.fresh(`${local.name}_second`)])),
    };
  }

  /** Returns the variable of the function to which a statement gives a value. */
  #definedBy(node: AnyNode): Local | undefined {
    if (node.kind === "let" || node.kind === "var") return node;
    if (node.kind !== "assign" && node.kind !== "increment") return undefined;
    return node.target ? this.#localAt(node.target) : undefined;
  }

  /** Returns the variable or parameter at the root of a place. */
  #localAt(place: Expression): Local | undefined {
    const root = rootIdentifier(place);
    const target = root && this.#program.targetOf(root);
    return target?.kind === "let" || target?.kind === "var" || target?.kind === "parameter"
      ? target
      : undefined;
  }

  #localsIn(node: AnyNode): Local[] {
    const found: Local[] = [];
    walk(node, (each) => {
      const local = each.kind === "identifier" ? this.#localAt(each) : undefined;
      if (local) found.push(local);
    });
    return found;
  }

  /** Returns the expressions of a statement that give no variable of the function a value. */
  #operandsOf(node: AnyNode): Expression[] {
    switch (node.kind) {
      case "assign":
      case "increment": {
        if (node.target && this.#localAt(node.target)) return [];
        return [
          ...(node.target ? indicesOf(node.target) : []),
          ...(node.kind === "assign" ? [node.value] : []),
        ];
      }
      case "callStatement":
        return [...node.call.args];
      case "return":
        return node.value ? [node.value] : [];
      case "if":
      case "while":
        return [node.condition];
      case "switch":
        return [node.selector];
      case "loop":
        return node.breakIf ? [node.breakIf] : [];
      default:
        return [];
    }
  }

  /** Returns true if a piece of code has a chosen value, or calls a function with one. */
  #isChosen = (node: AnyNode): boolean => this.#chosenIn(node).length > 0;

  /** Returns the chosen places in a piece of code, and in functions that it may call twice. */
  #chosenIn(code: AnyNode): Span[] {
    const areas: Span[] = isExpression(code) ? [] : [code.span];
    walk(code, (node) => {
      const callee = node.kind === "call" ? this.#callees.get(node.callee.name) : undefined;
      if (callee && this.#isPure(callee))
        for (const { span } of reachableFrom(this.#program, [callee])) areas.push(span);
      // Statements that passes have made need not span their expressions.
      if (isExpression(node) && !this.#isAdded(node)) areas.push(node.span);
    });
    return this.#options.chosen.filter(({ start, end }) =>
      areas.some((area) => area.start <= start && end <= area.end),
    );
  }

  /** Returns true for an expression that passes have added, which spans a whole statement. */
  #isAdded(node: Expression): boolean {
    if (node.kind === "unary") return this.#isAdded(node.operand);
    if (node.kind === "call") return this.#names.isGenerated(node.callee.name);
    return node.kind === "literal" || (node.kind === "identifier" && this.#names.isGenerated(node.name));
  }

  /** Records that a piece of code is executed twice, or once. */
  #note(node: AnyNode, isTwice: boolean): void {
    for (const each of this.#chosenIn(node)) (isTwice ? this.#twice : this.#once).add(each);
  }

  /** Returns true for a function that may be called twice. */
  #isPure(fn: FunctionDeclaration): boolean {
    const known = this.#pure.get(fn);
    if (known !== undefined) return known;
    let isPure = fn.parameters.every((each) => this.#program.declaredTypeOf(each).kind !== "pointer");
    walk(fn.body, (node) => {
      const isStore = (node.kind === "assign" || node.kind === "increment") && node.target !== null;
      if (isStore && !this.#localAt(node.target!)) isPure = false;
      if (node.kind === "callStatement" || (node.kind === "call" && !this.#mayRepeat(node))) isPure = false;
    });
    this.#pure.set(fn, isPure);
    return isPure;
  }

  /** Returns true for a call that may be executed twice. */
  #mayRepeat(call: CallExpression): boolean {
    const builtin = builtinFunction(this.#program, call);
    if (builtin !== undefined)
      return (
        !isMemoryOperation(this.#program, call) &&
        !isTextureStore(this.#program, call) &&
        !/^(subgroup|quad|workgroup|storage|texture.*Barrier)/.test(builtin)
      );
    const callee = this.#callees.get(call.callee.name);
    // Generated functions strike values, which is no change of the program.
    return !callee || this.#names.isGenerated(callee.name) || this.#isPure(callee);
  }

  /** Returns true for an expression that may be evaluated twice. */
  #isRepeatable(expression: Expression): boolean {
    let isRepeatable = true;
    walk(expression, (node) => {
      if (node.kind === "call" && !this.#mayRepeat(node)) isRepeatable = false;
    });
    return isRepeatable;
  }

  #rewritten(s: Statement, second: SecondValues): Statement | Statement[] {
    switch (s.kind) {
      case "let":
      case "var":
        return this.#declared(s, second);
      case "assign":
      case "increment":
        return this.#assigned(s, second);
      case "callStatement":
        for (const argument of s.call.args) this.#noteCompared(argument, second);
        return [...this.#checks(s.call, second), s];
      case "return":
        if (s.value) this.#noteCompared(s.value, second);
        return s.value ? [...this.#checks(s.value, second), s] : s;
      case "if":
      case "while":
        return { ...s, condition: this.#guarded(s.condition, second) };
      case "switch":
        return { ...s, selector: this.#guarded(s.selector, second) };
      case "loop":
        return { ...s, breakIf: s.breakIf && this.#guarded(s.breakIf, second) };
      default:
        return s;
    }
  }

  #declared(s: LetStatement | VarStatement, second: SecondValues): Statement[] {
    const { initializer } = s;
    const name = second.names.get(s);
    const isTwice = second.chosen.has(s) && (!initializer || this.#isRepeatable(initializer));
    this.#note(s, isTwice);
    const checks = initializer && !isTwice ? this.#checks(initializer, second) : [];
    if (!name) return [...checks, s];
    if (!isTwice) return [...checks, s, ...this.#copied(s, second)];
    const { statements } = quote(s.span);
    const type = this.#typeOf(s);
    const opaque = this.#opaque(this.#program.declaredTypeOf(s));
    if (!initializer) return [s, ...statements`var ${name}: ${type} = ${opaque}(${s.name});`];
    const twice = this.#secondOf(initializer, second);
    // Otherwise a compiler would know that both are equal.
    const isKnown = !this.#localsIn(initializer).some((local) => second.names.has(local));
    return isKnown
      ? [s, ...statements`${s.kind} ${name}: ${type} = ${opaque}(${twice});`]
      : [s, ...statements`${s.kind} ${name}: ${type} = ${twice};`];
  }

  /** Returns the statement that declares the copy of a variable, if the variable has one. */
  #copied(local: Local, second: SecondValues): Statement[] {
    const name = second.names.get(local);
    if (!name) return [];
    const { statements } = quote(local.span);
    const kind = local.kind === "var" ? "var" : "let";
    const copy = `${this.#opaque(this.#program.declaredTypeOf(local))}(${local.name})`;
    return statements`${kind} ${name}: ${this.#typeOf(local)} = ${copy};`;
  }

  #assigned(s: Extract<Definition, { readonly kind: "assign" | "increment" }>, second: SecondValues) {
    const { target } = s;
    const value = s.kind === "assign" ? s.value : undefined;
    const local = target && this.#localAt(target);
    const name = local && second.names.get(local);
    const isTwice = local && second.chosen.has(local) && (!value || this.#isRepeatable(value));
    if (local) this.#note(s, isTwice === true);
    if (name && isTwice) {
      const place = this.#secondOf(target!, second);
      const twice = s.kind === "assign" ? { ...s, value: this.#secondOf(s.value, second) } : s;
      return [s, { ...twice, target: place } as Statement];
    }
    const parts = [...(target ? indicesOf(target) : []), ...(value ? [value] : [])];
    if (!local) for (const part of parts) this.#noteCompared(part, second);
    const checks = parts.flatMap((part) => this.#checks(part, second));
    if (!name) return [...checks, s];
    const opaque = this.#opaque(this.#program.declaredTypeOf(local));
    return [...checks, s, ...quote(s.span).statements`${name} = ${opaque}(${local.name});`];
  }

  /** Records a value that is a chosen variable, which is compared, or else executed once. */
  #noteCompared(value: Expression, second: SecondValues): void {
    const isPlace = value.kind === "identifier" || value.kind === "memberAccess" || value.kind === "index";
    const local = isPlace ? this.#localAt(value) : undefined;
    this.#note(value, local !== undefined && second.chosen.has(local));
  }

  /** Returns statements that compare the chosen variables in an expression with second values. */
  #checks(expression: Expression, second: SecondValues): Statement[] {
    const checks = new Map<string, Statement[]>();
    const visit = (node: AnyNode) => {
      if (!isExpression(node)) return;
      const local = this.#localAt(node);
      const isPlace = node.kind === "identifier" || node.kind === "memberAccess" || node.kind === "index";
      if (!local || !isPlace) return;
      for (const index of indicesOf(node)) walk(index, visit);
      const type = this.#program.valueTypeOf(node);
      if (second.chosen.has(local) && isComparable(type)) {
        const check = this.#same(type);
        const twice = this.#secondOf(node, second);
        const { statements } = quote(node.span);
        checks.set(printExpression(node), statements`_ = ${check}(${structuredClone(node)}, ${twice});`);
      }
      return false;
    };
    walk(expression, visit);
    return [...checks.values()].flat();
  }

  /** Returns a value that decides control flow, compared with its second value. */
  #guarded(value: Expression, second: SecondValues): Expression {
    const isChosen = this.#localsIn(value).some((local) => second.chosen.has(local));
    const isTwice = isChosen && this.#isRepeatable(value);
    this.#note(value, isTwice);
    if (!isTwice) return value;
    const same = this.#same(this.#program.valueTypeOf(value));
    return quote(value.span).expression`${same}(${value}, ${this.#secondOf(value, second)})`;
  }

  /** Returns an expression of second values. */
  #secondOf(expression: Expression, { names }: SecondValues): Expression {
    return structuredClone(
      mapExpression(expression, (each) => {
        const local = each.kind === "identifier" ? this.#localAt(each) : undefined;
        const name = local && names.get(local);
        return name ? ({ ...each, name } as Expression) : each;
      }),
    );
  }

  #typeOf = (local: Local) => printType(typeExpressionOf(this.#program.declaredTypeOf(local)));

  /** Returns the function that returns its argument, which no compiler knows. */
  #opaque(type: Type): string {
    return this.#generate("opaque", type, (name, text) => {
      const hidden = this.#names.the("hidden");
      return `fn ${name}(value: ${text}) -> ${text} { if (${hidden} != 0u) { return ${text}(); } return value; }`;
    });
  }

  /** Returns the function that returns the first of two values, and notes a difference. */
  #same(type: Type): string {
    return this.#generate("same", type, (name, text) => {
      const { comparison } = this.#options;
      const [a, b] = ["a", "b"].map((each) => comparison.wordsOf(each, type));
      const words = (of: typeof a) => printExpression(of!.expression);
      const parts = ["x", "y", "z", "w"].slice(0, a!.count).map((part) => `difference.${part}`);
      const difference = a!.count === 1 ? "difference" : parts.join(" | ");
      return `fn ${name}(a: ${text}, b: ${text}) -> ${text} {
        let difference = ${words(a)} ^ ${words(b)};
        ${this.#names.the("differs")} |= ${difference};
        return a;
      }`;
    });
  }

  #generate(stem: string, type: Type, write: (name: string, type: string) => string): string {
    const text = printType(typeExpressionOf(type));
    const name = `${this.#names.the(stem)}_${text.replace(/[^\w]+/g, "_").replace(/_$/, "")}`;
    if (!this.#generated.has(name)) this.#generated.set(name, write(name, text));
    return name;
  }
}

/** Returns the indices of a place that are no literals. */
function indicesOf(place: Expression): Expression[] {
  if (place.kind === "index") return [...indicesOf(place.base), place.index];
  return place.kind === "memberAccess" ? indicesOf(place.base) : [];
}

/** Returns true for a type whose values can be copied and compared word by word. */
function isComparable(type: Type): boolean {
  switch (type.kind) {
    case "scalar":
    case "vector":
    case "matrix":
      return isSpellable(type);
    case "array":
      return typeof type.count === "number" && isSpellable(type) && isComparable(type.element);
    case "struct":
      return isSpellable(type) && type.members.every((member) => isComparable(member.type));
    default:
      return false;
  }
}
