/** Writes the JavaScript of one kernel, from scalars up: temporaries, arithmetic, memory. */
import { concretize } from "../wgsl/conversion.ts";
import { alignOf, memberOffsets, sizeOf, strideOf } from "../wgsl/layout.ts";
import {
  type ArrayType,
  abstractFloatType,
  f32Type,
  type ScalarType,
  type StructType,
  type Type,
  type VectorType,
} from "../wgsl/types.ts";
import type { Value } from "../wgsl/values.ts";
import type { FloatRange } from "./buffers.ts";
import { f16Format, f32Format } from "./floatFormat.ts";
import type { FloatOperation } from "./nearest.ts";
import {
  type Arena,
  type BytesPlace,
  type CellsPlace,
  cellCount,
  type EmittedValue,
  isFloat,
  isInCells,
  type MemoryPlace,
  memberCell,
  moved,
  positionText,
  type Scalar,
  type ScalarsValue,
  scalarOf,
} from "./values.ts";

/** The arithmetic of floating-point numbers. */
export type FloatMode = "intervals" | "nearest";

/** The JavaScript variables of the arenas: their cells, and the upper bounds of inexact numbers. */
const arenas: Readonly<Record<Arena, readonly [low: string, high: string]>> = {
  invocation: ["P", "PH"],
  workgroup: ["W", "WH"],
  constants: ["K", "KH"],
};

/** The least number that stands for an unknown integer. */
export const unknownInteger = 2 ** 200;

/** A subgroup operation, which all lanes of a subgroup execute together. */
export interface SubgroupSite {
  readonly operation: string;
  readonly scalar: ScalarType;
  /** The number of components of the first operand. */
  readonly components: number;
}

export class CodeWriter {
  readonly mode: FloatMode;
  readonly detectsRaces: boolean;
  /** The lines of the function that is being written. */
  lines: string[] = [];
  /** The variables that the function declares at its beginning. */
  hoisted: string[] = [];
  /** The names of library functions that the code uses. */
  readonly used = new Set<string>();
  /** The values of the constants' arena. */
  readonly constants: FloatRange[] = [];
  /** The subgroup operations, in the order of their numbers. */
  readonly sites: SubgroupSite[] = [];
  /** The cells of an invocation, the first with its number in its subgroup, and of a workgroup. */
  readonly cells = { invocation: 1, workgroup: 0 };
  readonly #knownConstants = new Map<Value, CellsPlace>();
  /** True if integers may be unknown, from `unknownInteger` on. */
  readonly #hasUnknownIntegers: boolean;
  #names = 0;
  #decisions = 0;

  constructor(mode: FloatMode, detectsRaces: boolean, hasUnknownIntegers: boolean) {
    this.mode = mode;
    this.detectsRaces = detectsRaces;
    this.#hasUnknownIntegers = hasUnknownIntegers;
  }

  line(text: string): void {
    this.lines.push(text);
  }

  fresh(prefix: string): string {
    return `${prefix}${this.#names++}`;
  }

  /** Returns a new constant that holds the value of an expression. */
  temp(expression: string): string {
    const name = this.fresh("t");
    this.line(`const ${name} = ${expression};`);
    return name;
  }

  /** Returns a variable that the whole function knows. */
  variable(): string {
    const name = this.fresh("v");
    this.hoisted.push(name);
    return name;
  }

  /** Returns the name of a library function. */
  library(name: string): string {
    this.used.add(name);
    return name;
  }

  /** Returns the number of atoms of a scalar. */
  width(type: ScalarType): number {
    return isFloat(type) && this.mode === "intervals" ? 2 : 1;
  }

  /** Returns variables for a value of a scalar or vector type. */
  registers(type: Type): Scalar[] {
    const scalar = scalarOf(type);
    return Array.from({ length: cellCount(type) }, () =>
      Array.from({ length: this.width(scalar) }, () => this.variable()),
    );
  }

  assign(names: readonly Scalar[], values: readonly Scalar[]): void {
    // All values are read before a name changes: `v = v.yx`.
    const copies = values.map((atoms) => atoms.map((atom) => (/^v\d/.test(atom) ? this.temp(atom) : atom)));
    names.forEach((name, i) => {
      for (const [j, each] of name.entries()) this.line(`${each} = ${copies[i]![j]};`);
    });
  }

