import type { SumAccessesOptions } from "./sumEnds.ts";
/**
 * Rewrites kernels to add up a checksum of their loads from buffers, or of their stores to them.
 * The sums of each dispatch go to a slot.
 *
 * Before:   b[i] = a[i];
 * After:    fn load_1(i) -> T { let value = a[i]; sum_of_a += quad(i, value); return value; }
 *           store_1(i, load_1(i));
 *           atomicAdd(&sums[0], sum_of_a.x); ...
 *           workgroupBarrier();
 *           for (part ...) { atomicAdd(&slots[... + part], atomicLoad(&sums[part])); }
 *
 * An atomic operation on memory per subgroup made a copy take 3.4 times as long (NVIDIA H200). One
 * on workgroup memory per invocation takes less time than a sum over the subgroup.
 *
 * The host passes the first slot and compares the sums of loads with those of earlier stores. The
 * third sum counts places. It shows which dispatches access each word of a buffer equally often.
 *
 * Requires: access normal form, declareReport, entry points without early returns.
 * Ensures:  a valid module with the bindings of the slots and the table.
 * Order:    last, in place of `protectMemory`.
 * Source:   Blum et al. 1994, offline checking.
 */

import { dependencesOfPlaces } from "../../analysis/dependences.ts";
import { memoryAccesses } from "../../analysis/memoryAccesses.ts";
import { knownWorkgroupSize } from "../../analysis/workgroupSize.ts";
import type { FunctionDeclaration, Module } from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import { mapFunctions, withDeclarations } from "../shared/mapFunctions.ts";
import type { Names } from "../shared/names.ts";
import { AccessSums } from "./accessSums.ts";
import { GeneratedDeclarations } from "./generatedDeclarations.ts";
import { SumEnds } from "./sumEnds.ts";
import { summedAccesses } from "./summedAccesses.ts";

/** Returns the module whose kernels sum their accesses. */
export function sumAccesses(program: Program, names: Names, options: SumAccessesOptions): Module {
  const library = new GeneratedDeclarations();
  const rewritten = new Map<FunctionDeclaration, FunctionDeclaration>();
  for (const { functions, entryPoint, summed } of options.kernels) {
    const kernel = [...functions].find(({ name }) => name === entryPoint)!;
    const sums = new AccessSums(program, names, library);
    const ends = new SumEnds(names, library, options, kernel, knownWorkgroupSize(program, kernel)!);
    const dependsOn = dependencesOfPlaces(program, kernel);
    const wanted = [...memoryAccesses(program, functions)].flatMap(([variable, accesses]) => {
      const how = summed.get(variable.name);
      return how ? [{ ...how, variable, accesses }] : [];
    });
    for (const { variable, accesses, site, isCounted } of wanted.sort((a, b) => a.row - b.row)) {
      const way = summedAccesses(program, kernel, variable, accesses, dependsOn, site);
      if ("why" in way) throw new Error(`${variable.name} is not summed: ${way.why}`);
      for (const [expression, number] of way.classOf)
        sums.see(expression, { kind: way.kind, number, isCounted });
      const classes = way.classes.map((each, i) => ({ ...each, sum: sums.sum(variable.name, i, isCounted) }));
      ends.add(classes, isCounted);
    }
    for (const fn of functions) {
      const own = sums.function(fn);
      rewritten.set(fn, fn === kernel ? ends.endOf(own) : own);
    }
  }
  const module = mapFunctions(program.module, (fn) => rewritten.get(fn) ?? fn);
  return withDeclarations(module, library.declarations);
}
