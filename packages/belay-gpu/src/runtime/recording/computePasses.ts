import type { Memory } from "../memory/memory.ts";
import type { BindGroups } from "../pipelines/bindGroups.ts";
import type { Pipelines } from "../pipelines/pipelines.ts";
import type { ShadowBuffers } from "../pipelines/shadowBuffers.ts";
import type { DeclaredUsages } from "../webgpu/declaredUsages.ts";
import { Layer } from "../webgpu/layer.ts";
import { flags } from "../webgpu/nativeObjects.ts";
import { PassCommands } from "../webgpu/passCommands.ts";
import { copyOffsets, type Step } from "../webgpu/steps.ts";
import type { CommandRecord } from "./commandRecord.ts";
import { ComputePass, type PassParts } from "./computePass.ts";
import type { DispatchCounter } from "./dispatchCounter.ts";
import { BYTES_OF_ARGUMENTS, IndirectDispatch } from "./indirectDispatch.ts";
import { Turns } from "./sequentialReplicas.ts";

/** Follows the compute passes of a device. */
export class ComputePasses {
  readonly #parts: PassParts;
  readonly #layer: Layer<GPUComputePassEncoder, ComputePass>;

  constructor(
    device: GPUDevice,
    pipelines: Pipelines,
    bindGroups: BindGroups,
    shadows: ShadowBuffers,
    counter: DispatchCounter | undefined,
    memory: Memory | undefined,
    usages: DeclaredUsages,
  ) {
    const limit = device.limits.maxComputeWorkgroupsPerDimension;
    const indirect = new IndirectDispatch(device);
    this.#parts = { bindGroups, shadows, indirect, turns: new Turns(device), counter, memory, limit };
    const layer = new Layer<GPUComputePassEncoder, ComputePass>((_, passOf) => ({
      setPipeline(pipeline) {
        passOf(this).setPipeline(pipelines.recordOf(pipeline));
      },
      setBindGroup(index: number, group: GPUBindGroup | null | undefined, ...offsets: unknown[]): undefined {
        const set = { group: group ?? null, offsets: copyOffsets(offsets) };
        passOf(this).setBindGroup(index, bindGroups.asDeclared(set));
      },
      dispatchWorkgroups(...grid) {
        passOf(this).dispatch(grid);
      },
      dispatchWorkgroupsIndirect(buffer, offset) {
        const end = offset + BYTES_OF_ARGUMENTS;
        passOf(this).dispatchIndirect(usages.used(buffer, flags.bufferIndirect, end), offset);
      },
      pushDebugGroup(label) {
        passOf(this).pushDebugGroup(label);
      },
      popDebugGroup() {
        passOf(this).popDebugGroup();
      },
      end() {
        passOf(this).end();
        // What comes behind the end is for the device to refuse, and no part of the commands.
        layer.uncover(this);
      },
    }));
    this.#layer = layer;
  }

  /** Returns the steps of the pass, to which everything is added that happens in it. */
  follow(pass: GPUComputePassEncoder, record: CommandRecord): readonly Step<GPUComputePassEncoder>[] {
    const commands = new PassCommands(pass);
    this.#layer.cover(pass, new ComputePass(commands, record, this.#parts));
    return commands.steps;
  }
}
