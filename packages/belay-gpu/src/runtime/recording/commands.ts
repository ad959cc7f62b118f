import type { RuntimeContext } from "../context/runtimeContext.ts";
import type { MemoryProtection } from "../memory/memoryProtection.ts";
import { doubleGrid } from "../pipelines/doubledGrid.ts";
import type { ProtectedPipelines } from "../pipelines/pipelines.ts";
import { dataOf, dataOn } from "../webgpu/attachedData.ts";
import { type Methods, noting, Overlay } from "../webgpu/overlay.ts";
import { CommandRecord } from "./commandRecord.ts";
import { ComputePasses } from "./computePasses.ts";
import type { FilledRanges } from "./filled.ts";
import { RenderPasses } from "./renderPasses.ts";
import type { SumsChecking } from "./sumsChecking.ts";
import { transferMethods } from "./transfers.ts";

/**
 * The command encoders of a device. Records the commands of each command buffer, and lets passes
 * bind reports.
 */
export class Commands {
  readonly #computePasses: ComputePasses;
  readonly #renderPasses: RenderPasses;
  readonly #encoders: Overlay<GPUCommandEncoder, CommandRecord>;

  constructor(
    context: RuntimeContext,
    memory: MemoryProtection,
    pipelines: ProtectedPipelines,
    filled: FilledRanges,
    algebra: SumsChecking | undefined,
  ) {
    const { device, owners, textures, usages, scopes } = context;
    const { maxComputeWorkgroupsPerDimension: limit } = device.limits;
    this.#computePasses = new ComputePasses(context, memory, pipelines, filled, algebra);
    this.#renderPasses = new RenderPasses(context, memory, pipelines.bindGroups);
    const commands = this;
    this.#encoders = new Overlay((native, stateOf) => {
      const recordOf = (encoder: GPUCommandEncoder) => {
        const record = stateOf(encoder);
        if (record.isInPass) record.obstacle = "it has commands that the device rejected";
        return record;
      };
      const methods: Methods<GPUCommandEncoder> = {
        ...transferMethods(native, recordOf, { owners, textures, usages, memory }),
        pushDebugGroup(label) {
          native.pushDebugGroup.call(this, label);
          recordOf(this).steps.push((again) => again.pushDebugGroup(label));
        },
        popDebugGroup() {
          native.popDebugGroup.call(this);
          recordOf(this).steps.push((again) => again.popDebugGroup());
        },
        beginComputePass(given) {
          const descriptor = owners.acceptIn(given, "timestampWrites.querySet");
          const pass = native.beginComputePass.call(this, descriptor);
          const record = recordOf(this);
          record.steps.push(commands.#computePasses.follow(pass, descriptor, record));
          record.isInPass = true;
          return pass;
        },
        beginRenderPass(given) {
          const descriptor = commands.#renderPasses.accept(given);
          const pass = native.beginRenderPass.call(this, commands.#renderPasses.asDeclared(descriptor));
          const record = recordOf(this);
          commands.#renderPasses.follow(pass, descriptor, record);
          record.isInPass = true;
          return pass;
        },
        finish(descriptor) {
          const record = recordOf(this);
          memory.finish(this, native, record);
          const finish = () => native.finish.call(this, descriptor);
          const canFail = !record.isFamiliar && [...record.kernels].some(({ interGroup }) => interGroup);
          const finished = canFail
            ? scopes.restated(finish, (message) => inOwnGrid(message, record, limit)).result
            : finish();
          const buffer = owners.own("commandBuffer", finished);
          dataOn(buffer).set(commands, record);
          // WebGPU validation rejects commands after the end; they are not recorded.
          commands.#encoders.detach(this);
          return buffer;
        },
      };
      const note = (encoder: GPUCommandEncoder, name: string) => recordOf(encoder).noteUnknown(name);
      return { ...noting(native, Object.keys(methods), note), ...methods };
    });
  }

  recordOf(commands: GPUCommandBuffer): CommandRecord | undefined {
    return dataOf(commands)?.get(this) as CommandRecord | undefined;
  }

  follow(encoder: GPUCommandEncoder): void {
    this.#encoders.attach(encoder, new CommandRecord());
  }

  /**
   * Records the commands of an encoder of render bundles. A bundle's record never changes after its
   * end.
   */
  followBundle(encoder: GPURenderBundleEncoder): void {
    this.#renderPasses.followBundle(encoder);
  }
}

/** Returns a message of the device with the program's grid in place of a doubled one. */
function inOwnGrid(message: string, { effects }: CommandRecord, limit: number): string {
  return message.replace(/\bDispatchWorkgroups\(([\d, ]+)\)/, (call, shown: string) => {
    for (const { kernel, dispatch } of effects) {
      if (!kernel?.interGroup || !dispatch) continue;
      const { grid } = dispatch.call;
      const { mostWorkgroups } = kernel.interGroup;
      if (doubleGrid(grid, { kernel: kernel.name, limit, mostWorkgroups })?.grid.join(", ") === shown)
        return `DispatchWorkgroups(${grid.join(", ")})`;
    }
    return call;
  });
}
