import { describe, it } from "vitest";
import { goldens, type Step } from "../../../../../test/support/wgsl/goldens.ts";
import { declareReport } from "./declareReport.ts";
import { mailWords } from "./mailbox.ts";
import { replicateWorkgroups } from "./replicateWorkgroups.ts";
import { reportWords } from "./reportBuffer.ts";

const golden = goldens("replicateWorkgroups");
const report =
  (mail = 0): Step =>
  (program, names) =>
    declareReport(program, names, {
      group: 0,
      binding: 0,
      bytes: 4 * reportWords.total,
      cells: 0,
      mail,
      pairs: true,
    });
interface Twins {
  readonly blocking?: readonly string[];
  readonly sequentialReplicas?: readonly string[];
  readonly mail?: number;
}
const replicate =
  ({ blocking = [], sequentialReplicas = [], mail = 0 }: Twins = {}): Step =>
  (program, names) =>
    replicateWorkgroups(program, names, {
      entryPoints: new Set(["main"]),
      blocking: new Set(blocking),
      sequentialReplicas: new Set(sequentialReplicas),
      mail,
    });
const replicated = (name: string, wgsl: string) => golden(name, wgsl, report(), replicate());

describe("doubles the grid", () => {
  it("with every built-in value", () =>
    replicated(
      "every built-in value",
      `alias Id = vec3u;
      struct In { @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_id) local: Id }
      @compute @workgroup_size(8, 4)
      fn main(in: In, @builtin(global_invocation_id) id: Id, @builtin(workgroup_id) w: vec3u, @builtin(local_invocation_index) i: u32) {}`,
    ));

  it("with linear indices", () =>
    replicated(
      "linear indices",
      `requires linear_indexing;
      @compute @workgroup_size(4, 4) fn main(@builtin(global_invocation_index) g: u32, @builtin(workgroup_index) w: u32) {}`,
    ));

  it("of a workgroup whose size an override decides, with subgroups of its own", () =>
    replicated(
      "override sizes and subgroups",
      `enable subgroups;
      override width: i32;
      @compute @workgroup_size(width) fn main(@builtin(global_invocation_id) id: vec3u, @builtin(subgroup_size) size: u32) {
        _ = subgroupAdd(id.x);
      }`,
    ));

  it("where barriers depend on the ids, which then stay uniform", () =>
    replicated(
      "uniform ids",
      `fn meet(n: u32) { if (n > 3u) { workgroupBarrier(); } }
      @compute @workgroup_size(4) fn main(@builtin(workgroup_id) w: vec3u) { meet(w.x); }
      @compute @workgroup_size(4) fn other(@builtin(workgroup_id) w: vec3u) { meet(w.y); }`,
    ));

  it("and where the grid may be dispatched twice, leaves all ids as they are then", () =>
    golden(
      "a grid that is dispatched twice",
      `fn meet(n: u32) { if (n > 3u) { workgroupBarrier(); } }
      @compute @workgroup_size(4) fn main(@builtin(workgroup_id) w: vec3u, @builtin(global_invocation_id) id: vec3u) { meet(w.x); }`,
      report(),
      replicate({ sequentialReplicas: ["main"] }),
    ));

  it("and lets twins that wait for each other draw their ids", () => {
    const mail = mailWords([64]);
    return golden(
      "tickets",
      `@compute @workgroup_size(8, 8)
      fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) n: vec3u) { if (n.x > 3u) { return; } }`,
      report(mail),
      replicate({ blocking: ["main"], mail }),
    );
  });
});
