import { reportWords } from "../../compiler/contract.ts";
import { type ReportSlot, rangeOf } from "../context/reportArena.ts";
import { firstReplicaAlone, secondReplicaAlone } from "../pipelines/doubledGrid.ts";
import { OwnKernel } from "../webgpu/ownKernel.ts";
import type { PassCommands } from "../webgpu/passCommands.ts";

/** The number of workgroups is what is said: the host passes it without a buffer. */
const SAY = /* wgsl */ `
@group(0) @binding(0) var<storage, read_write> report: array<u32>;
@compute @workgroup_size(1)
fn sayReplica(@builtin(workgroup_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  if (id.x == 0) { report[${reportWords.grid}] = groups.x; }
}`;

/**
 * Runs a grid twice by one pipeline, second replicas first, where its kernel reads in its report
 * which replica runs.
 */
export class SequentialReplicas {
  readonly #say: OwnKernel;

  constructor(device: GPUDevice) {
    this.#say = new OwnKernel(device, { label: "belay: replica", code: SAY, buffers: ["storage"] });
  }

  /** `dispatch` has to set what the kernel takes. */
  each(commands: PassCommands, slot: ReportSlot, dispatch: () => void): void {
    for (const replica of [secondReplicaAlone, firstReplicaAlone]) {
      this.#say.encode(commands, [rangeOf(slot)], replica);
      dispatch();
    }
  }
}
