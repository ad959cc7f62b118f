/**
 * Wraps entry points so that each invocation knows its replica, its workgroup and its index; doubles the workgroup.
 *
 * Before:  @compute @workgroup_size(8, 8) fn main(@builtin(local_invocation_id) id: vec3u) { body }
 * After:   fn main_1(id: vec3u) { body }
 *          @compute @workgroup_size(128) fn main(@builtin(local_invocation_index) index: u32, ...) {
 *            replica = index & 1; local = index >> 1; main_1(vec3(local % 8, local / 8, 0)); }
 *
 * The doubled workgroup is flat, so that the two replicas of an invocation are neighbours in one subgroup. Built-in
 * values are derived such that the body sees those of the original kernel. With `replicas: 1` the kernel keeps its
 * shape and only learns who it is. The body becomes a function of its own: its early returns end there, and what
 * must run last can follow the call.
 *
 * Requires: declareReport.   Ensures: valid module; `replica`, `local`, `workgroup` (and `lane`, `partner`) are set.
 * Rejects:  nothing; `obstacles` has found what can't be derived.   Order: before the comparing transforms.
 * Source:   Wadden et al. 2014, section 6.
 */
import type { FunctionDeclaration, Module } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { quote } from "../wgsl/quote.ts";
import { invocationsOf, workgroupSizeOf, wrapEntryPoint } from "./entryPointWrapper.ts";
import type { Names } from "./names.ts";

export interface ReplicateInvocationsOptions {
  readonly replicas: 1 | 2;
  /** Names of the entry points to wrap. */
  readonly entryPoints: ReadonlySet<string>;
  /** Sets `partner`, the ballot bit of the other replica; needs `enable subgroups`. */
  readonly subgroups: boolean;
}

export function replicateInvocations(
  program: Program,
  names: Names,
  options: ReplicateInvocationsOptions,
): Module {
  const { declarations } = quote();
  const added = [
    ...(options.replicas === 2 ? declarations`var<private> ${names.the("lane")}: u32;` : []),
    ...(options.subgroups ? declarations`var<private> ${names.the("partner")}: vec4<u32>;` : []),
  ];
  const module = program.module;
  return {
    ...module,
    declarations: [
      ...module.declarations.flatMap((declaration) =>
        declaration.kind === "function" && options.entryPoints.has(declaration.name)
          ? wrap(program, names, options, declaration)
          : [declaration],
      ),
      ...added,
    ],
  };
}

function wrap(
  program: Program,
  names: Names,
  options: ReplicateInvocationsOptions,
  fn: FunctionDeclaration,
): FunctionDeclaration[] {
  const inputs = new Map<string, string>([
    ["workgroup_id", "vec3<u32>"],
    ["local_invocation_index", "u32"],
  ]);
  if (options.subgroups) inputs.set("subgroup_invocation_id", "u32");
  const index = names.the("in_local_invocation_index");
  const lane = names.the("in_subgroup_invocation_id");
  const partner = (word: number) => `select(0u, 1u << ((${lane} ^ 1u) & 31u), (${lane} >> 5u) == ${word}u)`;
  const { statements } = quote(fn.nameSpan);
  const doubled = statements`
    ${names.the("lane")} = ${index};
    ${names.the("replica")} = ${index} & 1u;
    ${names.the("local")} = ${index} >> 1u;`;
  const before = [
    ...statements`${names.the("workgroup")} = ${names.the("in_workgroup_id")};`,
    ...(options.replicas === 2 ? doubled : statements`${names.the("local")} = ${index};`),
    ...(options.subgroups
      ? statements`${names.the("partner")} = vec4<u32>(${[0, 1, 2, 3].map(partner).join(", ")});`
      : []),
  ];
  const size = `${invocationsOf(program, fn)} * 2u`;
  const attributes = fn.attributes.map((attribute) =>
    attribute.name === "workgroup_size" && options.replicas === 2
      ? { ...attribute, args: [quote(attribute.span).expression`${size}`] }
      : attribute,
  );
  const derived = options.replicas === 2 ? localIds(program, names, fn) : {};
  return wrapEntryPoint(program, names, fn, { inputs, derived, before, attributes });
}

/** The local ids of the original workgroup, from `local`. */
function localIds(program: Program, names: Names, fn: FunctionDeclaration): Record<string, string> {
  const [x, y, z] = workgroupSizeOf(program, fn);
  const local = names.the("local");
  const id =
    y === "1u" && z === "1u"
      ? `vec3<u32>(${local}, 0u, 0u)`
      : z === "1u"
        ? `vec3<u32>(${local} % ${x}, ${local} / ${x}, 0u)`
        : `vec3<u32>(${local} % ${x}, ${local} / ${x} % ${y}, ${local} / (${x} * ${y}))`;
  return { local_invocation_index: local, local_invocation_id: id };
}
