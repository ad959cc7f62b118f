/**
 * Runs each workgroup twice, as two workgroups of a doubled grid, and lets each know which of the two it is.
 *
 * Before:  @compute @workgroup_size(64) fn main(@builtin(workgroup_id) id: vec3u) { body }
 * After:   override doubling: u32 = 0;
 *          fn main_1(id: vec3u) { body }
 *          @compute @workgroup_size(64) fn main(@builtin(workgroup_id) in_id: vec3u, ...) {
 *            let twin = twin_of(in_id, num_workgroups, doubling);
 *            replica = twin.replica; workgroup = twin.id; main_1(twin.id); }
 *
 * The workgroup keeps its shape, so local ids and subgroup operations stay what they are. The host doubles one
 * dimension of the grid and says which: along x, twins are neighbours; along y and z, the plane that the dimension
 * spans with the one below it is numbered anew, so that they are neighbours too, run at the same time and share caches.
 *
 * Where the host decides on the device (`doubling` 3), the dimension is read from the report. What is read from memory is
 * uniform to no validator; where the kernel needs uniform ids, it takes the way of `workgroupUniformLoad`.
 *
 * Requires: declareReport.   Ensures: valid module; `replica`, `pair`, `local` and `workgroup` are set.
 * Rejects:  nothing.   Order: before the comparing transforms.
 * Source:   Wadden et al. 2014, section 7 (Inter-Group).
 */
import { uniformVariables } from "../analysis/uniformity.ts";
import type { FunctionDeclaration, Module } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { quote } from "../wgsl/quote.ts";
import { wrapEntryPoint } from "./entryPointWrapper.ts";
import type { Names } from "./names.ts";

export interface ReplicateWorkgroupsOptions {
  /** Names of the entry points to wrap. */
  readonly entryPoints: ReadonlySet<string>;
}

/** The override that says which dimension of the grid is doubled. */
export const doublingOf = (names: Names): string => names.the("doubling");

export function replicateWorkgroups(
  program: Program,
  names: Names,
  { entryPoints }: ReplicateWorkgroupsOptions,
): Module {
  const uniform = uniformVariables(program);
  const isWrapped = (fn: FunctionDeclaration) => entryPoints.has(fn.name);
  const needsUniformIds = (fn: FunctionDeclaration) =>
    fn.parameters.some((parameter) => uniform.has(parameter));
  const { declarations } = quote();
  const wrapped = program.module.declarations.filter((d) => d.kind === "function").filter(isWrapped);
  const dimension = declarations`var<workgroup> ${names.the("dimension")}: u32;`;
  return {
    ...program.module,
    declarations: [
      ...program.module.declarations.flatMap((declaration) =>
        declaration.kind === "function" && isWrapped(declaration)
          ? wrap(program, names, declaration, needsUniformIds(declaration))
          : [declaration],
      ),
      ...declarations`${twins(names)}`,
      ...(wrapped.some(needsUniformIds) ? dimension : []),
    ],
  };
}

function wrap(
  program: Program,
  names: Names,
  fn: FunctionDeclaration,
  needsUniformIds: boolean,
): FunctionDeclaration[] {
  const [id, groups, local, doubled, twin, dimension] = [
    "in_workgroup_id",
    "in_num_workgroups",
    "in_local_invocation_index",
    "doubled",
    "twin",
    "dimension",
  ].map((thing) => names.the(thing));
  const { statements } = quote(fn.nameSpan);
  const grid = `${names.the("report")}.grid`;
  const fromReport = needsUniformIds
    ? statements`if (${local!} == 0u) { ${dimension!} = ${grid}; } ${doubled!} = workgroupUniformLoad(&${dimension!});`
    : statements`${doubled!} = ${grid};`;
  const before = statements`
    var ${doubled!} = ${doublingOf(names)};
    if (${doubled!} == 3u) { ${fromReport} }
    let ${twin!} = ${names.the("twin_of")}(${id!}, ${groups!}, ${doubled!});
    ${names.the("replica")} = ${twin!}.replica;
    ${names.the("pair")} = ${twin!}.id.x + ${twin!}.groups.x * (${twin!}.id.y + ${twin!}.groups.y * ${twin!}.id.z);
    ${names.the("workgroup")} = ${twin!}.id;
    ${names.the("local")} = ${local!};`;
  return wrapEntryPoint(program, names, fn, {
    inputs: new Map([
      ["workgroup_id", "vec3<u32>"],
      ["num_workgroups", "vec3<u32>"],
      ["local_invocation_index", "u32"],
    ]),
    derived: { workgroup_id: `${twin!}.id`, num_workgroups: `${twin!}.groups` },
    before,
    attributes: fn.attributes,
  });
}

/** Which replica of which workgroup stands at `id` of a grid whose dimension `doubled` is. */
const twins = (names: Names): string => `
  override ${doublingOf(names)}: u32 = 0u;
  struct ${names.the("Twin")} { replica: u32, id: vec3<u32>, groups: vec3<u32> }
  fn ${names.the("twin_of")}(id: vec3<u32>, groups: vec3<u32>, doubled: u32) -> ${names.the("Twin")} {
    if (doubled == 1u) {
      let at = id.x + groups.x * id.y;
      let pair = at >> 1u;
      return ${names.the("Twin")}(
        at & 1u, vec3<u32>(pair % groups.x, pair / groups.x, id.z), vec3<u32>(groups.x, groups.y >> 1u, groups.z));
    }
    if (doubled == 2u) {
      let at = id.y + groups.y * id.z;
      let pair = at >> 1u;
      return ${names.the("Twin")}(
        at & 1u, vec3<u32>(id.x, pair % groups.y, pair / groups.y), vec3<u32>(groups.x, groups.y, groups.z >> 1u));
    }
    return ${names.the("Twin")}(
      id.x & 1u, vec3<u32>(id.x >> 1u, id.y, id.z), vec3<u32>(groups.x >> 1u, groups.y, groups.z));
  }
  var<private> ${names.the("pair")}: u32;`;
