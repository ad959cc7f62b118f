/** What decides, at a site, whether the armed fault is due. */
import type { Names } from "../names.ts";
import type { Pairing } from "../pairing.ts";
import { faultExtent } from "../reportBuffer.ts";

export interface Trigger {
  /**
   * WGSL that declares what sites call: `aim()`, first in each entry point; `is_hit(site)` and `is_hit_in(site, line)`; and
   * `is_spent()`, in loops.
   */
  readonly declarations: string;
  /** Set when the declarations depend on how many sites there are: what says so. */
  readonly siteCount?: (sites: number) => string;
}

export interface ArmedTriggerOptions {
  /** `"none"`, `"inter"`, or an Intra-Group flavor, whose replicas run as `pairing` says. */
  readonly redundancy: string;
  readonly pairing: Pairing;
  /** Whether the module may ask which invocations share a subgroup. */
  readonly subgroups: boolean;
}

/** The subgroup that is assumed where the device does not tell: so many lanes with neighbouring indices. */
const assumedSubgroup = 32;

/**
 * Strikes where the report says. What an invocation has to do with the armed fault is found out once, so that a site costs
 * a comparison with a private variable; drivers inline it everywhere, so it is kept small.
 */
export function armedTrigger(names: Names, options: ArmedTriggerOptions): Trigger {
  const n = (thing: string) => names.the(thing);
  const report = n("report");
  const declarations = `
    var<private> ${n("armed")}: u32;
    var<private> ${n("occurrence")}: u32;
    var<private> ${n("fuel")}: u32;
    fn ${n("aim")}() {
      let here = all(${n("workgroup")} == vec3<u32>(
        ${report}.armed_workgroup_x, ${report}.armed_workgroup_y, ${report}.armed_workgroup_z));
      let own = (${n("replica")} == ${report}.armed_replica) | (${report}.armed_replica > 1u);
      let me = here & ${isStruckInvocation(names, options)};
      let mates = ${options.subgroups ? "subgroupAny(me)" : `here & ${isAssumedMate(names, options)}`};
      let everyone = ${report}.armed_extent == ${faultExtent.line}u;
      let struck = select(me, mates, ${report}.armed_extent == ${faultExtent.subgroup}u) | everyone;
      let now = ${report}.dispatch - ${report}.armed_dispatch <= ${report}.armed_dispatches;
      ${n("armed")} = select(0u, ${report}.armed_site, struck & now);
      ${n("occurrence")} = 0u;
      ${n("fuel")} = ${report}.fuel;
    }
    fn ${n("is_due")}() -> bool {
      let due = ${n("occurrence")} - ${report}.armed_occurrence <= ${report}.armed_occurrences;
      ${n("occurrence")} += 1u;
      return due;
    }
    fn ${n("is_hit")}(site: u32) -> bool {
      var hit = false;
      if (${n("armed")} == site) {
        hit = ${n("is_due")}();
        if (hit) { atomicAdd(&${report}.strikes, 1u); }
      }
      return hit;
    }
    fn ${n("is_hit_in")}(site: u32, line: u32) -> bool {
      var hit = false;
      if (${n("armed")} == site) {
        let everyone = ${report}.armed_extent == ${faultExtent.line}u;
        hit = select(${n("is_due")}(), line == ${report}.armed_line, everyone);
        if (hit) { atomicAdd(&${report}.strikes, 1u); }
      }
      return hit;
    }
    fn ${n("is_spent")}() -> bool {
      let spent = ${n("fuel")} == 1u;
      if (spent) { atomicStore(&${report}.hangs, 1u); } else { ${n("fuel")} -= 1u; }
      return spent;
    }`;
  return { declarations };
}

/** In two passes the same lane runs two invocations, and what is broken for a whole launch strikes both. */
function isStruckInvocation(names: Names, { pairing }: ArmedTriggerOptions): string {
  const [local, replica, report] = ["local", "replica", "report"].map((thing) => names.the(thing));
  const self = `own & (${local} == ${report}.armed_local_index)`;
  return pairing === "passes"
    ? `select(${self}, (${local} ^ ${replica}) == (${report}.armed_local_index ^ ${report}.armed_replica), ${report}.armed_occurrences > 0u)`
    : `(${self})`;
}

function isAssumedMate(names: Names, { redundancy, pairing }: ArmedTriggerOptions): string {
  const isAdjacent = redundancy.startsWith("intra") && pairing === "adjacent";
  const block = isAdjacent ? assumedSubgroup / 2 : assumedSubgroup;
  const [local, report] = [names.the("local"), names.the("report")];
  const near = `(${local} / ${block}u == ${report}.armed_local_index / ${block}u)`;
  return isAdjacent
    ? near
    : `${near} & (own${pairing === "passes" ? ` | (${report}.armed_occurrences > 0u)` : ""})`;
}
