/** The functions that load and store values of protected buffers: one per shape of place. */
import { addressSpaceOf } from "../../analysis/places.ts";
import type { Expression } from "../../wgsl/ast.ts";
import { sizeOf } from "../../wgsl/layout.ts";
import type { Names } from "../shared/names.ts";
import { asIs, type CheckedVariable, type GranuleWords, unitOf } from "./checkedVariable.ts";
import type { LoadKind } from "./findingFunctions.ts";
import type { GranuleFunctions } from "./granuleFunctions.ts";
import type { AccessFunction, AddressedPlace, CheckedKernel, PlaceFunctions } from "./placeFunctions.ts";
import { ValueWriter } from "./valueWriter.ts";
import { type GranuleCode, typeText, ValueReader } from "./wordValues.ts";

/**
 * The granules of uniform buffers that a kernel loads once, by the names of their variables.
 * `isUsedAsIs` is true if the kernel also uses the uncorrected words.
 */
export type UniformGranules = Map<string, { readonly load: string; isUsedAsIs: boolean }>;

/** The kernel whose accesses are rewritten, and its places. */
export interface AccessFunctionsOptions {
  readonly kernel: CheckedKernel;
  /** The granules that the kernel loads once. The functions add to them. */
  readonly uniforms: UniformGranules;
  readonly places: PlaceFunctions;
}

/** The granules of a uniform buffer that are loaded once. Later ones are loaded at each use. */
const mostKeptGranules = 16;

/** The functions of one kernel, each generated on first use. */
export class AccessFunctions {
  readonly #names: Names;
  readonly #granules: GranuleFunctions;
  readonly #places: PlaceFunctions;
  readonly #kernel: CheckedKernel;
  readonly #uniforms: UniformGranules;

  constructor(
    names: Names,
    granules: GranuleFunctions,
    { kernel, uniforms, places }: AccessFunctionsOptions,
  ) {
    this.#names = names;
    this.#granules = granules;
    this.#places = places;
    this.#kernel = kernel;
    this.#uniforms = uniforms;
  }

  /**
   * Returns the protected variable at the root of a place, or of a pointer to it. Returns undefined
   * if there is none.
   */
  checked(expression: Expression): CheckedVariable | undefined {
    return this.#places.checked(expression);
  }

  /** Returns the name of the variable of granules. */
  words(checked: CheckedVariable): string {
    return this.#places.words(checked);
  }

  /** Returns true if a place lies in granules that the kernel loads at its start. */
  isKept(expression: Expression): boolean {
    const { variable, type, address, checked } = this.#places.addressed(expression);
    const end = (address.at + sizeOf(type)) / unitOf(checked);
    return addressSpaceOf(variable) === "uniform" && address.terms.length === 0 && end <= mostKeptGranules;
  }

  /** Returns the function that loads a place. */
  load(expression: Expression, kind: LoadKind): AccessFunction {
    const place = this.#places.addressed(expression);
    const reader = new ValueReader(this.#codeOf(place, kind));
    const value = reader.value(place.type, place.address);
    const body = [...place.statements, ...reader.statements, `return ${value};`];
    const name = this.#places.function(
      "load",
      `(${this.#places.parameters(place)}) -> ${typeText(place.type)}`,
      body,
    );
    return { name, indices: place.indices };
  }

  /**
   * Returns the function that stores to a place. The value is the last argument. Nothing is stored
   * out of bounds.
   */
  store(target: Expression): AccessFunction {
    const place = this.#places.addressed(target, "dropped");
    const stored = this.#names.the("value");
    const body = [...place.statements, ...this.#storeStatements(place, stored)];
    const parameters = this.#places.parameters(place, `${stored}: ${typeText(place.type)}`);
    return { name: this.#places.function("store", `(${parameters})`, body), indices: place.indices };
  }

  #storeStatements(place: AddressedPlace, value: string): readonly string[] {
    const { checked } = place;
    const code = this.#codeOf(place, "corrected");
    const words = { name: this.words(checked), isUniform: false };
    const old = (piece: string) => `${this.#granules.lines.old(checked, words)}(${piece})`;
    const writer = new ValueWriter(checked.pieceBytes ? { ...code, load: old } : code, place.address.terms);
    writer.put(place.type, place.address.at, value);
    return writer.finish();
  }

  /**
   * Returns the function of the length of a runtime-sized array, computed from the size of the
   * binding.
   */
  length(array: Expression): string {
    const { type, address } = this.#places.addressed(array);
    const checked = this.checked(array)!;
    if (type.kind !== "array") throw new Error("only an array has a length");
    const body = [
      `_ = &${this.words(checked)};`,
      `return ${this.#places.lengthOf(checked, address.at, type)};`,
    ];
    return this.#places.function("length", "() -> u32", body);
  }

  #codeOf({ variable, checked }: AddressedPlace, kind: LoadKind): GranuleCode {
    const { arena } = this.#kernel;
    const isUniform = addressSpaceOf(variable) === "uniform";
    const words = { name: this.words(checked), isUniform };
    // A value that depends on read-only memory only is uniform even after correction.
    const own = kind === "uniform" && arena === "read" ? "corrected" : kind;
    let names = 0;
    return {
      granuleBytes: unitOf(checked),
      load: (granule) =>
        isUniform && /^\d+u$/.test(granule) && Number.parseInt(granule, 10) < mostKeptGranules
          ? this.#kept(checked, words, granule, kind)
          : `${this.#granules.load(checked, words, arena, own)}(${granule})`,
      store: (granule, data) => `${this.#granules.store(checked, words, arena)}(${granule}, ${data});`,
      fresh: (base) => this.#names.the(`${base}_${++names}`),
    };
  }

  /** Returns a granule of a uniform buffer, which the kernel loads and checks at its start. */
  #kept(checked: CheckedVariable, words: GranuleWords, granule: string, kind: LoadKind): string {
    const name = this.#granules.kept(checked, granule);
    const isAsIs = kind === "uniform";
    const before = this.#uniforms.get(name)?.isUsedAsIs ?? false;
    const loads = (as: LoadKind) =>
      `${this.#granules.load(checked, words, this.#kernel.arena, as)}(${granule})`;
    this.#uniforms.set(name, {
      load: loads(isAsIs || before ? "uniform" : "corrected"),
      isUsedAsIs: isAsIs || before,
    });
    return isAsIs ? asIs(checked, words, granule) : name;
  }
}