  // Numbers

  /** Returns the atoms of a number. A subnormal one may count as zero. */
  number(type: ScalarType, value: number): Scalar {
    if (this.width(type) === 1) return [textOf(value)];
    const { low, high } = withZero(type, value);
    return [textOf(low), textOf(high)];
  }

  /** Returns the atoms of a real number, which an implementation may round in either direction. */
  realNumber(type: ScalarType, value: number): Scalar {
    const { round, below } = type.name === "f16" ? f16Format : f32Format;
    const nearest = round(value);
    if (this.mode === "nearest" || nearest === value) return this.number(type, nearest);
    return nearest < value
      ? [String(nearest), String(-below(-nearest))]
      : [String(below(nearest)), String(nearest)];
  }

  /** Emits an operation with a float result on floats and further atoms. */
  float(type: ScalarType, operation: FloatOperation, ...operands: Scalar[]): Scalar {
    const call = `${this.library(`${type.name}_${operation}`)}(${operands.flat().join(", ")})`;
    if (this.mode === "nearest") return [this.temp(call)];
    this.line(`${call};`);
    return [this.temp("r[0]"), this.temp("r[1]")];
  }

  /** Emits an operation on floats whose result is an integer or a boolean. */
  floatTo(type: ScalarType, operation: FloatOperation, ...operands: Scalar[]): Scalar {
    return [this.temp(`${this.library(`${type.name}_${operation}`)}(${operands.flat().join(", ")})`)];
  }

  /**
   * Emits an operation on integers, which `text` computes. The library has the operation on unknown
   * ones by its name.
   */
  integer(operation: string, operands: readonly string[], text: string): string {
    const names = this.#hasUnknownIntegers ? operands.filter((each) => /^[a-z]/i.test(each)) : [];
    if (names.length === 0) return this.temp(text);
    const isUnknown = names.map((each) => `${each} >= ${unknownInteger}`).join(" || ");
    const call = `${this.library("onUnknown")}("${operation}", ${operands.join(", ")})`;
    return this.temp(`${isUnknown} ? ${call} : ${text}`);
  }

