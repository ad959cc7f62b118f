/**
 * Runs each workgroup twice, as two workgroups of a doubled grid, and lets each know which of the two it is.
 *
 * Before:  @compute @workgroup_size(64) fn main(@builtin(workgroup_id) id: vec3u) { body }
 * After:   override doubling: u32 = 0;
 *          @compute @workgroup_size(64) fn main(@builtin(workgroup_id) in_id: vec3u, ...) {
 *            let twin = twin_of(in_id, num_workgroups, doubling);
 *            replica = twin.replica; workgroup = twin.id; { let id = twin.id; body } }
 *
 * The workgroup keeps its shape, so local ids and subgroup operations stay what they are. The host doubles one
 * dimension of the grid and says which: along x, twins are neighbours; along y and z, the plane that the dimension
 * spans with the one below it is numbered anew, so that they are neighbours too, run at the same time and share caches.
 *
 * Twins that wait for each other (`blocking`) draw their ids as tickets instead (see mailbox.ts).
 *
 * Where it is decided on the device (`doubling` 3), the dimension is read from the report. That may also say that a grid is
 * dispatched twice as it is (`inTurn`), and which replica runs: 4 = the first, 5 = the second. What is read from memory is
 * uniform to no validator; where the kernel needs uniform ids, it takes the way of `workgroupUniformLoad`.
 *
 * Requires: declareReport with `pair`.   Ensures: valid module; `replica`, `pair`, `local` and `workgroup` are set.
 * Rejects:  nothing.   Order: before the comparing transforms.
 * Source:   Wadden et al. 2014, section 7 (Inter-Group).
 */
import { uniformVariables } from "../../analysis/uniformity.ts";
import type { FunctionDeclaration, Module } from "../../wgsl/ast.ts";
import type { Program, Target } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import { invocationsOf, wrapEntryPoint } from "../shared/entryPointWrapper.ts";
import type { Names } from "../shared/names.ts";
import { inTurnOf } from "./lastArriverCommit.ts";
import { mailboxDeclarations, mailboxWorkgroupBytes } from "./mailbox.ts";

export interface ReplicateWorkgroupsOptions {
  /**
   * Names of the entry points to wrap; of those among them whose twins wait for each other; and of
   * those that may run in turn.
   */
  readonly entryPoints: ReadonlySet<string>;
  readonly blocking?: ReadonlySet<string>;
  readonly inTurn?: ReadonlySet<string>;
  /**
   * Those among the latter that may run at once, too, as whoever comes last stores
   * (lastArriverCommit.ts).
   */
  readonly arriving?: ReadonlySet<string>;
  /** Words of mail (see mailbox.ts). */
  readonly mail?: number;
}

/** The override that says which dimension of the grid is doubled. */
export const doublingOf = (names: Names): string => names.the("doubling");

/** Bytes of workgroup memory that the wrapper of an entry point takes. */
export function wrapperBytes(program: Program, fn: FunctionDeclaration, isBlocking: boolean): number {
  return (needsUniformIds(fn, uniformVariables(program)) ? 16 : 0) + (isBlocking ? mailboxWorkgroupBytes : 0);
}

const needsUniformIds = (fn: FunctionDeclaration, uniform: ReadonlySet<Target>) =>
  fn.parameters.some((parameter) => uniform.has(parameter));

export function replicateWorkgroups(
  program: Program,
  names: Names,
  {
    entryPoints,
    blocking = new Set(),
    inTurn = new Set(),
    arriving = new Set(),
    mail = 0,
  }: ReplicateWorkgroupsOptions,
): Module {
  const uniform = uniformVariables(program);
  let readsDimension = false;
  const wrapped = program.module.declarations.flatMap((declaration) => {
    if (declaration.kind !== "function" || !entryPoints.has(declaration.name)) return [declaration];
    const isUniform = needsUniformIds(declaration, uniform);
    readsDimension ||= isUniform;
    const { name } = declaration;
    return wrap(program, names, declaration, {
      isUniform,
      isBlocking: blocking.has(name),
      isArriving: arriving.has(name),
    });
  });
  const { declarations } = quote();
  return {
    ...program.module,
    declarations: [
      ...wrapped,
      ...declarations`override ${doublingOf(names)}: u32 = 0u;`,
      ...declarations`${twins(names, inTurn.size > 0)}`,
      ...(readsDimension ? declarations`var<workgroup> ${names.the("dimension")}: u32;` : []),
      ...(blocking.size > 0 ? declarations`${ticketed(names)} ${mailboxDeclarations(names, mail)}` : []),
    ],
  };
}

