/**
 * Rewrites entry points to run each workgroup twice, as two workgroups of a doubled grid. Each
 * workgroup computes which replica of which original workgroup it is.
 *
 * Before:   @compute @workgroup_size(64)
 *           fn main(@builtin(workgroup_id) id: vec3u) { body }
 * After:    override doubling: u32 = 0;
 *           @compute @workgroup_size(64)
 *           fn main(@builtin(workgroup_id) in_id: vec3u, ...) {
 *             let twin = twin_of(in_id, num_workgroups, doubling);
 *             replica = twin.replica;
 *             workgroup = twin.id;
 *             { let id = twin.id; body }
 *           }
 *
 * The workgroup keeps its shape, so local ids and subgroup operations keep their values. The host
 * doubles one dimension of the grid and passes its number. Along x, twins are neighbors. Along y
 * and z, the plane of the dimension and the one below it is numbered anew, so that twins are
 * neighbors there too. Neighbors run at the same time and share caches.
 *
 * Twins that wait for each other (`blocking`) draw their ids as tickets instead (mailbox.ts).
 *
 * If the device decides the dimension (`doubling` 3), the kernel reads it from the report. The
 * report may also say that the grid is dispatched once per replica (`sequentialReplicas`), and
 * which replica runs: 4 is the first, 5 the second. No validator accepts values read from memory
 * as uniform. A kernel that needs uniform ids reads the dimension through `workgroupUniformLoad`.
 *
 * Requires: declareReport with `pairs`.
 * Ensures:  a valid module that sets `replica`, `pair`, `local` and `workgroup`.
 * Order:    before the comparing transforms.
 * Source:   Wadden et al. 2014, section 7 (Inter-Group).
 */
import { uniformity } from "../../analysis/uniformity.ts";
import type { FunctionDeclaration, Module } from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import { hiddenZero, secondTextOf, zeroOf } from "../shared/diversity.ts";
import { invocationsOf, wrapEntryPoint } from "../shared/entryPointWrapper.ts";
import type { Names } from "../shared/names.ts";
import { sequentialReplicasOf } from "./lastArriverCommit.ts";
import { mailboxDeclarations, mailboxWorkgroupBytes } from "./mailbox.ts";

/** The entry points to wrap, and the ways in which their twins may run. */
export interface ReplicateWorkgroupsOptions {
  /** The names of the entry points to wrap. */
  readonly entryPoints: ReadonlySet<string>;
  /** The entry points whose twins wait for each other. Default: none. */
  readonly blocking?: ReadonlySet<string>;
  /** The entry points that the host may dispatch once per replica. Default: none. */
  readonly sequentialReplicas?: ReadonlySet<string>;
  /**
   * The entry points of `sequentialReplicas` whose twins may also run at once, because the last
   * arriver stores (lastArriverCommit.ts). Default: none.
   */
  readonly arriving?: ReadonlySet<string>;
  /** The words of mail (mailbox.ts). Default 0. */
  readonly mail?: number;
  /** True if replicas will have different texts. Default false. */
  readonly texts?: boolean;
}

/** Returns the name of the override that selects the doubled dimension of the grid. */
export const doublingOf = (names: Names): string => names.the("doubling");

/** Returns the bytes of workgroup memory that the wrapper of an entry point needs. */
export function wrapperBytes(
  program: Program,
  fn: FunctionDeclaration,
  { blocking = false, texts = false }: { readonly blocking?: boolean; readonly texts?: boolean },
): number {
  return (needsUniformIds(program, fn, texts) ? 16 : 0) + (blocking ? mailboxWorkgroupBytes : 0);
}

/** Returns true if ids, or the choice of a text, decide something that must be uniform. */
function needsUniformIds(program: Program, fn: FunctionDeclaration, texts: boolean): boolean {
  const { variables, uniformlyReached } = uniformity(program);
  return (
    fn.parameters.some((parameter) => variables.has(parameter)) || (texts && uniformlyReached.has(fn.body))
  );
}

