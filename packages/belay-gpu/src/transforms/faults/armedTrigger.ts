/** The trigger that decides at each site if the armed fault strikes. */

import type { Pairing } from "../redundancy/pairing.ts";
import type { Names } from "../shared/names.ts";
import { faultExtent } from "./injectionWords.ts";

/** The functions that decide at each site if a fault strikes. */
export interface Trigger {
  /**
   * The WGSL of the functions that sites call: `is_hit(site)` and `is_hit_in(site, line)`, and
   * `is_spent()` in loops. An entry point begins with `aim()` and ends with `settle()`. With two
   * passes, each pass does.
   *
   * Occurrences are counted through both passes. Otherwise a fault that resets the number of the
   * pass would strike again for ever. `struck_clear`, `struck_mask` and `struck_component` say how
   * a struck value changes. The old value is stored in `struck`.
   */
  readonly declarations: string;
  /** Returns the declaration of the number of sites, as WGSL. Set if `declarations` use it. */
  readonly siteCount?: (sites: number) => string;
}

/** The way in which replicas run, which decides the struck invocations. */
export interface ArmedTriggerOptions {
  /**
   * The redundancy: `"none"`, `"selective"`, `"inter"`, or an Intra-Group flavor, whose replicas
   * run as `pairing` says.
   */
  readonly redundancy: string;
  readonly pairing: Pairing;
  /** True if the module may use subgroup operations. */
  readonly subgroups: boolean;
}

/** The number of neighboring lanes that are taken for a subgroup if the module cannot ask. */
const assumedSubgroup = 32;

/**
 * Returns the trigger that strikes as the report says. Drivers inline the functions that every site
 * calls, and compile branches and accesses to memory slowly. Sites therefore contain neither. An
 * invocation reads its part of the fault at its start, and writes the outcome at its end.
 */
export function armedTrigger(names: Names, options: ArmedTriggerOptions): Trigger {
  const n = (thing: string) => names.the(thing);
  const report = n("report");
  const variables = [
    "armed",
    "occurrence",
    "struck_first",
    "struck_others",
    "struck_line",
    "strikes",
    "fuel",
  ];
  const declarations = `
    ${variables.map((variable) => `var<private> ${n(variable)}: u32;`).join("\n")}
    var<private> ${n("struck_by_line")}: bool;
    ${struckVariables(names)}
    fn ${n("aim")}() {
      let here = all(${n("workgroup")} == vec3<u32>(
        ${report}.armed_workgroup_x, ${report}.armed_workgroup_y, ${report}.armed_workgroup_z));
      let own = (${n("replica")} == ${report}.armed_replica) | (${report}.armed_replica > 1u);
      let me = here & ${isStruckInvocation(names, options)};
      let mates = ${options.subgroups ? "subgroupAny(me)" : `here & ${isAssumedMate(names, options)}`};
      let now = ${report}.dispatch - ${report}.armed_dispatch <= ${report}.armed_dispatches;
      ${n("struck_by_line")} = ${report}.armed_extent == ${faultExtent.line}u;
      let aimed = select(me, mates, ${report}.armed_extent == ${faultExtent.subgroup}u) | ${n("struck_by_line")};
      ${n("armed")} = select(0u, ${report}.armed_site, aimed & now);
      ${n("struck_first")} = ${report}.armed_occurrence;
      ${n("struck_others")} = ${report}.armed_occurrences;
      ${n("struck_line")} = ${report}.armed_line;
      ${n("struck_clear")} = ${report}.armed_clear;
      ${n("struck_mask")} = ${report}.armed_mask;
      ${n("struck_component")} = ${report}.armed_component;
      ${n("strikes")} = 0u;
      ${n("fuel")} = ${report}.fuel;
    }
    fn ${n("is_hit")}(site: u32) -> bool {
      let due = ${n("armed")} == site;
      let hit = due & (${n("occurrence")} - ${n("struck_first")} <= ${n("struck_others")});
      ${n("occurrence")} += u32(due);
      ${n("strikes")} += u32(hit);
      return hit;
    }
    fn ${n("is_hit_in")}(site: u32, line: u32) -> bool {
      let due = ${n("armed")} == site;
      let hit = due & select(${n("occurrence")} - ${n("struck_first")} <= ${n("struck_others")}, line == ${n("struck_line")}, ${n("struck_by_line")});
      ${n("occurrence")} += u32(due);
      ${n("strikes")} += u32(hit);
      return hit;
    }
    fn ${n("is_spent")}() -> bool {
      let spent = ${n("fuel")} == 1u;
      ${n("fuel")} -= u32(!spent);
      return spent;
    }
    fn ${n("settle")}() {
      if (${n("strikes")} > 0u) {
        atomicAdd(&${report}.strikes, ${n("strikes")});
        ${report}.struck = ${n("struck")};
        ${n("strikes")} = 0u;
      }
      if (${n("fuel")} == 1u) { atomicStore(&${report}.hangs, 1u); }
    }`;
  return { declarations };
}

/** Returns the variables that describe the change of a struck value, and the old value. */
export const struckVariables = (names: Names): string =>
  ["struck_clear", "struck_mask", "struck_component", "struck"]
    .map((variable) => `var<private> ${names.the(variable)}: u32;`)
    .join("\n");

/**
 * Returns the condition that an invocation is struck. In two passes one lane runs two invocations,
 * and a fault that lasts for a whole launch strikes both.
 */
function isStruckInvocation(names: Names, { redundancy, pairing }: ArmedTriggerOptions): string {
  const [local, replica, report] = ["local", "replica", "report"].map((thing) => names.the(thing));
  const self = `own & (${local} == ${report}.armed_local_index)`;
  const sameLane = `(${local} ^ ${replica}) == (${report}.armed_local_index ^ ${report}.armed_replica)`;
  return redundancy.startsWith("intra") && pairing === "passes"
    ? `select(${self}, ${sameLane}, ${report}.armed_occurrences > 0u)`
    : `(${self})`;
}

function isAssumedMate(names: Names, { redundancy, pairing }: ArmedTriggerOptions): string {
  const [local, report] = [names.the("local"), names.the("report")];
  const isAdjacent = redundancy.startsWith("intra") && pairing === "adjacent";
  const block = isAdjacent ? assumedSubgroup / 2 : assumedSubgroup;
  const near = `(${local} / ${block}u == ${report}.armed_local_index / ${block}u)`;
  if (isAdjacent) return near;
  return pairing === "passes" ? `${near} & (own | (${report}.armed_occurrences > 0u))` : `${near} & own`;
}
