import { Layer } from "../webgpu/layer.ts";
import { copyDescriptor } from "../webgpu/steps.ts";
import { CommandRecord } from "./commandRecord.ts";
import type { ComputePasses } from "./computePasses.ts";
import type { RenderPasses } from "./renderPasses.ts";
import { type TransferParts, transferMethods } from "./transfers.ts";

interface CommandParts extends TransferParts {
  readonly computePasses: ComputePasses;
  readonly renderPasses: RenderPasses;
}

/** Follows command encoders: records what each command buffer does, and lets passes bind reports. */
export class Commands {
  readonly #records = new WeakMap<GPUCommandBuffer, CommandRecord>();
  readonly #computePasses: ComputePasses;
  readonly #renderPasses: RenderPasses;
  readonly #encoders: Layer<GPUCommandEncoder, CommandRecord>;

  constructor({ computePasses, renderPasses, ...parts }: CommandParts) {
    const { memory } = parts;
    this.#computePasses = computePasses;
    this.#renderPasses = renderPasses;
    const commands = this;
    this.#encoders = new Layer((native, stateOf) => {
      const recordOf = (encoder: GPUCommandEncoder) => {
        const record = stateOf(encoder);
        if (record.isInPass) record.obstacle = "it holds commands that the device has refused";
        return record;
      };
      return {
        ...transferMethods(native, recordOf, parts),
        pushDebugGroup(label) {
          native.pushDebugGroup.call(this, label);
          recordOf(this).steps.push((again) => again.pushDebugGroup(label));
        },
        popDebugGroup() {
          native.popDebugGroup.call(this);
          recordOf(this).steps.push((again) => again.popDebugGroup());
        },
        beginComputePass(descriptor) {
          const pass = native.beginComputePass.call(this, descriptor);
          const record = recordOf(this);
          const copy = copyDescriptor(descriptor);
          const steps = commands.#computePasses.follow(pass, record);
          record.steps.push((again) => {
            const passAgain = again.beginComputePass(copy);
            for (const step of steps) step(passAgain);
          });
          record.isInPass = true;
          return pass;
        },
        beginRenderPass(descriptor) {
          const pass = native.beginRenderPass.call(this, commands.#renderPasses.asDeclared(descriptor));
          const record = recordOf(this);
          commands.#renderPasses.follow(pass, descriptor, record);
          record.isInPass = true;
          return pass;
        },
        finish(descriptor) {
          const record = recordOf(this);
          memory?.words.finish(memory.siteIn(this, native, record));
          const buffer = native.finish.call(this, descriptor);
          commands.#records.set(buffer, record);
          // What comes behind the end is for the device to refuse, and no part of the commands.
          commands.#encoders.uncover(this);
          return buffer;
        },
      };
    });
  }

  recordOf(commands: GPUCommandBuffer): CommandRecord | undefined {
    return this.#records.get(commands);
  }

  follow(encoder: GPUCommandEncoder): void {
    this.#encoders.cover(encoder, new CommandRecord());
  }

  /** Follows an encoder of render bundles, whose commands are recorded once and for all. */
  followBundle(encoder: GPURenderBundleEncoder): void {
    this.#renderPasses.followBundle(encoder);
  }
}
