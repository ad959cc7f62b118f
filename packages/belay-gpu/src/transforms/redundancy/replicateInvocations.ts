/**
 * Rewrites entry points to run both replicas of each invocation in one workgroup of double size.
 * Each invocation knows its replica, its workgroup and its index.
 *
 * Before:   @compute @workgroup_size(8, 8)
 *           fn main(@builtin(global_invocation_id) id: vec3u) { body }
 * After:    @compute @workgroup_size(16, 8)
 *           fn main(@builtin(global_invocation_id) in_id: vec3u, ...) {
 *             replica = in_index & 1;
 *             local = in_index >> 1;
 *             { let id = vec3(in_id.x >> 1, in_id.yz); body }
 *           }
 *
 * Entry points that see their neighbors in a subgroup first confirm that these are of one replica.
 *
 * The pairing selects the lanes of the replicas. Built-in values are computed so that the body sees
 * the values of the original kernel. With `replicas: 1` the workgroup keeps its size and only the
 * private variables are set. Early returns end the body alone, so code can be added after it.
 *
 * Requires: declareReport. `obstacles` has rejected kernels whose built-in values cannot be
 *           computed.
 * Ensures:  a valid module that sets `replica`, `local` and `workgroup` (and `partner`,
 *           `distance`).
 * Order:    before the comparing transforms.
 * Source:   Wadden et al. 2014, section 6.
 */
import type { FunctionDeclaration, Module } from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import { invocationsOf, workgroupSizeOf, wrapEntryPoint } from "../shared/entryPointWrapper.ts";
import type { Names } from "../shared/names.ts";
import { type DoubledPairing, distanceOf, doubledWorkgroup, subgroupCheck } from "./pairing.ts";

/** The entry points to wrap, and the lanes of their replicas. */
export interface ReplicateInvocationsOptions {
  readonly replicas: 1 | 2;
  readonly pairing: DoubledPairing;
  /** The names of the entry points to wrap. */
  readonly entryPoints: ReadonlySet<string>;
  /**
   * Those that see their neighbors in a subgroup. The pairing must be `"subgroups"` for them.
   * Default: none.
   */
  readonly seeingSubgroups?: ReadonlySet<string>;
  /**
   * True to set `partner`, the ballot bit of the other replica. The module must enable subgroups.
   */
  readonly subgroups: boolean;
}

/** Returns the module with wrapped entry points. */
export function replicateInvocations(
  program: Program,
  names: Names,
  options: ReplicateInvocationsOptions,
): Module {
  const { declarations } = quote();
  const distance = declarations`var<private> ${names.the("distance")}: u32;`;
  const partner = declarations`var<private> ${names.the("partner")}: vec4<u32>;`;
  const { module } = program;
  return {
    ...module,
    declarations: [
      ...module.declarations.flatMap((declaration) =>
        declaration.kind === "function" && options.entryPoints.has(declaration.name)
          ? wrap(program, names, options, declaration)
          : [declaration],
      ),
      ...(options.replicas === 2 && options.pairing === "half-subgroup" ? distance : []),
      ...(options.subgroups ? partner : []),
      ...(options.seeingSubgroups?.size ? declarations`${subgroupCheck(names)}` : []),
    ],
  };
}

const inputs: ReadonlyMap<string, string> = new Map([
  ["workgroup_id", "vec3<u32>"],
  ["local_invocation_index", "u32"],
  ["local_invocation_id", "vec3<u32>"],
  ["global_invocation_id", "vec3<u32>"],
  ["subgroup_invocation_id", "u32"],
  ["subgroup_size", "u32"],
]);

function wrap(
  program: Program,
  names: Names,
  { replicas, pairing, subgroups, seeingSubgroups }: ReplicateInvocationsOptions,
  fn: FunctionDeclaration,
): FunctionDeclaration[] {
  const { statements } = quote(fn.nameSpan);
  const workgroup = `${names.the("workgroup")} = ${names.the("in_workgroup_id")};`;
  if (replicas === 1) {
    const before = statements`${workgroup} ${names.the("local")} = ${names.the("in_local_invocation_index")};`;
    return wrapEntryPoint(program, names, fn, { inputs, derived: {}, before, attributes: fn.attributes });
  }
  const doubled = doubledWorkgroup(pairing, names, workgroupSizeOf(program, fn));
  const checked = [
    ...["local_invocation_index", "subgroup_invocation_id", "subgroup_size"].map((id) =>
      names.the(`in_${id}`),
    ),
    invocationsOf(program, fn),
  ];
  const before = statements`
    ${workgroup}
    ${doubled.prologue}
    ${names.the("replica")} = ${doubled.replica};
    ${names.the("local")} = ${doubled.local};
    ${subgroups ? ballotBit(names, distanceOf(pairing, names)) : ""}
    ${seeingSubgroups?.has(fn.name) ? `${names.the("check_subgroup")}(${checked.join(", ")});` : ""}`;
  const attributes = fn.attributes.map((attribute) => {
    if (attribute.name !== "workgroup_size") return attribute;
    const { expression } = quote(attribute.span);
    return { ...attribute, args: doubled.size.map((size) => expression`${size}`) };
  });
  return wrapEntryPoint(program, names, fn, { inputs, derived: doubled.derived, before, attributes });
}

/** Returns the statement that sets the ballot bit of the lane that is `distance` away. */
function ballotBit(names: Names, distance: string): string {
  const lane = `(${names.the("in_subgroup_invocation_id")} ^ ${distance})`;
  const word = (n: number) => `select(0u, 1u << (${lane} & 31u), (${lane} >> 5u) == ${n}u)`;
  return `${names.the("partner")} = vec4<u32>(${[0, 1, 2, 3].map(word).join(", ")});`;
}