const inputs: ReadonlyMap<string, string> = new Map([
  ["workgroup_id", "vec3<u32>"],
  ["num_workgroups", "vec3<u32>"],
  ["local_invocation_index", "u32"],
]);

function wrap(
  program: Program,
  names: Names,
  fn: FunctionDeclaration,
  { isUniform, isBlocking, isArriving }: Record<"isUniform" | "isBlocking" | "isArriving", boolean>,
): FunctionDeclaration[] {
  const n = (thing: string) => names.the(thing);
  const { statements } = quote(fn.nameSpan);
  const grid = `${n("report")}.grid`;
  const fromReport = isUniform
    ? statements`if (${n("local")} == 0u) { ${n("dimension")} = ${grid}; } ${n("doubled")} = workgroupUniformLoad(&${n("dimension")});`
    : statements`${n("doubled")} = ${grid};`;
  const start = `${n("twin_of")}(${n("in_workgroup_id")}, ${n("in_num_workgroups")}, ${n("doubled")})`;
  const twin = isBlocking
    ? statements`
      let ${n("groups")} = ${start}.groups;
      let ${n("ticket")} = ${n("draw_ticket")}(2u * ${product(n("groups"))} - 1u);
      let ${n("twin")} = ${n("twin_with")}(${n("ticket")}.x, ${n("groups")});`
    : statements`let ${n("twin")} = ${start};`;
  const [id, groups] = [`${n("twin")}.id`, `${n("twin")}.groups`];
  const before = [
    ...statements`
      ${n("local")} = ${n("in_local_invocation_index")};
      var ${n("doubled")} = ${doublingOf(names)};
      if (${n("doubled")} == 3u) { ${fromReport} }`,
    ...twin,
    ...statements`
      ${n("replica")} = ${n("twin")}.replica;
      ${numbered(names, id, groups)}
      ${isArriving ? `${inTurnOf(names)} = ${n("doubled")} > 3u;` : ""}`,
  ];
  const enter = statements`${n("enter_place")}(${n("ticket")}.y, ${invocationsOf(program, fn)});`;
  const leave = statements`${n("leave_place")}();`;
  return wrapEntryPoint(program, names, fn, {
    inputs,
    derived: { workgroup_id: id, num_workgroups: groups },
    before: isBlocking ? [...before, ...enter] : before,
    after: isBlocking ? leave : [],
    attributes: fn.attributes,
  });
}

/** Says which workgroup it is, of the program's grid. */
const numbered = (names: Names, id: string, groups: string) => `
  ${names.the("pair")} = ${id}.x + ${groups}.x * (${id}.y + ${groups}.y * ${id}.z);
  ${names.the("workgroup")} = ${id};`;

const product = (vector: string) => `${vector}.x * ${vector}.y * ${vector}.z`;

/** Which replica of which workgroup a ticket stands for: twins have tickets behind each other. */
const ticketed = (names: Names): string => `
  fn ${names.the("twin_with")}(ticket: u32, groups: vec3<u32>) -> ${names.the("Twin")} {
    let pair = ticket >> 1u;
    let row = pair / groups.x;
    return ${names.the("Twin")}(ticket & 1u, vec3<u32>(pair % groups.x, row % groups.y, row / groups.y), groups);
  }`;

/** Which replica of which workgroup stands at `id` of a grid whose dimension `doubled` is. */
const twins = (names: Names, inTurn: boolean): string => `
  struct ${names.the("Twin")} { replica: u32, id: vec3<u32>, groups: vec3<u32> }
  fn ${names.the("twin_of")}(id: vec3<u32>, groups: vec3<u32>, doubled: u32) -> ${names.the("Twin")} {
    ${inTurn ? `if (doubled > 3u) { return ${names.the("Twin")}(doubled - 4u, id, groups); }` : ""}
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
  }`;
