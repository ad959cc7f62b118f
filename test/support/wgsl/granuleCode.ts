import type { GranuleCode } from "belay-gpu/internal/transforms/memory/wordValues";
import type { Type } from "belay-gpu/internal/wgsl/types";
import { typed } from "./goldens.ts";

/** Returns a type of WGSL. `Pair` and `Padded` are structs. */
export function typeOf(text: string): Type {
  const program = typed(`
    enable f16;
    struct Pair { first: f32, second: vec2u }
    struct Padded { at: vec3f, count: u32, list: array<vec3f, 2> }
    var<private> of_type: ${text};`);
  const variable = program.module.declarations.at(-1);
  if (variable?.kind !== "globalVariable") throw new Error("the last declaration is the variable");
  return program.declaredTypeOf(variable);
}

/** Returns code that accesses granules of this size by functions `load` and `store`. */
export function granuleCode(granuleBytes: number): GranuleCode {
  let names = 0;
  return {
    granuleBytes,
    load: (granule) => `load(${granule})`,
    store: (granule, data) => `store(${granule}, ${data});`,
    fresh: (base) => `${base}_${++names}`,
  };
}
