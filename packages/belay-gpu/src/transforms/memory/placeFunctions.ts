/** The functions that access places in protected buffers, and the addresses that they compute. */
import { placeOf, rootVariable } from "../../analysis/places.ts";
import type { Declaration, Expression, GlobalVariable } from "../../wgsl/ast.ts";
import { sizeOf, strideOf } from "../../wgsl/layout.ts";
import type { Program } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import type { ArrayType, Type } from "../../wgsl/types.ts";
import type { Names } from "../shared/names.ts";
import { type ByteOffset, indexed, moved } from "./byteOffset.ts";
import type { CheckedVariable } from "./checkedVariable.ts";
import type { ArenaAccess } from "./checkWords.ts";
import { typedSteps } from "./coverage.ts";
import type { GranuleFunctions } from "./granuleFunctions.ts";

/** The protected variables of a kernel, and its access to the arena. */
export interface CheckedKernel {
  readonly arena: ArenaAccess;
  /** The protected variables, by name. */
  readonly checked: ReadonlyMap<string, CheckedVariable>;
}

/** The generated functions and their names, by their text after the name. */
export type MadeFunctions = Map<string, { readonly name: string; readonly declarations: Declaration[] }>;

/** A function, and the indices of the place that are its arguments. */
export interface AccessFunction {
  readonly name: string;
  readonly indices: readonly Expression[];
}

/** A place together with the code that computes its address. */
export interface AddressedPlace {
  readonly variable: GlobalVariable;
  readonly type: Type;
  readonly address: ByteOffset;
  readonly indices: readonly Expression[];
  readonly checked: CheckedVariable;
  /** The statements that clamp the indices, or return if one is out of bounds. */
  readonly statements: readonly string[];
  /** A condition per index, true if the index is out of bounds. */
  readonly strays: readonly string[];
}

/** The kernel, and the functions that exist already. */
export interface PlaceFunctionsOptions {
  readonly kernel: CheckedKernel;
  /** The functions of all kernels, which share them. */
  readonly made: MadeFunctions;
}

/** The functions of one kernel's places. */
export class PlaceFunctions {
  readonly #program: Program;
  readonly #names: Names;
  readonly #granules: GranuleFunctions;
  readonly #kernel: CheckedKernel;
  readonly #made: MadeFunctions;

  constructor(
    program: Program,
    names: Names,
    granules: GranuleFunctions,
    { kernel, made }: PlaceFunctionsOptions,
  ) {
    this.#program = program;
    this.#names = names;
    this.#granules = granules;
    this.#kernel = kernel;
    this.#made = made;
  }

  /**
   * Returns the protected variable at the root of a place, or of a pointer to it. Returns undefined
   * if there is none.
   */
  checked(expression: Expression): CheckedVariable | undefined {
    const root = rootVariable(this.#program, expression);
    return root && this.#kernel.checked.get(root.variable.name);
  }

  /** Returns the name of the variable of granules. */
  words(checked: CheckedVariable): string {
    const { name } = checked;
    const variable = this.#program.module.declarations.find(
      (declaration) => declaration.kind === "globalVariable" && declaration.name === name,
    ) as GlobalVariable;
    return this.#granules.words(variable, checked, sizeOf(this.#program.declaredTypeOf(variable)));
  }

  /** Returns the length of a runtime-sized array at offset `at`, as WGSL. */
  lengthOf(checked: CheckedVariable, at: number, type: ArrayType): string {
    const bytes = this.#granules.checkWords.bytesOf(checked);
    return `${at === 0 ? bytes : `(${bytes} - ${at}u)`} / ${strideOf(type)}u`;
  }

  /**
   * Returns a place with its address. Indices out of bounds are clamped, or the function returns
   * (`"dropped"`).
   */
  addressed(expression: Expression, outOfBounds: "clamped" | "dropped" = "clamped"): AddressedPlace {
    const place = placeOf(this.#program, expression);
    const checked = this.checked(expression);
    if (!place || !checked) throw new Error("accesses to coded buffers are places");
    let address: ByteOffset = { terms: [], at: 0 };
    const indices: Expression[] = [];
    const statements: string[] = [];
    const strays: string[] = [];
    for (const { of, step, known } of typedSteps(this.#program, place)) {
      if (step.kind === "member") address = moved(address, step.offset);
      else if (known !== undefined) address = moved(address, known * step.stride);
      else {
        const name = this.#names.the(`at_${statements.length + 1}`);
        const index = this.#names.the(`index_${indices.push(step.index)}`);
        const last = this.#lastOf(checked, of, address.at);
        strays.push(`${index} > ${last}`);
        if (outOfBounds === "clamped") statements.push(`let ${name} = min(${index}, ${last});`);
        else statements.push(`if (${index} > ${last}) { return; }`);
        address = indexed(address, outOfBounds === "clamped" ? name : index, step.stride);
      }
    }
    return { variable: place.variable, type: place.type, checked, address, indices, statements, strays };
  }

  /** Returns the last index of a type's elements, as WGSL. */
  #lastOf(checked: CheckedVariable, type: Type, at: number): string {
    if (type.kind === "vector") return `${type.size - 1}u`;
    if (type.kind === "matrix") return `${type.columns - 1}u`;
    if (type.kind !== "array") throw new Error(`a ${type.kind} has no elements`);
    return type.count === "runtime"
      ? `${this.lengthOf(checked, at, type)} - 1u`
      : `${Number(type.count) - 1}u`;
  }

  /** Returns the parameters of a place's function: its indices, and others. */
  parameters({ indices }: AddressedPlace, ...others: readonly string[]): string {
    return [...indices.map((_, i) => `${this.#names.the(`index_${i + 1}`)}: u32`), ...others].join(", ");
  }

  /** Returns the name of the function with this text, which is declared if it is new. */
  function(base: string, signature: string, body: readonly string[]): string {
    const text = `${signature} { ${body.join(" ")} }`;
    const known = this.#made.get(text);
    if (known) return known.name;
    const name = this.#names.fresh(base);
    this.#made.set(text, { name, declarations: quote().declarations`fn ${name}${text}` });
    return name;
  }
}
