/**
 * Has kernels add up a checksum of what they load from buffers, or store to them, and leave the sums of each dispatch in a slot.
 *
 * Before:  b[i] = a[i];
 * After:   fn load_1(i) -> T { let value = a[i]; sum_of_a += quad(i, value); return value; }
 *          store_1(i, load_1(i));
 *          let all = subgroupAdd(sum_of_a); if (subgroupElect()) { atomicAdd(&sums[0], all.x); ... }
 *          workgroupBarrier(); for (part ...) { atomicAdd(&slots[...], atomicLoad(&sums[part])); }
 *
 * An atomic operation on memory for each subgroup took a copy 3.4 times as long (NVIDIA H200).
 *
 * Whoever dispatches the kernel tells the slots, compares what was loaded with what had been stored, and knows of which
 * dispatches it is that they access each word of a buffer as often: the third sum, the count of places, tells.
 *
 * Requires: access normal form, declareReport, entry points that end at their end.   Ensures: valid module; adds the bindings
 * of the slots and the table.   Order: last, in place of `protectMemory`.
 * Source:   Blum et al. 1994, offline checking.
 */

import type { BindingPoint } from "../../analysis/bindings.ts";
import { dependence, dependencesOfPlaces } from "../../analysis/dependences.ts";
import { memoryAccesses } from "../../analysis/memoryAccesses.ts";
import { type Place, placeOf } from "../../analysis/places.ts";
import { checksumWgsl, slotStripes, stripeWords } from "../../codes/checksum.ts";
import type { Expression, FunctionDeclaration, Module, Statement } from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import { type AnyNode, mapChildren } from "../../wgsl/traverse.ts";
import { mapFunctions, withDeclarations } from "../mapFunctions.ts";
import type { Names } from "../names.ts";
import { type Address, indexed, inUnits, moved } from "./address.ts";
import { typedSteps } from "./coverage.ts";
import { Library } from "./library.ts";
import { type SumClass, summedAccesses, wordsIn, workgroupSize } from "./summedAccesses.ts";
import { typeText } from "./wordValues.ts";

export interface SumAccessesOptions {
  readonly slots: BindingPoint;
  readonly table: BindingPoint;
  readonly rows: number;
  readonly subgroups: boolean;
  readonly kernels: readonly {
    readonly entryPoint: string;
    readonly functions: ReadonlySet<FunctionDeclaration>;
    /** The rows of the variables that are summed, by name. */
    readonly summed: ReadonlyMap<string, number>;
  }[];
}

export function sumAccesses(program: Program, names: Names, options: SumAccessesOptions): Module {
  const library = new Library();
  const rewritten = new Map<FunctionDeclaration, FunctionDeclaration>();
  for (const { functions, entryPoint, summed } of options.kernels) {
    const kernel = [...functions].find(({ name }) => name === entryPoint)!;
    const sums = new Sums(program, names, library);
    // The report stays bound, as every protected kernel's is.
    const ends = new Ends(names, library, options, kernel, workgroupSize(program, kernel)!);
    const dependsOn = dependencesOfPlaces(program, kernel);
    for (const [variable, accesses] of memoryAccesses(program, functions)) {
      const row = summed.get(variable.name);
      if (row === undefined) continue;
      const way = summedAccesses(program, kernel, variable, accesses, dependsOn);
      if ("why" in way) throw new Error(`${variable.name} is not summed: ${way.why}`);
      for (const [expression, number] of way.classOf) sums.see(expression, way.kind, number);
      ends.add(
        row,
        way.classes.map((each, i) => ({ ...each, sum: sums.sum(variable.name, i) })),
      );
    }
    for (const fn of functions) {
      const own = sums.function(fn);
      rewritten.set(fn, fn === kernel ? ends.endOf(own) : own);
    }
  }
  const module = mapFunctions(program.module, (fn) => rewritten.get(fn) ?? fn);
  return withDeclarations(module, library.declarations);
}

