/**
 * Checks what kernels load from coded buffers, and keeps the check words of what they store up to date.
 *
 * Before:  x = a[i];
 * After:   fn load(g) -> W { let data = granules_a[g]; let s = syndrome(data, arena[table[0].x + g]);
 *            if (s != 0) { return repaired(data, s, 0, g); } return data; }
 *          x = load_1(i);
 *
 * What is found is corrected in registers, counted and recorded in the report. Memory is left to the host: a kernel that
 * wrote back would race with its other invocations.
 *
 * Requires: access normal form, declareReport.   Ensures: valid module; adds the bindings of the arena and the table.
 * Order:    last: redundancy sees the program's own accesses.
 * Source:   Maruyama, Nukada and Matsuoka 2009, section 4, with check words apart from the data.
 */
import { uniformity } from "../../analysis/uniformity.ts";
import type { FunctionDeclaration, GlobalVariable, Module } from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import { walk } from "../../wgsl/traverse.ts";
import { mapFunctions } from "../mapFunctions.ts";
import type { Names } from "../names.ts";
import { Granules, type GranulesOptions } from "./granules.ts";
import { type CheckedKernel, WordBuffers } from "./wordBuffers.ts";

export interface ProtectMemoryOptions extends GranulesOptions {
  /** What the functions of each kernel check; no two kernels share one that accesses a checked variable. */
  readonly kernels: readonly (Omit<CheckedKernel, "uniform"> & {
    readonly functions: ReadonlySet<FunctionDeclaration>;
  })[];
}

export function protectMemory(program: Program, names: Names, options: ProtectMemoryOptions): Module {
  const granules = new Granules(names, options);
  const buffers = new WordBuffers(program, names, granules);
  const uniform = uniformity(program).expressions;
  const module = mapFunctions(program.module, (fn) => {
    const kernel = options.kernels.find(({ functions }) => functions.has(fn));
    return kernel ? buffers.function(fn, { ...kernel, uniform }) : fn;
  });
  const named = new Set<string>();
  for (const declaration of module.declarations) {
    walk(declaration, (node) => {
      if (node.kind === "identifier") named.add(node.name);
    });
  }
  const isGone = ({ name }: GlobalVariable) =>
    !named.has(name) && options.kernels.some(({ checked }) => checked.has(name));
  return {
    ...module,
    declarations: [
      ...module.declarations.filter((d) => d.kind !== "globalVariable" || !isGone(d)),
      ...granules.declarations,
      ...buffers.declarations,
    ],
  };
}
