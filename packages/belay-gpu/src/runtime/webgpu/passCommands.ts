import { overlaidMembersOf } from "./overlaidMembers.ts";
import { type AnyMethod, noOffsets, type ReplayStep } from "./replayStep.ts";

/** A bind group as it is set, with dynamic offsets in one of the forms that WebGPU accepts. */
export interface SetGroup {
  readonly group: GPUBindGroup | null;
  readonly offsets: readonly unknown[];
}

/** The bind groups that are set, by index. */
export type SetGroups = ReadonlyMap<number, SetGroup>;

const unset: SetGroup = { group: null, offsets: noOffsets };

/**
 * Encodes commands into a compute pass, tracks the pass's state, and records each command to encode
 * it again.
 */
export class PassCommands {
  readonly steps: ReplayStep<GPUComputePassEncoder>[] = [];
  readonly #pass: GPUComputePassEncoder;
  readonly #native: GPUComputePassEncoder;
  #pipeline: GPUComputePipeline | undefined;
  readonly #groups = new Map<number, SetGroup>();

  constructor(pass: GPUComputePassEncoder) {
    this.#pass = pass;
    this.#native = overlaidMembersOf(pass);
  }

  setPipeline(pipeline: GPUComputePipeline): void {
    this.#native.setPipeline.call(this.#pass, pipeline);
    this.steps.push((again) => again.setPipeline(pipeline));
    this.#pipeline = pipeline;
  }

  setBindGroup(index: number, set: SetGroup): void {
    const { group, offsets } = set;
    (this.#native.setBindGroup as AnyMethod).call(this.#pass, index, group, ...offsets);
    this.steps.push((again) => (again.setBindGroup as AnyMethod)(index, group, ...offsets));
    this.#groups.set(index, set);
  }

  /**
   * Sets the pipeline and the bind groups that are not set already. Bind groups in `added` replace
   * those in `own`.
   */
  use(pipeline: GPUComputePipeline, own: SetGroups, added: SetGroups | undefined): void {
    if (this.#pipeline !== pipeline) this.setPipeline(pipeline);
    for (const [index, { group }] of this.#groups) {
      if (group && !own.has(index) && !added?.has(index)) this.setBindGroup(index, unset);
    }
    for (const [index, set] of own) if (!added?.has(index)) this.#ensure(index, set);
    if (added) for (const [index, set] of added) this.#ensure(index, set);
  }

  #ensure(index: number, wanted: SetGroup): void {
    const now = this.#groups.get(index) ?? unset;
    if (now.group !== wanted.group || now.offsets !== wanted.offsets) this.setBindGroup(index, wanted);
  }

  dispatchWorkgroups(...grid: Parameters<GPUComputePassEncoder["dispatchWorkgroups"]>): void {
    this.#native.dispatchWorkgroups.call(this.#pass, ...grid);
    this.steps.push((again) => again.dispatchWorkgroups(...grid));
  }

  dispatchWorkgroupsIndirect(buffer: GPUBuffer, offset: number): void {
    this.#native.dispatchWorkgroupsIndirect.call(this.#pass, buffer, offset);
    this.steps.push((again) => again.dispatchWorkgroupsIndirect(buffer, offset));
  }

  pushDebugGroup(label: string): void {
    this.#native.pushDebugGroup.call(this.#pass, label);
    this.steps.push((again) => again.pushDebugGroup(label));
  }

  popDebugGroup(): void {
    this.#native.popDebugGroup.call(this.#pass);
    this.steps.push((again) => again.popDebugGroup());
  }

  end(): void {
    this.#native.end.call(this.#pass);
    this.steps.push((again) => again.end());
  }
}
