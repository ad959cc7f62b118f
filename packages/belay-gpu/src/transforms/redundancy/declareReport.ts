/**
 * Adds the report buffer, the function that writes a record to it, and the private variables that
 * identify an invocation.
 *
 * Before:   (nothing)
 * After:    @group(g) @binding(0) var<storage, read_write> report: Report;
 *           var<private> replica: u32;
 *           var<private> local: u32;
 *           var<private> workgroup: vec3<u32>;
 *           fn record(site, cause, address, value) { ... }
 *
 * Requires: nothing.
 * Ensures:  a valid module with the names `report`, `record`, `replica`, `local` and `workgroup`.
 * Order:    before every transform that records, and before replicateInvocations, which sets the
 *           private variables.
 */
import type { Module } from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import type { Names } from "../shared/names.ts";
import { mailboxMembers } from "./mailbox.ts";
import { type ReportLayout, reportWords } from "./reportBuffer.ts";

/** The layout of the report buffer and its optional parts. */
export interface DeclareReportOptions extends ReportLayout {
  /** The words of mail after the cells (mailbox.ts). Default 0. */
  readonly mail?: number;
  /** The words of arrivals after the mail (lastArriverCommit.ts). Default 0. */
  readonly arrivals?: number;
  /**
   * True if replicas are workgroups. An invocation then knows the number of its pair. Default
   * false.
   */
  readonly pairs?: boolean;
  /** The members that arm faults (faults/injectionWords.ts). Undefined if none are injected. */
  readonly injection?: string;
}

/** Returns the module with the report's declarations. */
export function declareReport(
  program: Program,
  names: Names,
  { group, binding, cells, counts, mail = 0, arrivals = 0, pairs = false, injection }: DeclareReportOptions,
): Module {
  const n = (thing: string) => names.the(thing);
  const { grid, skip, records } = reportWords;
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
      ${injection ? `grid: u32, ${injection}` : `@size(${4 * (skip - grid)}) grid: u32,`}
      @size(${String(4 * (records - skip))}) skip: u32,
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
