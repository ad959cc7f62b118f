/**
 * Adds a copy of each storage buffer that a kernel changes in place, and rewrites accesses so that
 * the second replica uses the copy. It then never loads what the first replica has already stored.
 *
 * Before:   a[i] = a[i] + 1;
 * After:    fn load_a(i: u32) -> u32 { if (replica == 0) { return a[i]; } return shadow_a[i]; }
 *           v = load_a(i) + 1;
 *           if (replica == 0) { a[i] = v; } else { shadow_a[i] = v; }
 *
 * Each load becomes a call in its place, with one function per shape of place. Order and conditions
 * of loads therefore stay. Atomic operations and lengths use the original. The host makes the
 * copies equal to the originals before a dispatch.
 *
 * Requires: access normal form, `replica`.
 * Ensures:  a valid module with bindings for the copies.
 * Order:    after compareStores, which lets both replicas store to buffers with copies.
 */
import type { BindingPoint } from "../../analysis/bindings.ts";
import { rootVariable } from "../../analysis/places.ts";
import type {
  Assignment,
  Declaration,
  Expression,
  FunctionDeclaration,
  Module,
  Statement,
} from "../../wgsl/ast.ts";
import { printExpression, printType } from "../../wgsl/printer.ts";
import type { Program } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import { mapExpression } from "../../wgsl/traverse.ts";
import { typeExpressionOf } from "../../wgsl/typeNames.ts";
import type { Type } from "../../wgsl/types.ts";
import { mapAccesses } from "../shared/mapAccesses.ts";
import { mapFunctions, withDeclarations } from "../shared/mapFunctions.ts";
import { mapIndices } from "../shared/mapIndices.ts";
import type { Names } from "../shared/names.ts";
import type { Comparison } from "./comparison/comparison.ts";

/** The buffers to copy, and the kernels that use the copies. */
export interface ShadowBuffersOptions {
  readonly comparison: Comparison;
  /** The bindings of the copies, by the name of the buffer's variable. */
  readonly shadows: ReadonlyMap<string, BindingPoint>;
  /**
   * The functions of each replicated kernel, and the names of the variables that it changes in
   * place.
   */
  readonly kernels: readonly {
    readonly functions: ReadonlySet<FunctionDeclaration>;
    readonly shadowed: ReadonlySet<string>;
  }[];
}

/** Returns the name of the variable of the second replica's copy. */
const shadowName = (names: Names, variable: string): string => names.the(`shadow_${variable}`);

/** Returns the module whose second replicas use copies. */
export function shadowBuffers(program: Program, names: Names, options: ShadowBuffersOptions): Module {
  // Kernels share no load functions, because memory protection may access the same buffer in
  // different ways.
  const kernels = options.kernels.map(({ functions, shadowed }) => ({
    functions,
    shadowing: new Shadowing(program, names, options.comparison, shadowed),
  }));
  const module = mapFunctions(program.module, (fn) => {
    const kernel = kernels.find(({ functions }) => functions.has(fn));
    return kernel ? kernel.shadowing.function(fn) : fn;
  });
  return withDeclarations(module, [
    ...copies(program, names, options.shadows),
    ...kernels.flatMap(({ shadowing }) => shadowing.loads()),
    ...options.comparison.takeDeclarations(),
  ]);
}

/** Returns the declarations of the second replica's copies. */
function copies(program: Program, names: Names, shadows: ReadonlyMap<string, BindingPoint>): Declaration[] {
  const { declarations } = quote();
  return program.module.declarations.flatMap((variable) => {
    const at = variable.kind === "globalVariable" && shadows.get(variable.name);
    if (!at) return [];
    const type = typeExpressionOf(program.declaredTypeOf(variable));
    return declarations`
      @group(${String(at.group)}) @binding(${String(at.binding)})
      var<storage, read_write> ${shadowName(names, variable.name)}: ${type};`;
  });
}

/** The rewrite of one kernel. */
class Shadowing {
  readonly #program: Program;
  readonly #names: Names;
  readonly #comparison: Comparison;
  /** The names of the variables with copies. */
  readonly #shadowed: ReadonlySet<string>;
  /** The load functions and their names, by the loaded place with parameters for indices. */
  readonly #loads = new Map<string, { readonly name: string; readonly wgsl: string }>();

  constructor(program: Program, names: Names, comparison: Comparison, shadowed: ReadonlySet<string>) {
    this.#program = program;
    this.#names = names;
    this.#comparison = comparison;
    this.#shadowed = shadowed;
  }

  function(fn: FunctionDeclaration): FunctionDeclaration {
    const body = mapAccesses(this.#program, fn.body, {
      selects: ({ name }) => this.#shadowed.has(name),
      load: (place, original) => this.#load(place, original),
      store: (stored, target) => this.#storedApart(stored, target),
    });
    return { ...fn, body };
  }

  /** Returns the declarations of the load functions. */
  loads(): Declaration[] {
    return [...this.#loads.values()].flatMap(({ wgsl }) => quote().declarations`${wgsl}`);
  }

  /**
   * Returns the statement by which each replica stores to its own copy. The operands are stable, so
   * both stores may evaluate them.
   */
  #storedApart(stored: Assignment, target: Expression): Statement[] {
    const copy = structuredClone({ ...stored, target: this.#inShadow(target) });
    return this.#comparison.inFirst([stored], { passed: [copy] });
  }

  #load(place: Expression, original: Expression): Expression {
    const indices: Expression[] = [];
    const open = mapIndices(place, (index) => {
      const name = `${this.#names.the("index")}_${indices.push(index)}`;
      return quote().expression`${name}`;
    });
    const load = this.#loadFunction(open, this.#program.valueTypeOf(original), indices.length);
    // A negative index is out of bounds, before and after its conversion to u32.
    const args = indices.map((index) => quote(index.span).expression`u32(${index})`);
    return quote(place.span).expression`${load}(${args})`;
  }

  /**
   * Returns the name of the function that loads a place whose `count` indices are its parameters.
   */
  #loadFunction(place: Expression, type: Type, count: number): string {
    const own = printExpression(place);
    const known = this.#loads.get(own);
    if (known) return known.name;
    const name = this.#names.fresh("load");
    const parameters = Array.from({ length: count }, (_, i) => `${this.#names.the("index")}_${i + 1}: u32`);
    const wgsl = `fn ${name}(${parameters.join(", ")}) -> ${printType(typeExpressionOf(type))} {
      if (${this.#names.the("replica")} == 0u) { return ${own}; }
      return ${printExpression(this.#inShadow(place))};
    }`;
    this.#loads.set(own, { name, wgsl });
    return name;
  }

  #inShadow(place: Expression): Expression {
    return mapExpression(place, (part) =>
      part.kind === "identifier" && this.#hasShadow(part)
        ? { ...part, name: shadowName(this.#names, part.name) }
        : part,
    );
  }

  #hasShadow(place: Expression): boolean {
    const root = rootVariable(this.#program, place);
    return root !== undefined && this.#shadowed.has(root.variable.name);
  }
}
