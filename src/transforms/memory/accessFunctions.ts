/** The functions that load and store values of coded buffers: one for each shape of place. */
import { addressSpaceOf, placeOf, rootVariable } from "../../analysis/places.ts";
import type { Declaration, Expression, GlobalVariable } from "../../wgsl/ast.ts";
import { sizeOf, strideOf } from "../../wgsl/layout.ts";
import type { Program } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import type { ArrayType, Type } from "../../wgsl/types.ts";
import type { Names } from "../names.ts";
import { type Address, indexed, inUnits, moved } from "./address.ts";
import { typedSteps } from "./coverage.ts";
import {
  type ArenaAccess,
  type CheckedVariable,
  type Granules,
  type GranuleWords,
  type LoadKind,
  unitOf,
} from "./granules.ts";
import { wordsType } from "./lines.ts";
import { type PatternsOf, sideBySide } from "./sideBySide.ts";
import { ValueWriter } from "./valueWriter.ts";
import { type GranuleCode, typeText, ValueReader } from "./wordValues.ts";

/** What a kernel does about its buffers. */
export interface CheckedKernel {
  readonly arena: ArenaAccess;
  /** By the names of the variables. */
  readonly checked: ReadonlyMap<string, CheckedVariable>;
}

/** The granules of uniform buffers that a kernel loads once, and whether it also uses them as they are. */
export type UniformGranules = Map<string, { readonly load: string; isUsedAsIs: boolean }>;

/** The functions made, and their names, by their text behind the name. */
export type MadeFunctions = Map<string, { readonly name: string; readonly declarations: Declaration[] }>;

export interface AccessFunctionsOptions {
  readonly kernel: CheckedKernel;
  /** Those that the kernel needs are added. */
  readonly uniforms: UniformGranules;
  /** Functions made for one kernel serve others. */
  readonly made: MadeFunctions;
  readonly patternsOf: PatternsOf;
}

/** A function, and the indices of the place that are its arguments. */
interface AccessFunction {
  readonly name: string;
  readonly indices: readonly Expression[];
}

/** A place as a function computes it. */
interface OpenPlace {
  readonly variable: GlobalVariable;
  readonly type: Type;
  readonly address: Address;
  readonly indices: readonly Expression[];
  /** What clamps the indices. */
  readonly statements: readonly string[];
}

/** Granules of a uniform buffer that are loaded once; those behind them are loaded where they are used. */
const mostKeptGranules = 16;

export class AccessFunctions {
  readonly #program: Program;
  readonly #names: Names;
  readonly #granules: Granules;
  readonly #kernel: CheckedKernel;
  readonly #uniforms: UniformGranules;
  readonly #made: MadeFunctions;
  readonly #patternsOf: PatternsOf;

  constructor(
    program: Program,
    names: Names,
    granules: Granules,
    { kernel, uniforms, made, patternsOf }: AccessFunctionsOptions,
  ) {
    this.#program = program;
    this.#names = names;
    this.#granules = granules;
    this.#kernel = kernel;
    this.#uniforms = uniforms;
    this.#made = made;
    this.#patternsOf = patternsOf;
  }

  /** What is known of the coded variable at the root of a place or of a pointer to it. */
  checked(expression: Expression): CheckedVariable | undefined {
    const root = rootVariable(this.#program, expression);
    return root && this.#kernel.checked.get(root.variable.name);
  }

  /** The variable of granules. */
  words(checked: CheckedVariable): string {
    const { name } = checked;
    const variable = this.#program.module.declarations.find(
      (declaration) => declaration.kind === "globalVariable" && declaration.name === name,
    ) as GlobalVariable;
    return this.#granules.words(variable, checked, sizeOf(this.#program.declaredTypeOf(variable)));
  }