/** The summed accesses of a kernel. */
class Sums {
  readonly #program: Program;
  readonly #names: Names;
  readonly #library: Library;
  readonly #seen = new Map<Expression, { readonly kind: "load" | "store"; readonly number: number }>();

  constructor(program: Program, names: Names, library: Library) {
    this.#program = program;
    this.#names = names;
    this.#library = library;
  }

  see(expression: Expression, kind: "load" | "store", number: number): void {
    this.#seen.set(expression, { kind, number });
  }

  function(fn: FunctionDeclaration): FunctionDeclaration {
    const visit = (node: AnyNode): AnyNode => {
      if (node.kind === "assign" && node.target && this.#seen.get(node.target)?.kind === "store")
        return this.#store(node, visit);
      const seen = this.#seen.get(node as Expression);
      if (seen?.kind === "load") {
        const { name, indices } = this.#access(node as Expression, visit);
        return quote(node.span).expression`${name}(${indices})`;
      }
      return mapChildren(node, visit);
    };
    return { ...fn, body: mapChildren(fn.body, visit) };
  }

  #store({ target, value, span }: Extract<Statement, { kind: "assign" }>, visit: (node: AnyNode) => AnyNode) {
    const { name, indices } = this.#access(target!, visit);
    const [statement] = quote(span).statements`${name}(${[...indices, visit(value) as Expression]});`;
    return statement!;
  }

  /** The function for an access, and the indices that are its arguments. */
  #access(expression: Expression, visit: (node: AnyNode) => AnyNode) {
    const { kind, number } = this.#seen.get(expression)!;
    const place = placeOf(this.#program, expression)!;
    const { path, address, indices } = this.#open(place);
    const words = wordsIn(place);
    const type = typeText(place.type);
    const data = words === 1 ? "u32" : `vec${words}<u32>`;
    const added = `${this.#prefix()}${{ 1: "word", 2: "pair", 4: "quad" }[words]}(${inUnits(address, words === 4 ? 16 : 4)}, bitcast<${data}>(value))`;
    const add = `${this.sum(place.variable.name, number)} += ${added};`;
    const parameters = indices.map((_, i) => `index_${i + 1}: u32`);
    const [signature, body] =
      kind === "load"
        ? [`(${parameters.join(", ")}) -> ${type}`, `let value = ${path}; ${add} return value;`]
        : [`(${[...parameters, `value: ${type}`].join(", ")})`, `${path} = value; ${add}`];
    const text = `${signature} { ${body} }`;
    // One for each text; a text has no name in it that a shape could be told by.
    const name = this.#made.get(text) ?? this.#names.fresh(`summed_${kind}`);
    this.#made.set(text, name);
    this.#library.make(name, () => quote().declarations`fn ${name}${text}`);
    const args = indices.map((index) => quote(index.span).expression`u32(${visit(index) as Expression})`);
    return { name, indices: args };
  }

  readonly #made = new Map<string, string>();

  /** A place as a function names it, its address, and the indices that the function is given. */
  #open(place: Place) {
    let path = place.variable.name;
    let address: Address = { terms: [], at: 0 };
    const indices: Expression[] = [];
    for (const { step } of typedSteps(this.#program, place)) {
      if (step.kind === "member") {
        path += `.${step.name}`;
        address = moved(address, step.offset);
        continue;
      }
      const name = `index_${indices.push(step.index)}`;
      path += `[${name}]`;
      address = indexed(address, name, step.stride);
    }
    return { path, address, indices };
  }

  /** The sums of a class of accesses. */
  sum(variable: string, number: number): string {
    return this.#library.make(
      this.#names.the(`sum_${number}_of_${variable}`),
      (name) => quote().declarations`var<private> ${name}: vec3<u32>;`,
    );
  }

  #prefix(): string {
    return this.#library.make(
      this.#names.the("checksum_"),
      (prefix) => quote().declarations`${checksumWgsl(prefix)}`,
    );
  }
}

