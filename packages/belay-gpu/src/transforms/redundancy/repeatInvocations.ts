/**
 * Rewrites entry points to run each invocation twice, one replica after the other, on swapped
 * lanes. The workgroup keeps its size. An invocation of a kernel with subgroup operations keeps its
 * lane, because its neighbors belong to its inputs.
 *
 * Before:   var<workgroup> tile: array<f32, 64>;
 *           @compute @workgroup_size(64)
 *           fn main(@builtin(global_invocation_id) id: vec3u) { body }
 * After:    @compute @workgroup_size(64)
 *           fn main(@builtin(global_invocation_id) in_id: vec3u, ...) {
 *             for (var pass = 0; pass < 2 + zero; pass++) {
 *               replica = 1 - pass ^ zero;
 *               local = in_index ^ replica;
 *               { let id = vec3(in_id.x ^ replica, in_id.yz); body }
 *               if (pass == 0) {
 *                 keep();
 *                 workgroupBarrier(); tile[in_index] = 0; workgroupBarrier();
 *               }
 *             }
 *           }
 *
 * The second replica runs first, stores nothing and keeps its signature. Memory is then reset:
 * workgroup memory to zero, private variables and those of functions to their initial values. If a
 * kernel works in place, all second replicas of a workgroup load before a first one stores.
 *
 * Both passes must execute the same instructions, because a compiler that fuses operations may
 * round differently. The generated code hides the number of passes, and the replica of each pass,
 * from the compiler. The compiler then cannot specialize a pass.
 *
 * Requires: declareReport; kernels that load no storage after they have stored there.
 * Ensures:  a valid module that sets `replica`, `local` and `workgroup`.
 * Order:    before the comparing transforms.
 * Source:   an alternative to Wadden et al. 2014, section 6, where both replicas run at once.
 */
import { buffersInPlace } from "../../analysis/bindings.ts";
import { reachableFrom, variablesOf } from "../../analysis/callGraph.ts";
import { addressSpaceOf } from "../../analysis/places.ts";
import type { FunctionDeclaration, GlobalVariable, Module, Statement } from "../../wgsl/ast.ts";
import { printType } from "../../wgsl/printer.ts";
import type { Program } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import { typeExpressionOf } from "../../wgsl/typeNames.ts";
import { hiddenZero, secondTextOf, zeroOf } from "../shared/diversity.ts";
import { invocationsOf, workgroupSizeOf, wrapEntryPoint } from "../shared/entryPointWrapper.ts";
import type { Names } from "../shared/names.ts";
import type { Comparison } from "./comparison/comparison.ts";
import { keptWorkgroup, swappedWorkgroup } from "./pairing.ts";
import { zeroed } from "./zeroWorkgroupMemory.ts";

/** The entry points to rewrite, and the comparison that they use. */
export interface RepeatInvocationsOptions {
  /** The names of the entry points to wrap. */
  readonly entryPoints: ReadonlySet<string>;
  /** The names of those whose invocations stay on their lanes. */
  readonly keepingLanes: ReadonlySet<string>;
  readonly comparison: Comparison;
  /** True if replicas will have different texts. Default false. */
  readonly texts?: boolean;
}

/** Returns the module whose entry points run each invocation twice. */
export function repeatInvocations(
  program: Program,
  names: Names,
  { entryPoints, keepingLanes, comparison, texts = false }: RepeatInvocationsOptions,
): Module {
  const declarations = program.module.declarations.flatMap((declaration) =>
    declaration.kind === "function" && entryPoints.has(declaration.name)
      ? wrap(program, names, declaration, {
          comparison,
          keepsLanes: keepingLanes.has(declaration.name),
          texts,
        })
      : [declaration],
  );
  return { ...program.module, declarations: [...declarations, ...comparison.takeDeclarations()] };
}

const inputs: ReadonlyMap<string, string> = new Map([
  ["workgroup_id", "vec3<u32>"],
  ["num_workgroups", "vec3<u32>"],
  ["local_invocation_index", "u32"],
  ["local_invocation_id", "vec3<u32>"],
  ["global_invocation_id", "vec3<u32>"],
  ["subgroup_invocation_id", "u32"],
  ["subgroup_id", "u32"],
]);

function wrap(
  program: Program,
  names: Names,
  fn: FunctionDeclaration,
  {
    comparison,
    keepsLanes,
    texts,
  }: { readonly comparison: Comparison; readonly keepsLanes: boolean; readonly texts: boolean },
): FunctionDeclaration[] {
  const { statements } = quote(fn.nameSpan);
  const [pass, zero] = [names.the("pass"), zeroOf(names)];
  const { local, derived } = keepsLanes
    ? keptWorkgroup(names, `(${pass} * ${zero})`)
    : swappedWorkgroup(names, workgroupSizeOf(program, fn));
  return wrapEntryPoint(program, names, fn, {
    inputs,
    derived,
    before: statements`
      ${names.the("workgroup")} = ${names.the("in_workgroup_id")};
      ${comparison.lane()} = ${names.the("in_local_invocation_index")};
      let ${zero} = ${hiddenZero(names)};`,
    around: (call) => statements`
      for (var ${pass} = 0u; ${pass} < 2u + ${zero}; ${pass}++) {
        ${names.the("replica")} = (1u - ${pass}) ^ ${zero};
        ${names.the("local")} = ${local};
        ${texts ? `let ${secondTextOf(names)} = ${pass} == 0u;` : ""}
        ${call}
        if (${pass} == 0u) { ${comparison.keepFinal()} ${restored(program, names, fn, keepsLanes)} }
      }`,
    repeats: true,
    ...(texts && { secondText: secondTextOf(names) }),
    attributes: fn.attributes,
  });
}

/**
 * Returns the statements that reset memory to its state before the first pass. With `gathers`, all
 * invocations wait for each other, so that subgroups are complete again.
 */
function restored(program: Program, names: Names, fn: FunctionDeclaration, gathers: boolean): Statement[] {
  const { statements } = quote(fn.nameSpan);
  const functions = reachableFrom(program, [fn]);
  const used = [...variablesOf(program, functions)].filter(({ name }) => !names.isGenerated(name));
  const of = (space: string) => used.filter((variable) => addressSpaceOf(variable) === space);
  const team = { index: names.the("in_local_invocation_index"), count: invocationsOf(program, fn) };
  const memory = of("workgroup").map((variable) => zeroed(program, names, variable, team));
  const inPlace = [...buffersInPlace(program, functions)].some(({ name }) => !names.isGenerated(name));
  return [
    ...of("private").flatMap((variable) => initialized(program, variable)),
    ...(inPlace ? statements`storageBarrier();` : []),
    ...(memory.length > 0 ? statements`workgroupBarrier(); ${memory.join("\n")}` : []),
    ...(memory.length > 0 || gathers ? statements`workgroupBarrier();` : []),
  ];
}

/** Returns the statement that sets a private variable to its initial value. */
function initialized(program: Program, variable: GlobalVariable): Statement[] {
  const { statements } = quote(variable.span);
  return variable.initializer
    ? statements`${variable.name} = ${structuredClone(variable.initializer)};`
    : statements`${variable.name} = ${printType(typeExpressionOf(program.declaredTypeOf(variable)))}();`;
}
