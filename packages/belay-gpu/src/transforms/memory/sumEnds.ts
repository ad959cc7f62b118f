import type { BindingPoint } from "../../analysis/bindings.ts";
import { dependence } from "../../analysis/valueDependences.ts";
import { slotStripes, slotWords, stripeWords } from "../../ecc/checksum.ts";
import type { FunctionDeclaration } from "../../wgsl/ast.ts";
import { quote } from "../../wgsl/quote.ts";
import type { Names } from "../shared/names.ts";
import type { GeneratedDeclarations } from "./generatedDeclarations.ts";
import type { SumClass } from "./summedAccesses.ts";

/** The summed variables of kernels, and the bindings of slots. */
export interface SumAccessesOptions {
  readonly slots: BindingPoint;
  readonly table: BindingPoint;
  readonly rows: number;
  readonly kernels: readonly {
    readonly entryPoint: string;
    readonly functions: ReadonlySet<FunctionDeclaration>;
    /** The summed variables, by name. */
    readonly summed: ReadonlyMap<string, SummedVariable>;
  }[];
}

/** The way in which a variable is summed. */
interface SummedVariable {
  /** The row of the variable. Variables have slots in the order of their rows. */
  readonly row: number;
  /** The number of the only summed access. Undefined if all are summed. */
  readonly site?: number | undefined;
  /** True if places are counted. */
  readonly isCounted: boolean;
}

/** The code at the end of a kernel that adds its sums to the slots. */
export class SumEnds {
  readonly #names: Names;
  readonly #library: GeneratedDeclarations;
  readonly #options: SumAccessesOptions;
  readonly #kernel: FunctionDeclaration;
  readonly #sizes: readonly number[];
  readonly #own: string[] = [];
  #count = 0;

  constructor(
    names: Names,
    library: GeneratedDeclarations,
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

  /** Adds the sums of a variable. Its slot follows those of the variables added before. */
  add(classes: readonly (SumClass & { readonly sum: string })[], isCounted: boolean): void {
    const first = slotWords * this.#count++;
    const sum = classes.map((each, i) => this.#weighted(each, i)).join(" + ");
    const all = this.#names.fresh("all");
    this.#own.push(`let ${all} = ${sum};`);
    for (const [i, part] of [...(isCounted ? "xyz" : "xy")].entries())
      this.#own.push(`atomicAdd(&${this.#shared}[${first + i}], ${all}.${part});`);
  }

  /** Returns the entry point with the sums added to the slots at its end. */
  endOf(fn: FunctionDeclaration): FunctionDeclaration {
    const { slots, table, rows } = this.#options;
    const names = this.#names;
    const words = slotWords * this.#count;
    const shared = this.#library.make(
      this.#shared,
      (name) => quote().declarations`var<workgroup> ${name}: array<atomic<u32>, ${words}>;`,
    );
    const memory = this.#library.make(
      names.the("sum_slots"),
      (name) => quote().declarations`
        @group(${slots.group}) @binding(${slots.binding}) var<storage, read_write> ${name}: array<atomic<u32>>;`,
    );
    const first = this.#library.make(
      names.the("check_table"),
      (name) => quote().declarations`
        @group(${table.group}) @binding(${table.binding}) var<uniform> ${name}: array<vec4<u32>, ${rows}>;`,
    );
    const [local, group, part] = [names.the("local"), names.the("workgroup"), names.the("part")];
    const stripe = `(${group}.x + ${group}.y * 5u + ${group}.z * 7u) % ${slotStripes}u`;
    const invocations = this.#sizes.reduce((product, size) => product * size);
    // A loop that runs once makes a copy of words take 2 % more time (NVIDIA H200).
    const each =
      words <= invocations
        ? `let ${part} = ${local}; if (${part} < ${words}u)`
        : `for (var ${part} = ${local}; ${part} < ${words}u; ${part} += ${invocations}u)`;
    // The report stays bound, as in every protected kernel.
    const added = quote(fn.nameSpan).statements`
      _ = &${names.the("report")};
      ${this.#own.join(" ")}
      workgroupBarrier();
      ${each} {
        let at = ${stripe} * ${stripeWords}u + ${first}[0].x * ${slotWords}u;
        atomicAdd(&${memory}[at + ${part}], atomicLoad(&${shared}[${part}]));
      }`;
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
