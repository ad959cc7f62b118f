/**
 * Declares the report buffer, the function that writes a record into it, and what an invocation knows of itself.
 *
 * Before:  (nothing)
 * After:   @group(g) @binding(0) var<storage, read_write> report: Report;
 *          var<private> replica: u32; var<private> local: u32; var<private> workgroup: vec3<u32>;
 *          fn record(site, cause, address, value) { ... }
 *
 * Requires: nothing.   Ensures: valid module; the names `report`, `record`, `replica`, `local`, `workgroup` exist.
 * Order:    before every transform that records, and before replicateInvocations, which sets the private variables.
 */
import type { Module } from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import type { Names } from "../shared/names.ts";
import { mailboxMembers } from "./mailbox.ts";
import { type ReportLayout, reportWords } from "./reportBuffer.ts";

export interface DeclareReportOptions extends ReportLayout {
  /** Words of mail behind the cells (see mailbox.ts). */
  readonly mail?: number;
  /** Words of arrivals behind that (see lastArriverCommit.ts). */
  readonly arrivals?: number;
  /** Whether replicas are workgroups, so that an invocation knows the number of its own. */
  readonly pairs?: boolean;
  /** The members that arm faults (see faults/injectionWords.ts); none where none are injected. */
  readonly injection?: string;
}

export function declareReport(
  program: Program,
  names: Names,
  { group, binding, cells, counts, mail = 0, arrivals = 0, pairs = false, injection }: DeclareReportOptions,
): Module {
  const n = (thing: string) => names.the(thing);
  const headerPadding = 4 * (reportWords.records - reportWords.grid);
  const { declarations } = quote();
  const added = declarations`
    struct ${n("Record")} {
      site: u32,
      workgroup_x: u32,
      workgroup_y: u32,
      workgroup_z: u32,
      local: u32,
      replica: u32,
      cause: u32,
      word_offset: u32,
      value: array<u32, 4>,
    }
    struct ${n("Report")} {
      detections: atomic<u32>,
      findings: array<atomic<u32>, 3>,
      ${injection ? `grid: u32, ${injection}` : `@size(${headerPadding}) grid: u32,`}
      records: array<${n("Record")}, ${String(reportWords.recordCapacity)}>,
      memory_records: array<array<array<u32, ${String(reportWords.memoryRecordStride)}>, ${String(reportWords.memoryRecordCapacity)}>, 3>,
      ${cells > 0 ? `cells: array<atomic<u32>, ${cells}>,` : ""}
      ${mail > 0 ? mailboxMembers(mail) : ""}
      ${arrivals > 0 ? `arrivals: array<atomic<u32>, ${arrivals}>,` : ""}
      ${counts !== undefined ? "counts: array<atomic<u32>>," : ""}
    }
    @group(${String(group)}) @binding(${String(binding)}) var<storage, read_write> ${n("report")}: ${n("Report")};
    var<private> ${n("replica")}: u32;
    var<private> ${n("local")}: u32;
    var<private> ${n("workgroup")}: vec3<u32>;
    ${pairs ? `var<private> ${n("pair")}: u32;` : ""}
    fn ${n("record")}(site: u32, cause: u32, address: u32, value: vec4<u32>) {
      let at = atomicAdd(&${n("report")}.detections, 1u);
      if (at < ${String(reportWords.recordCapacity)}u) {
        ${n("report")}.records[at] = ${n("Record")}(
          site, ${n("workgroup")}.x, ${n("workgroup")}.y, ${n("workgroup")}.z, ${n("local")}, ${n("replica")}, cause, address / 4u,
          array<u32, 4>(value.x, value.y, value.z, value.w));
      }
    }`;
  return { ...program.module, declarations: [...program.module.declarations, ...added] };
}
