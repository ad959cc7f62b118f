/**
 * Rewrites the accesses to coded buffers as accesses to granules of words.
 *
 * Before:  @group(0) @binding(0) var<storage> a: array<f32>;    x = a[i];   b[i] = v;
 * After:   @group(0) @binding(0) var<storage> granules_a: array<vec4<u32>>;
 *          fn load_1(i: u32) -> f32 { let at = min(i, length - 1); ... bitcast<f32>(word) }
 *          x = load_1(i);   store_1(i, v);
 *
 * An access becomes a call where it stands, of one function for each shape of place. Indices are clamped to the arrays that
 * the program has, whose lengths follow from the size that the program has bound: what is out of bounds there never
 * reaches padding, another buffer or a wrong check word.
 *
 * Requires: access normal form, declareReport.   Ensures: valid module.
 * Order:    last: redundancy sees the program's own accesses.
 */
import { builtinFunction } from "../../analysis/effects.ts";
import { addressSpaceOf, placeOf, rootVariable } from "../../analysis/places.ts";
import type {
  Declaration,
  Expression,
  FunctionDeclaration,
  GlobalVariable,
  Statement,
} from "../../wgsl/ast.ts";
import { sizeOf, strideOf } from "../../wgsl/layout.ts";
import type { Program } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import { type AnyNode, isExpression, mapChildren } from "../../wgsl/traverse.ts";
import type { ArrayType, Type } from "../../wgsl/types.ts";
import type { Names } from "../names.ts";
import { type Address, indexed, moved } from "./address.ts";
import { typedSteps } from "./coverage.ts";
import type { ArenaAccess, CheckedVariable, Granules } from "./granules.ts";
import { ValueWriter } from "./valueWriter.ts";
import { type GranuleCode, typeText, ValueReader } from "./wordValues.ts";

/** What a kernel does about its buffers. */
export interface CheckedKernel {
  readonly arena: ArenaAccess;
  /** By the names of the variables. */
  readonly checked: ReadonlyMap<string, CheckedVariable>;
  /** The expressions whose values WGSL demands to be uniform. */
  readonly uniform: ReadonlySet<Expression>;
}

/** A place as a function computes it: its parameters' values, and what is known of it. */
interface OpenPlace {
  readonly variable: GlobalVariable;
  readonly type: Type;
  readonly address: Address;
  readonly indices: readonly Expression[];
  /** What clamps the indices. */
  readonly statements: readonly string[];
}

export class WordBuffers {
  readonly #program: Program;
  readonly #names: Names;
  readonly #granules: Granules;
  /** The functions made, and their names, by their text behind the name. */
  readonly #functions = new Map<string, { readonly name: string; readonly declarations: Declaration[] }>();
  #kernel: CheckedKernel = { arena: "read", checked: new Map(), uniform: new Set() };

  constructor(program: Program, names: Names, granules: Granules) {
    this.#program = program;
    this.#names = names;
    this.#granules = granules;
  }