/** What a kernel does with its sums before it ends. */
class Ends {
  readonly #names: Names;
  readonly #library: Library;
  readonly #options: SumAccessesOptions;
  readonly #kernel: FunctionDeclaration;
  readonly #sizes: readonly number[];
  readonly #own: string[] = [];
  readonly #together: string[] = [];
  #parts = 0;

  constructor(
    names: Names,
    library: Library,
    options: SumAccessesOptions,
    kernel: FunctionDeclaration,
    sizes: readonly number[],
  ) {
    this.#names = names;
    this.#library = library;
    this.#options = options;
    this.#kernel = kernel;
    this.#sizes = sizes;
  }

  /** The sums of a variable, whose slot the table has in a row. */
  add(row: number, classes: readonly (SumClass & { readonly sum: string })[]): void {
    const { subgroups, slots, table, rows } = this.#options;
    const names = this.#names;
    const words = this.#library.make(
      names.the("sum_slots"),
      (name) => quote().declarations`
        @group(${slots.group}) @binding(${slots.binding}) var<storage, read_write> ${name}: array<atomic<u32>>;`,
    );
    const slot = this.#library.make(
      names.the("check_table"),
      (name) => quote().declarations`
        @group(${table.group}) @binding(${table.binding}) var<uniform> ${name}: array<vec4<u32>, ${rows}>;`,
    );
    const first = this.#parts;
    this.#parts += 3;
    const sum = classes.map((each, i) => this.#weighted(each, i)).join(" + ");
    const all = names.fresh("all");
    const [local, group, shared] = [names.the("local"), names.the("workgroup"), this.#shared];
    const adds = [..."xyz"]
      .map((part, i) => `atomicAdd(&${shared}[${first + i}], ${all}.${part});`)
      .join(" ");
    this.#own.push(`let ${all} = ${subgroups ? `subgroupAdd(${sum})` : sum};`);
    this.#own.push(subgroups ? `if (subgroupElect()) { ${adds} }` : adds);
    const stripe = `(${group}.x + ${group}.y * 5u + ${group}.z * 7u) % ${slotStripes}u`;
    const invocations = this.#sizes.reduce((product, size) => product * size);
    this.#together.push(`for (var part = ${local}; part < 3u; part += ${invocations}u) {
      let at = (${slot}[${row}].x * ${slotStripes}u + ${stripe}) * ${stripeWords}u;
      atomicAdd(&${words}[at + part], atomicLoad(&${shared}[${first}u + part]));
    }`);
  }

  endOf(fn: FunctionDeclaration): FunctionDeclaration {
    this.#library.make(
      this.#shared,
      (name) => quote().declarations`var<workgroup> ${name}: array<atomic<u32>, ${this.#parts}>;`,
    );
    // The report stays bound, as every protected kernel's is.
    const ends = [
      `_ = &${this.#names.the("report")};`,
      ...this.#own,
      "workgroupBarrier();",
      ...this.#together,
    ];
    const added = quote(fn.nameSpan).statements`${ends.join(" ")}`;
    return { ...fn, body: { ...fn.body, statements: [...fn.body.statements, ...added] } };
  }

  get #shared(): string {
    return this.#names.the(`sums_of_${this.#kernel.name}`);
  }

  #weighted({ sum, ids }: SumClass & { readonly sum: string }, number: number): string {
    const others = this.#otherIds(ids);
    if (others.length === 0) return number === 0 ? sum : `${sum} * ${1 << number}u`;
    return `${sum} * select(${2 << number}u, ${1 << number}u, (${others.join(" | ")}) == 0u)`;
  }

  #otherIds(ids: number): string[] {
    const [x, y] = this.#sizes as [number, number];
    const [group, local] = [this.#names.the("workgroup"), this.#names.the("local")];
    const locals = [`${local} % ${x}u`, `${local} / ${x}u % ${y}u`, `${local} / ${x * y}u`];
    return [
      ...dependence.workgroup.flatMap((bit, i) => (ids & bit ? [`${group}.${"xyz"[i]}`] : [])),
      ...dependence.local.flatMap((bit, i) => (ids & bit ? [`(${locals[i]})`] : [])),
    ];
  }
}
