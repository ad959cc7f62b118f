import type { PipelineRecord } from "../pipelines/pipelineRecord.ts";
import type { RunCounts } from "../pipelines/protectedKernels.ts";
import { dataOf, dataOn } from "../webgpu/attachedData.ts";
import type { ErrorScopes } from "../webgpu/errorScopes.ts";
import { isIterable, proxyOf } from "../webgpu/nativeObjects.ts";
import { Overlay } from "../webgpu/overlay.ts";
import { DispatchTally } from "./dispatchTally.ts";

/** The dispatches of a pass's encoder, and the kernel whose pipeline is set. */
interface PassState {
  readonly tally: DispatchTally;
  kernel: RunCounts | undefined;
}

/**
 * Counts the dispatches of kernels on a device on which no fault can be detected. The commands of
 * such a device are not recorded.
 */
export class DispatchCounts {
  readonly #encoders: Overlay<GPUCommandEncoder, DispatchTally>;
  #counted: Promise<void> = Promise.resolve();

  constructor(recordOf: (pipeline: GPUComputePipeline) => PipelineRecord) {
    const count = ({ tally, kernel }: PassState) => {
      if (kernel) tally.count(kernel);
    };
    const counts = this;
    const passes = new Overlay<GPUComputePassEncoder, PassState>((native, stateOf) => ({
      setPipeline(pipeline) {
        native.setPipeline.call(this, pipeline);
        stateOf(this).kernel = recordOf(pipeline).counts;
      },
      dispatchWorkgroups(...grid) {
        native.dispatchWorkgroups.apply(this, grid);
        count(stateOf(this));
      },
      dispatchWorkgroupsIndirect(buffer, offset) {
        native.dispatchWorkgroupsIndirect.call(this, buffer, offset);
        count(stateOf(this));
      },
    }));
    this.#encoders = new Overlay((native, tallyOf) => ({
      beginComputePass(descriptor) {
        const pass = native.beginComputePass.call(this, descriptor);
        passes.attach(pass, { tally: tallyOf(this), kernel: undefined });
        return pass;
      },
      finish(descriptor) {
        const buffer = native.finish.call(this, descriptor);
        const tally = tallyOf(this);
        if (!tally.isEmpty) dataOn(buffer).set(counts, tally);
        return buffer;
      },
    }));
  }

  #tallyOf(commands: GPUCommandBuffer): DispatchTally | undefined {
    return dataOf(commands)?.get(this) as DispatchTally | undefined;
  }

  /** Resolves when the dispatches of all submits so far are counted. */
  get counted(): Promise<void> {
    return this.#counted;
  }

  follow(encoder: GPUCommandEncoder): void {
    this.#encoders.attach(encoder, new DispatchTally());
  }

  /** Returns the queue of a device, which counts the dispatches that the device accepts. */
  queueOf({ queue }: GPUDevice, scopes: ErrorScopes): GPUQueue {
    return proxyOf(queue, {
      submit: (commandBuffers: Iterable<GPUCommandBuffer>): undefined => {
        if (!isIterable(commandBuffers)) return queue.submit(commandBuffers);
        const submitted = [...commandBuffers];
        const all = submitted.flatMap((each) => this.#tallyOf(each) ?? []);
        if (all.length === 0) {
          queue.submit(submitted);
          return;
        }
        this.#counted = scopes
          .watch(() => queue.submit(submitted))
          .then((isAccepted) => {
            if (isAccepted) for (const tally of all) tally.accept();
          });
      },
    });
  }
}
