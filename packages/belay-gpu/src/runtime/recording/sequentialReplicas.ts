import { reportWords } from "../../compiler/contract.ts";
import { type ReportSlot, rangeOf } from "../context/reportArena.ts";
import { firstReplicaAlone, secondReplicaAlone } from "../pipelines/doubledGrid.ts";
import { OwnKernel } from "../webgpu/ownKernel.ts";
import type { PassCommands } from "../webgpu/passCommands.ts";

/**
 * A kernel that writes its workgroup count to the report. The count passes an argument without a
 * buffer.
 */
const SAY = /* wgsl */ `
@group(0) @binding(0) var<storage, read_write> report: array<u32>;
@compute @workgroup_size(1)
fn sayReplica(@builtin(workgroup_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  if (id.x == 0) { report[${reportWords.grid}] = groups.x; }
}`;

/**
 * Runs a grid twice with one pipeline, second replicas first. The kernel reads from its report
 * which replica runs.
 */
export class SequentialReplicas {
  readonly #say: OwnKernel;

  constructor(device: GPUDevice) {
    this.#say = new OwnKernel(device, { label: "belay: replica", code: SAY, buffers: ["storage"] });
  }

  /** Calls `dispatch` for each replica. It must set the kernel's pipeline and bind groups. */
  each(commands: PassCommands, slot: ReportSlot, dispatch: () => void): void {
    for (const replica of [secondReplicaAlone, firstReplicaAlone]) {
      this.#say.encode(commands, [rangeOf(slot)], replica);
      dispatch();
    }
  }
}
