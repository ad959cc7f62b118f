/**
 * Gives the second replica its own copy of each storage buffer that a kernel changes in place, so that it never loads
 * what the first replica has already stored.
 *
 * Before:  a[i] = a[i] + 1;
 * After:   fn load_a(i: u32) -> u32 { if (replica == 0) { return a[i]; } return shadow_a[i]; }
 *          v = load_a(i) + 1; if (replica == 0) { a[i] = v; } else { shadow_a[i] = v; }
 *
 * A load becomes a call where it stands, one function for each shape of place, so that what is loaded, when and whether
 * stay as they were. Atomic operations and lengths stay with the original. Before a dispatch the host makes the copies
 * equal to the originals.
 *
 * Requires: access normal form, `replica`.   Ensures: valid module; adds the shadows' bindings.
 * Order:    after compareStores, which lets both replicas store to what has a shadow.
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

export interface ShadowBuffersOptions {
  readonly comparison: Comparison;
  /** Where the copies are bound, by the name of the buffer's variable. */
  readonly shadows: ReadonlyMap<string, BindingPoint>;
  /**
   * What runs replicated: the functions of each kernel, and the variables that it changes in place.
   */
  readonly kernels: readonly {
    readonly functions: ReadonlySet<FunctionDeclaration>;
    readonly shadowed: ReadonlySet<string>;
  }[];
}

/** The variable of the second replica's copy. */
const shadowName = (names: Names, variable: string): string => names.the(`shadow_${variable}`);

export function shadowBuffers(program: Program, names: Names, options: ShadowBuffersOptions): Module {
  // What kernels call stays their own: codes for memory may treat the same buffer in different
  // ways.
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

/** The second replica's copies. */
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

/** The rewriting of one kernel. */
class Shadowing {
  readonly #program: Program;
  readonly #names: Names;
  readonly #comparison: Comparison;
  /** The variables with shadows. */
  readonly #shadowed: ReadonlySet<string>;
  /** Load functions and their names, by the place that they load with its indices left open. */
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

  /** The functions that load. */
  loads(): Declaration[] {
    return [...this.#loads.values()].flatMap(({ wgsl }) => quote().declarations`${wgsl}`);
  }

  /** Each replica stores to its own copy. The operands are stable, so both stores may have them. */
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
    // A negative index and its u32 conversion are out of bounds alike.
    const args = indices.map((index) => quote(index.span).expression`u32(${index})`);
    return quote(place.span).expression`${load}(${args})`;
  }

  /** The function that loads a place whose `count` indices are its parameters. */
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
