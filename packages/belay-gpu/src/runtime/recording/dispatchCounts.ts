import type { PipelineRecord } from "../pipelines/pipelineRecord.ts";
import type { RunCounts } from "../pipelines/protectedKernels.ts";
import type { ErrorScopes } from "../webgpu/errorScopes.ts";
import { proxyOf } from "../webgpu/nativeObjects.ts";
import { Overlay } from "../webgpu/overlay.ts";

/** The number of dispatches of each kernel in some commands. */
type Counts = Map<RunCounts, number>;

/** The counts of a pass's encoder, and the kernel whose pipeline is set. */
interface PassState {
  readonly counts: Counts;
  kernel: RunCounts | undefined;
}

/**
 * Counts the dispatches of kernels on a device on which no fault can be detected. The commands of
 * such a device are not recorded.
 */
export class DispatchCounts {
  /** The counts of finished command buffers. */
  readonly #buffers = new WeakMap<GPUCommandBuffer, Counts>();
  readonly #encoders: Overlay<GPUCommandEncoder, Counts>;
  #counted: Promise<void> = Promise.resolve();

  constructor(recordOf: (pipeline: GPUComputePipeline) => PipelineRecord) {
    const count = ({ counts, kernel }: PassState) => {
      if (kernel) counts.set(kernel, (counts.get(kernel) ?? 0) + 1);
    };
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
    const buffers = this.#buffers;
    this.#encoders = new Overlay((native, countsOf) => ({
      beginComputePass(descriptor) {
        const pass = native.beginComputePass.call(this, descriptor);
        passes.attach(pass, { counts: countsOf(this), kernel: undefined });
        return pass;
      },
      finish(descriptor) {
        const buffer = native.finish.call(this, descriptor);
        const counts = countsOf(this);
        if (counts.size > 0) buffers.set(buffer, counts);
        return buffer;
      },
    }));
  }

  /** Resolves when the dispatches of all submits so far are counted. */
  get counted(): Promise<void> {
    return this.#counted;
  }

  follow(encoder: GPUCommandEncoder): void {
    this.#encoders.attach(encoder, new Map());
  }

  /** Returns the queue of a device, which counts the dispatches that the device accepts. */
  queueOf({ queue }: GPUDevice, scopes: ErrorScopes): GPUQueue {
    return proxyOf(queue, {
      submit: (commandBuffers: Iterable<GPUCommandBuffer>): undefined => {
        const submitted = [...commandBuffers];
        const all = submitted.flatMap((each) => this.#buffers.get(each) ?? []);
        if (all.length === 0) {
          queue.submit(submitted);
          return;
        }
        this.#counted = scopes
          .watch(() => queue.submit(submitted))
          .then((isAccepted) => {
            if (!isAccepted) return;
            for (const [runs, count] of all.flatMap((counts) => [...counts])) runs.dispatches += count;
          });
      },
    });
  }
}
