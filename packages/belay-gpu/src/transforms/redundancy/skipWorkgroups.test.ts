import { it } from "vitest";
import { goldens, report, type Step } from "../../../../../test/support/wgsl/goldens.ts";
import { skipWorkgroups } from "./skipWorkgroups.ts";

const golden = goldens("skipWorkgroups");
const skip: Step = (program, names) => skipWorkgroups(program, names, { entryPoints: new Set(["main"]) });

it("ends the workgroups of protected entry points at their start", () =>
  golden(
    "two entry points",
    `@group(0) @binding(0) var<storage, read_write> out: array<u32>;
    @compute @workgroup_size(8) fn main(@builtin(local_invocation_index) i: u32) {
      workgroupBarrier();
      out[i] = i;
    }
    @compute @workgroup_size(8) fn other() { out[0] = 1u; }`,
    report(),
    skip,
  ));