  /** Whether a place is in granules that the kernel has loaded at its start. */
  isKept(expression: Expression): boolean {
    const { variable, type, address } = this.#open(expression);
    const end = (address.at + sizeOf(type)) / unitOf(this.#kernel.checked.get(variable.name)!);
    return addressSpaceOf(variable) === "uniform" && address.terms.length === 0 && end <= mostKeptGranules;
  }

  load(expression: Expression, kind: LoadKind): AccessFunction {
    const place = this.#open(expression);
    const { scheme, pieceBytes } = this.checked(expression)!;
    const isTogether =
      pieceBytes !== undefined &&
      sideBySide(placeOf(this.#program, expression)!, scheme.granuleBytes, this.#patternsOf) === pieceBytes;
    const reader = new ValueReader(this.#codeOf(place, kind, isTogether));
    const value = reader.value(place.type, place.address);
    const body = [...place.statements, ...reader.statements, `return ${value};`];
    const name = this.#function("load", `(${this.#parameters(place)}) -> ${typeText(place.type)}`, body);
    return { name, indices: place.indices };
  }

  /** The value is the last argument. What is out of bounds is not stored. */
  store(target: Expression): AccessFunction {
    const place = this.#open(target, "dropped");
    const stored = this.#names.the("value");
    const body = [...place.statements, ...this.#storeStatements(place, this.checked(target)!, stored)];
    const parameters = this.#parameters(place, `${stored}: ${typeText(place.type)}`);
    return { name: this.#function("store", `(${parameters})`, body), indices: place.indices };
  }

  #storeStatements(place: OpenPlace, checked: CheckedVariable, value: string): readonly string[] {
    const { laneBytes } = checked;
    if (laneBytes) {
      const words = { name: this.words(checked), isUniform: false };
      const data = `bitcast<${wordsType(laneBytes)}>(${value})`;
      return [`${this.#granules.storeLane(checked, words)}(${inUnits(place.address, laneBytes)}, ${data});`];
    }
    const writer = new ValueWriter(this.#codeOf(place, "corrected"), place.address.terms);
    writer.put(place.type, place.address.at, value);
    return writer.finish();
  }

  /** The length of a runtime-sized array, which follows from the size of the binding. */
  length(array: Expression): string {
    const { type, address } = this.#open(array);
    const checked = this.checked(array)!;
    if (type.kind !== "array") throw new Error("only an array has a length");
    const body = [`_ = &${this.words(checked)};`, `return ${this.#lengthOf(checked, address.at, type)};`];
    return this.#function("length", "() -> u32", body);
  }

  #lengthOf(checked: CheckedVariable, at: number, type: ArrayType): string {
    const bytes = this.#granules.bytesOf(checked);
    return `${at === 0 ? bytes : `(${bytes} - ${at}u)`} / ${strideOf(type)}u`;
  }

  /** Indices out of bounds are clamped, or the function returns. */
  #open(expression: Expression, outOfBounds: "clamped" | "dropped" = "clamped"): OpenPlace {
    const place = placeOf(this.#program, expression);
    const checked = this.checked(expression);
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
        const last = this.#lastOf(checked, of, address.at);
        if (outOfBounds === "clamped") statements.push(`let ${name} = min(${index}, ${last});`);
        else statements.push(`if (${index} > ${last}) { return; }`);
        address = indexed(address, outOfBounds === "clamped" ? name : index, step.stride);
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

  #codeOf({ variable }: OpenPlace, kind: LoadKind, together = false): GranuleCode {
    const checked = this.#kernel.checked.get(variable.name)!;
    const { arena } = this.#kernel;
    const isUniform = addressSpaceOf(variable) === "uniform";
    const words = { name: this.words(checked), isUniform };
    // What depends only on memory that nobody stores to is uniform when it is corrected, too.
    const own = kind === "uniform" && arena === "read" ? "corrected" : kind;
    let names = 0;
    return {
      granuleBytes: unitOf(checked),
      load: (granule) =>
        isUniform && /^\d+u$/.test(granule) && Number.parseInt(granule, 10) < mostKeptGranules
          ? this.#kept(checked, words, granule, kind)
          : `${this.#granules.load(checked, words, arena, own, together)}(${granule})`,
      store: (granule, data) => `${this.#granules.store(checked, words, arena)}(${granule}, ${data});`,
      fresh: (base) => this.#names.the(`${base}_${++names}`),
    };
  }

  /** A granule of a uniform buffer, which the kernel has loaded and checked at its start. */
  #kept(checked: CheckedVariable, words: GranuleWords, granule: string, kind: LoadKind): string {
    const name = this.#granules.kept(checked, granule);
    const asIs = kind === "uniform";
    const before = this.#uniforms.get(name)?.isUsedAsIs ?? false;
    const loads = (as: LoadKind) =>
      `${this.#granules.load(checked, words, this.#kernel.arena, as)}(${granule})`;
    this.#uniforms.set(name, {
      load: loads(asIs || before ? "uniform" : "corrected"),
      isUsedAsIs: asIs || before,
    });
    return asIs ? this.#granules.asIs(checked, words, granule) : name;
  }

  #parameters({ indices }: OpenPlace, ...others: readonly string[]): string {
    return [...indices.map((_, i) => `${this.#names.the(`index_${i + 1}`)}: u32`), ...others].join(", ");
  }

  #function(base: string, signature: string, body: readonly string[]): string {
    const text = `${signature} { ${body.join(" ")} }`;
    const known = this.#made.get(text);
    if (known) return known.name;
    const name = this.#names.fresh(base);
    this.#made.set(text, { name, declarations: quote().declarations`fn ${name}${text}` });
    return name;
  }
}
