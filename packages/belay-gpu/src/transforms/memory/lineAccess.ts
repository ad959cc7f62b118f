/** The functions of lanes that access the pieces of lines together: one per shape of place. */
import { sumsOf } from "../../analysis/distinctPlaces.ts";
import { placeOf } from "../../analysis/places.ts";
import type { Expression } from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import type { Names } from "../shared/names.ts";
import { asIs, unitOf } from "./checkedVariable.ts";
import { coalescedPieceBytes, type PatternsOf } from "./coalescedPattern.ts";
import type { GranuleFunctions } from "./granuleFunctions.ts";
import type { AccessFunction, AddressedPlace, PlaceFunctions } from "./placeFunctions.ts";
import { ValueWriter } from "./valueWriter.ts";
import { type GranuleCode, typeText, ValueReader } from "./wordValues.ts";

/** The places of a kernel, and the patterns of its indices. */
export interface LineAccessOptions {
  readonly places: PlaceFunctions;
  readonly patternsOf: PatternsOf;
}

/** An access to a piece of a line whose other pieces other lanes access. */
export interface LineAccess {
  /** The number of pieces of a line. */
  readonly pieces: number;
  /**
   * The order of the access. Accesses of equal order are whole lines apart in each lane. If one of
   * them is in order, all are.
   */
  readonly order: string;
}

/** The functions of one kernel, each generated on first use. */
export class LineAccessFunctions {
  readonly #program: Program;
  readonly #names: Names;
  readonly #granules: GranuleFunctions;
  readonly #options: LineAccessOptions;

  constructor(program: Program, names: Names, granules: GranuleFunctions, options: LineAccessOptions) {
    this.#program = program;
    this.#names = names;
    this.#granules = granules;
    this.#options = options;
  }

  /**
   * Returns the access to a piece of a line, or undefined for an access that lanes do not make
   * together.
   */
  of(expression: Expression): LineAccess | undefined {
    const { places, patternsOf } = this.#options;
    const checked = places.checked(expression);
    const place = placeOf(this.#program, expression);
    if (!checked?.pieceBytes || !place) return undefined;
    const { granuleBytes } = checked.scheme;
    if (coalescedPieceBytes(place, granuleBytes, patternsOf) !== checked.pieceBytes) return undefined;
    const sums = sumsOf(this.#program, place);
    const known = place.steps.reduce(
      (bytes, step, i) => bytes + (step.kind === "index" ? sums[i]!.known * BigInt(step.stride) : 0n),
      0n,
    );
    const parts = place.steps.map((step, i) => [
      step.kind === "index" ? step.stride : step.offset,
      sums[i]!.rest,
    ]);
    return {
      pieces: granuleBytes / checked.pieceBytes,
      order: JSON.stringify([parts, Number(known % BigInt(granuleBytes)), granuleBytes]),
    };
  }

  /**
   * Returns the function that loads a value, its piece's number, and the piece's contribution to
   * the check word. An index out of bounds sets `bad`.
   */
  note(expression: Expression): AccessFunction {
    const { places } = this.#options;
    const place = places.addressed(expression);
    const { checked } = place;
    const noted = this.#noted(typeText(place.type));
    const [code, pieces] = this.#whole(place);
    const reader = new ValueReader(code);
    const value = reader.value(place.type, place.address);
    const name = places.function("note", `(${places.parameters(place)}) -> ${noted}`, [
      ...place.statements,
      ...place.strays.map((stray) => `${this.#granules.findings.bad()} |= u32(${stray});`),
      `let piece = ${pieces[0]};`,
      `let data = ${asIs(checked, { name: places.words(checked), isUniform: false }, "piece")};`,
      ...reader.statements,
      `return ${noted}(${value}, piece, ${this.#granules.lines.contribution(checked, "piece", "data")},
        ${this.#granules.lines.checkNumber(checked, "piece")});`,
    ]);
    return { name, indices: place.indices };
  }

  /** Returns the function that computes the number of a piece, in bounds or not. */
  pieceOf(target: Expression): AccessFunction {
    const { places } = this.#options;
    const place = places.addressed(target, "dropped");
    const [code, pieces] = this.#whole(place);
    new ValueReader(code).value(place.type, place.address);
    const name = places.function("piece", `(${places.parameters(place)}) -> u32`, [`return ${pieces[0]};`]);
    return { name, indices: place.indices };
  }

  /** Returns the function that tests if all indices are in bounds. */
  fits(target: Expression): AccessFunction {
    const { places } = this.#options;
    const place = places.addressed(target, "dropped");
    const strays = place.strays.join(" || ") || "false";
    const name = places.function("fits", `(${places.parameters(place)}) -> bool`, [`return !(${strays});`]);
    return { name, indices: place.indices };
  }

  /**
   * Returns the function that computes a piece's contribution to its check word before a store, and
   * the number of the check word. Returns undefined if the store replaces the whole piece.
   */
  kept(target: Expression): AccessFunction | undefined {
    const { places } = this.#options;
    const place = places.addressed(target, "dropped");
    const { checked } = place;
    const [code, pieces] = this.#whole(place);
    const writer = new ValueWriter(code, place.address.terms);
    writer.put(place.type, place.address.at, `${typeText(place.type)}()`);
    writer.finish();
    if (pieces.length === 0) return undefined;
    const { lines } = this.#granules;
    const name = places.function("kept", `(${places.parameters(place)}) -> vec2<u32>`, [
      `let piece = ${pieces[0]};`,
      `let data = ${asIs(checked, { name: places.words(checked), isUniform: false }, "piece")};`,
      `return vec2<u32>(${lines.contribution(checked, "piece", "data")}, ${lines.checkNumber(checked, "piece")});`,
    ]);
    return { name, indices: place.indices };
  }

  /**
   * Returns the function that stores a value, its last argument. It returns the piece's
   * contribution to its check word, and the number of the check word.
   */
  put(target: Expression): AccessFunction {
    const { places } = this.#options;
    const place = places.addressed(target, "dropped");
    const { checked } = place;
    const { lines } = this.#granules;
    const words = { name: places.words(checked), isUniform: false };
    const stored = this.#names.the("value");
    const code: GranuleCode = {
      ...this.#whole(place)[0],
      load: (piece) => asIs(checked, words, piece),
      store: (piece, data) => `let piece = ${piece}; let data = ${data}; ${words.name}[piece] = data;`,
    };
    const writer = new ValueWriter(code, place.address.terms);
    writer.put(place.type, place.address.at, stored);
    const parameters = places.parameters(place, `${stored}: ${typeText(place.type)}`);
    const name = places.function("put", `(${parameters}) -> vec2<u32>`, [
      ...writer.finish(),
      `return vec2<u32>(${lines.contribution(checked, "piece", "data")}, ${lines.checkNumber(checked, "piece")});`,
    ]);
    return { name, indices: place.indices };
  }

  /**
   * Returns code that reads `data`, and the list to which it adds the numbers of the pieces read.
   */
  #whole({ checked }: AddressedPlace): [GranuleCode, string[]] {
    const pieces: string[] = [];
    let names = 0;
    const code: GranuleCode = {
      granuleBytes: unitOf(checked),
      load: (piece) => {
        pieces.push(piece);
        return "data";
      },
      store: () => "",
      fresh: (base) => this.#names.the(`${base}_${++names}`),
    };
    return [code, pieces];
  }

  /** Returns the struct of a noted value. */
  #noted(type: string): string {
    return this.#granules.declare(
      `noted_${type.replace(/\W+/g, "_")}`,
      (name) => quote().declarations`struct ${name} { value: ${type}, piece: u32, part: u32, number: u32 }`,
    );
  }
}