  /**
   * Emits the value of a built-in function that other operations have computed. Expressions keep
   * the function.
   */
  derived(type: ScalarType, name: string, value: Scalar, operands: readonly Scalar[]): Scalar {
    if (!this.#hasUnknownIntegers) return value;
    const call = this.library(`${type.name}_derived`);
    return [this.temp(`${call}("${name}", ${[value, ...operands].flat().join(", ")})`)];
  }

  /**
   * Returns the text of a condition that decides what is executed. The library has the decision
   * about an unknown one, by the number of its place.
   */
  decision(atom: string): string {
    if (!this.#hasUnknownIntegers) return atom;
    return this.integer("decide", [atom, String(this.#decisions++)], atom);
  }

  // Memory

  /** Reserves cells of an arena. */
  reserve(arena: "invocation" | "workgroup", type: Type): CellsPlace {
    const at = this.cells[arena];
    this.cells[arena] += cellCount(type);
    return { kind: "cells", type, arena, at: { constant: at, atoms: [] } };
  }

  /** Emits the load of a value. What is in cells is copied, as its memory may change. */
  load(place: MemoryPlace): EmittedValue {
    const { type } = place;
    if (isInCells(type)) {
      const copy = this.reserve("invocation", type);
      this.copy(copy, place);
      return { kind: "cells", type, place: copy };
    }
    const stored = type.kind === "atomic" ? type.element : type;
    return {
      kind: "scalars",
      type: stored,
      scalars: this.places(place).map((each) => this.loadScalar(each)),
    };
  }

  /** Emits the store of a value. */
  store(place: MemoryPlace, value: EmittedValue): void {
    if (value.kind === "cells") this.copy(place, value.place);
    else if (value.kind === "scalars") this.storeScalars(place, value.scalars);
  }

  storeScalars(place: MemoryPlace, scalars: readonly Scalar[]): void {
    if (place.kind === "registers") this.assign(place.names, scalars);
    else for (const [i, each] of this.places(place).entries()) this.storeScalar(each, scalars[i]!);
  }

  /** Returns the places of the scalars of a scalar, vector or matrix. */
  places(place: MemoryPlace): MemoryPlace[] {
    const { type } = place;
    if (type.kind === "matrix") {
      const column: VectorType = { kind: "vector", size: type.rows, element: type.element };
      return Array.from({ length: type.columns }, (_, i) => this.columnOf(place, column, i)).flatMap((each) =>
        this.places(each),
      );
    }
    if (type.kind !== "vector") return [place];
    return Array.from({ length: type.size }, (_, i) => this.componentOf(place, type, i));
  }

  componentOf(place: MemoryPlace, type: VectorType, index: number | string): MemoryPlace {
    if (place.kind === "registers") {
      if (typeof index === "string") throw new TypeError("a register has no variable component");
      return { ...place, type: type.element, names: [place.names[index]!] };
    }
    const step = place.kind === "cells" ? 1 : sizeOf(type.element);
    return { ...place, type: type.element, at: moved(place.at, index, step), vectorAt: place.at };
  }

  columnOf(place: MemoryPlace, column: VectorType, index: number | string): MemoryPlace {
    if (place.kind === "registers") throw new TypeError("matrices are not in registers");
    const step = place.kind === "cells" ? column.size : alignOf(column);
    return { ...place, type: column, at: moved(place.at, index, step) };
  }

  elementOf(place: MemoryPlace, type: ArrayType, index: number | string): MemoryPlace {
    if (place.kind === "registers") throw new TypeError("arrays are not in registers");
    const step = place.kind === "cells" ? cellCount(type.element) : strideOf(type);
    return { ...place, type: type.element, at: moved(place.at, index, step) };
  }

  memberOf(place: MemoryPlace, type: StructType, index: number): MemoryPlace {
    if (place.kind === "registers") throw new TypeError("structures are not in registers");
    const offset = place.kind === "cells" ? memberCell(type, index) : memberOffsets(type)[index]!;
    return { ...place, type: type.members[index]!.type, at: moved(place.at, offset) };
  }

  loadScalar(place: MemoryPlace): Scalar {
    const scalar = scalarOf(place.type);
    if (place.kind === "registers") return place.names[0]!.map((name) => this.temp(name));
    this.#noteLoadOrStore("load", place);
    const at = positionText(place.at);
    if (place.kind === "cells") {
      const [low, high] = arenas[place.arena];
      const first = this.temp(`${low}[${at}]`);
      return this.width(scalar) === 1 ? [first] : [first, this.temp(`${high}[${at}]`)];
    }
    if (!isFloat(scalar)) {
      if (place.inside) this.line(`if (!${place.inside}) ${this.library("outOfBounds")}();`);
      const word = this.temp(`${place.buffer}.loadInteger(${at})`);
      return [scalar.name === "u32" ? this.integer("same", [word], `${word} >>> 0`) : word];
    }
    const call = `${place.buffer}.loadFloat(${at}, ${this.library(`${scalar.name}_format`)}, r)`;
    if (this.mode === "nearest") return [this.temp(call)];
    // A load out of bounds may return any number of the buffer, or zero.
    this.line(place.inside ? `if (${place.inside}) ${call}; else r[0] = r[1] = NaN;` : `${call};`);
    return [this.temp("r[0]"), this.temp("r[1]")];
  }

  storeScalar(place: MemoryPlace, value: Scalar): void {
    if (place.kind === "registers") {
      this.assign(place.names, [value]);
      return;
    }
    this.#noteLoadOrStore("store", place);
    const scalar = scalarOf(place.type);
    const at = positionText(place.at);
    if (place.kind === "cells") {
      const [low, high] = arenas[place.arena];
      this.line(`${low}[${at}] = ${value[0]};`);
      if (value.length === 2) this.line(`${high}[${at}] = ${value[1]};`);
    } else if (isFloat(scalar)) {
      const format = this.library(`${scalar.name}_format`);
      this.line(`${place.buffer}.storeFloat(${at}, ${format}, ${value[0]}, ${value.at(-1)});`);
    } else this.line(`${place.buffer}.storeInteger(${at}, ${value[0]});`);
  }

  /**
   * Emits what tells the detector of races about an access. A device may load and store a vector
   * for one of its components.
   */
  #noteLoadOrStore(access: "load" | "store", place: Exclude<MemoryPlace, { kind: "registers" }>): void {
    if (!this.detectsRaces || place.type.kind === "atomic") return;
    this.noteAccess(place, positionText(place.vectorAt ?? place.at), `"${access}"`);
  }

  /** Emits what tells the detector of races about an access of a kind, which is an expression. */
  noteAccess(place: CellsPlace | BytesPlace, location: string, kind: string): void {
    if (!this.detectsRaces) return;
    const condition = place.kind === "bytes" && place.inside ? `if (${place.inside}) ` : "";
    if (place.kind === "bytes")
      this.line(`${condition}races.note(${place.buffer}, ${location}, "storage", ${kind});`);
    else if (place.arena === "workgroup") this.line(`races.note(W, ${location}, "workgroup", ${kind});`);
  }

  /** Emits a copy of a value of any type between two places. */
  copy(to: MemoryPlace, from: MemoryPlace): void {
    const { type } = to;
    if (type.kind === "struct") {
      for (const i of type.members.keys())
        this.copy(this.memberOf(to, type, i), this.memberOf(from, type, i));
    } else if (type.kind === "subgroupMatrix") {
      const [start, first] = [to, from].map((each) => positionText((each as CellsPlace).at));
      this.line(`P.copyWithin(${start}, ${first}, ${first} + ${cellCount(type)});`);
    } else if (type.kind === "array") {
      const index = this.fresh("i");
      this.line(`for (let ${index} = 0; ${index} < ${type.count}; ${index}++) {`);
      this.copy(this.elementOf(to, type, index), this.elementOf(from, type, index));
      this.line("}");
    } else {
      const scalars = this.places(from).map((each) => this.loadScalar(each));
      this.storeScalars(to, scalars);
    }
  }

  /** Emits the store of zeros. */
  clear(place: MemoryPlace): void {
    const { type } = place;
    if (isInCells(type)) {
      if (place.kind !== "cells") throw new TypeError("only variables are cleared");
      const at = positionText(place.at);
      const [low, high] = arenas[place.arena];
      const end = positionText(moved(place.at, cellCount(type)));
      this.line(`${low}.fill(0, ${at}, ${end});`);
      if (this.mode === "intervals") this.line(`${high}.fill(0, ${at}, ${end});`);
    } else this.storeScalars(place, this.zero(type).scalars);
  }

  zero(type: Type): ScalarsValue {
    const zero = this.number(scalarOf(type), 0);
    return { kind: "scalars", type, scalars: Array.from({ length: cellCount(type) }, () => zero) };
  }

  /**
   * Returns the value of a constant. Arrays and structures get cells among the constants. A real
   * number that has no concrete type is one of f32.
   */
  constant(value: Value): EmittedValue {
    const { type } = value;
    if (type.kind !== "array" && type.kind !== "struct") {
      const scalar = scalarOf(type);
      const scalars = scalarsOf(value).map(([, each]) =>
        scalar === abstractFloatType ? this.realNumber(f32Type, each) : this.number(scalar, each),
      );
      return { kind: "scalars", type: concretize(type), scalars };
    }
    let place = this.#knownConstants.get(value);
    if (!place) {
      place = { kind: "cells", type, arena: "constants", at: { constant: this.constants.length, atoms: [] } };
      for (const [scalar, each] of scalarsOf(value))
        this.constants.push(this.width(scalar) === 2 ? withZero(scalar, each) : { low: each, high: each });
      this.#knownConstants.set(value, place);
    }
    return { kind: "cells", type, place };
  }
}

/** Returns the scalars of a constant in order, with their types; booleans are 0 and 1. */
function scalarsOf(value: Value): (readonly [type: ScalarType, value: number])[] {
  if ("elements" in value) return value.elements.flatMap(scalarsOf);
  return [[value.type, Number(value.value)]];
}

/** Returns the text of a number in JavaScript. */
export const textOf = (value: number): string => (Object.is(value, -0) ? "-0" : String(value));

/** Returns the interval of a number of a type. */
function withZero(type: ScalarType, value: number): FloatRange {
  const { minNormal } = type.name === "f16" ? f16Format : f32Format;
  const isSubnormal = Math.abs(value) < minNormal;
  return { low: isSubnormal ? Math.min(value, 0) : value, high: isSubnormal ? Math.max(value, 0) : value };
}