  get declarations(): Declaration[] {
    return [...this.#functions.values()].flatMap(({ declarations }) => declarations);
  }

  function(fn: FunctionDeclaration, kernel: CheckedKernel): FunctionDeclaration {
    this.#kernel = kernel;
    return { ...fn, body: mapChildren(fn.body, (node) => this.#node(node, false)) };
  }

  #node(node: AnyNode, isUniform: boolean): AnyNode | Statement[] {
    if (isExpression(node)) return this.#value(node, isUniform);
    if (node.kind === "assign" && node.target && this.#checked(node.target))
      return this.#store(node.target, node.value);
    return mapChildren(node, (child) => this.#node(child, false));
  }

  #value(expression: Expression, inUniform: boolean): Expression {
    const isUniform = inUniform || this.#kernel.uniform.has(expression);
    const checked = this.#checked(expression);
    if (checked) {
      if (this.#program.typeOf(expression).kind === "reference") return this.#load(expression, isUniform);
      // What is left of pointers keeps a binding in use.
      if (expression.kind === "unary" && expression.operator === "&")
        return quote(expression.span).expression`&${this.#words(checked)}`;
    }
    if (expression.kind === "call" && builtinFunction(this.#program, expression) === "arrayLength") {
      const [pointer] = expression.args;
      if (pointer?.kind === "unary" && this.#checked(pointer)) return this.#length(pointer.operand);
    }
    return mapChildren(expression, (node) => this.#node(node, isUniform)) as Expression;
  }

  #load(expression: Expression, isUniform: boolean): Expression {
    const place = this.#open(expression);
    const code = this.#codeOf(place.variable, isUniform);
    const reader = new ValueReader(code);
    const value = reader.value(place.type, place.address);
    const body = [...place.statements, ...reader.statements, `return ${value};`];
    const name = this.#function("load", `(${this.#parameters(place)}) -> ${typeText(place.type)}`, body);
    const args = place.indices.map(
      (index) => quote(index.span).expression`u32(${this.#value(index, isUniform)})`,
    );
    return quote(expression.span).expression`${name}(${args})`;
  }

  /** The operands are stable, so nothing is loaded in them. */
  #store(target: Expression, value: Expression): Statement[] {
    const place = this.#open(target);
    const writer = new ValueWriter(this.#codeOf(place.variable, false), place.address.terms);
    const stored = this.#names.the("value");
    writer.put(place.type, place.address.at, stored);
    const body = [...place.statements, ...writer.finish()];
    const name = this.#function(
      "store",
      `(${this.#parameters(place, `${stored}: ${typeText(place.type)}`)})`,
      body,
    );
    const args = place.indices.map((index) => quote(index.span).expression`u32(${index})`);
    return quote(target.span).statements`${name}(${[...args, value]});`;
  }

  /** The length of a runtime-sized array, which follows from the size of the binding. */
  #length(array: Expression): Expression {
    const place = placeOf(this.#program, array);
    if (place?.type.kind !== "array") throw new Error("only an array has a length");
    const { address } = this.#open(array);
    const checked = this.#checked(array)!;
    const body = [
      `_ = &${this.#words(checked)};`,
      `return ${this.#lengthOf(checked, address.at, place.type)};`,
    ];
    return quote(array.span).expression`${this.#function("length", "() -> u32", body)}()`;
  }

  #lengthOf(checked: CheckedVariable, at: number, type: ArrayType): string {
    const bytes = this.#granules.bytesOf(checked);
    return `${at === 0 ? bytes : `(${bytes} - ${at}u)`} / ${strideOf(type)}u`;
  }

  #open(expression: Expression): OpenPlace {
    const place = placeOf(this.#program, expression);
    const checked = this.#checked(expression);
    if (!place || !checked) throw new Error("accesses to coded buffers are places");
    let address: Address = { terms: [], at: 0 };
    const indices: Expression[] = [];
    const statements: string[] = [];
    for (const { of, step, known } of typedSteps(this.#program, place)) {
      if (step.kind === "member") address = moved(address, step.offset);
      else if (known !== undefined) address = moved(address, known * step.stride);
      else {
        const name = this.#names.the(`at_${statements.length + 1}`);
        const index = this.#names.the(`index_${indices.push(step.index)}`);
        statements.push(`let ${name} = min(${index}, ${this.#lastOf(checked, of, address.at)});`);
        address = indexed(address, name, step.stride);
      }
    }
    return { variable: place.variable, type: place.type, address, indices, statements };
  }

  /** The last index of a type's elements, as WGSL. */
  #lastOf(checked: CheckedVariable, type: Type, at: number): string {
    if (type.kind === "vector") return `${type.size - 1}u`;
    if (type.kind === "matrix") return `${type.columns - 1}u`;
    if (type.kind !== "array") throw new Error(`a ${type.kind} has no elements`);
    return type.count === "runtime"
      ? `${this.#lengthOf(checked, at, type)} - 1u`
      : `${Number(type.count) - 1}u`;
  }

  #codeOf(variable: GlobalVariable, isUniform: boolean): GranuleCode {
    const checked = this.#kernel.checked.get(variable.name)!;
    const { arena } = this.#kernel;
    const words = this.#words(checked);
    const inUniformBuffer = addressSpaceOf(variable) === "uniform";
    // What only depends on memory that nobody stores to is uniform as it is.
    const keepsUniform = isUniform && arena !== "read";
    let names = 0;
    return {
      granuleBytes: checked.scheme.granuleBytes,
      load: (granule) =>
        `${this.#granules.load(checked, words, arena, inUniformBuffer, keepsUniform)}(${granule})`,
      store: (granule, data) => `${this.#granules.store(checked, words, arena)}(${granule}, ${data});`,
      fresh: (base) => this.#names.the(`${base}_${++names}`),
    };
  }

  #words({ name, scheme }: CheckedVariable): string {
    const variable = this.#program.module.declarations.find(
      (declaration) => declaration.kind === "globalVariable" && declaration.name === name,
    ) as GlobalVariable;
    return this.#granules.words(variable, scheme, sizeOf(this.#program.declaredTypeOf(variable)));
  }

  /** What is known of the coded variable at the root of a place or of a pointer to it. */
  #checked(expression: Expression): CheckedVariable | undefined {
    const root = rootVariable(this.#program, expression);
    return root && this.#kernel.checked.get(root.variable.name);
  }

  #parameters({ indices }: OpenPlace, ...others: readonly string[]): string {
    return [...indices.map((_, i) => `${this.#names.the(`index_${i + 1}`)}: u32`), ...others].join(", ");
  }

  #function(base: string, signature: string, body: readonly string[]): string {
    const text = `${signature} { ${body.join(" ")} }`;
    const known = this.#functions.get(text);
    if (known) return known.name;
    const name = this.#names.fresh(base);
    this.#functions.set(text, { name, declarations: quote().declarations`fn ${name}${text}` });
    return name;
  }
}