/** Returns the module whose entry points run as twins. */
export function replicateWorkgroups(
  program: Program,
  names: Names,
  {
    entryPoints,
    blocking = new Set(),
    sequentialReplicas = new Set(),
    arriving = new Set(),
    mail = 0,
    texts = false,
  }: ReplicateWorkgroupsOptions,
): Module {
  let readsDimension = false;
  const wrapped = program.module.declarations.flatMap((declaration) => {
    if (declaration.kind !== "function" || !entryPoints.has(declaration.name)) return [declaration];
    const isUniform = needsUniformIds(program, declaration, texts);
    readsDimension ||= isUniform;
    const { name } = declaration;
    return wrap(program, names, declaration, {
      isUniform,
      isBlocking: blocking.has(name),
      isArriving: arriving.has(name),
      hasTexts: texts,
    });
  });
  const { declarations } = quote();
  return {
    ...program.module,
    declarations: [
      ...wrapped,
      ...declarations`override ${doublingOf(names)}: u32 = 0u;`,
      ...declarations`${twins(names, sequentialReplicas.size > 0)}`,
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
  {
    isUniform,
    isBlocking,
    isArriving,
    hasTexts,
  }: Record<"isUniform" | "isBlocking" | "isArriving" | "hasTexts", boolean>,
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
  const texts = `
    let ${zeroOf(names)} = ${hiddenZero(names)};
    let ${secondTextOf(names)} = ${n("twin")}.replica != 0u;`;
  const before = [
    ...statements`
      ${n("local")} = ${n("in_local_invocation_index")};
      var ${n("doubled")} = ${doublingOf(names)};
      if (${n("doubled")} == 3u) { ${fromReport} }`,
    ...twin,
    ...statements`
      ${n("replica")} = ${n("twin")}.replica;
      ${numbered(names, id, groups)}
      ${isArriving ? `${sequentialReplicasOf(names)} = ${n("doubled")} > 3u;` : ""}
      ${hasTexts ? texts : ""}`,
  ];
  const enter = statements`${n("enter_place")}(${n("ticket")}.y, ${invocationsOf(program, fn)});`;
  const leave = statements`${n("leave_place")}();`;
  return wrapEntryPoint(program, names, fn, {
    inputs,
    derived: { workgroup_id: id, num_workgroups: groups },
    before: isBlocking ? [...before, ...enter] : before,
    after: isBlocking ? leave : [],
    ...(hasTexts && { secondText: secondTextOf(names) }),
    attributes: fn.attributes,
  });
}

/** Returns the statements that set the ids of the workgroup in the program's grid. */
const numbered = (names: Names, id: string, groups: string) => `
  ${names.the("pair")} = ${id}.x + ${groups}.x * (${id}.y + ${groups}.y * ${id}.z);
  ${names.the("workgroup")} = ${id};`;

const product = (vector: string) => `${vector}.x * ${vector}.y * ${vector}.z`;

/**
 * Returns the function that maps a ticket to a replica of a workgroup. Twins have consecutive
 * tickets.
 */
const ticketed = (names: Names): string => `
  fn ${names.the("twin_with")}(ticket: u32, groups: vec3<u32>) -> ${names.the("Twin")} {
    let pair = ticket >> 1u;
    let row = pair / groups.x;
    return ${names.the("Twin")}(ticket & 1u, vec3<u32>(pair % groups.x, row % groups.y, row / groups.y), groups);
  }`;

/**
 * Returns the function that maps `id` of a grid with the doubled dimension `doubled` to a replica
 * of a workgroup.
 */
const twins = (names: Names, sequentialReplicas: boolean): string => `
  struct ${names.the("Twin")} { replica: u32, id: vec3<u32>, groups: vec3<u32> }
  fn ${names.the("twin_of")}(id: vec3<u32>, groups: vec3<u32>, doubled: u32) -> ${names.the("Twin")} {
    ${sequentialReplicas ? `if (doubled > 3u) { return ${names.the("Twin")}(doubled - 4u, id, groups); }` : ""}
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
