import type { Outputs, VerifiableProgram, Workload } from "belay-gpu/internal/runtime/tuning/workload";
import { flags, proxyOf } from "belay-gpu/internal/runtime/webgpu/nativeObjects";
import { rememberPipelines } from "../../shared/workloads/rememberPipelines.ts";
import type { RestingFault } from "../model/faultModel.ts";

/** A program that a campaign strikes. */
export interface CampaignProgram {
  readonly name: string;
  /** The digest of everything that decides the program's results. */
  readonly digest: string;
  /**
   * The program itself. A workload sets everything up in each run. A verifiable program is prepared
   * once and runs thousands of times.
   */
  readonly runs: Workload | VerifiableProgram;
}

/** A program on a device, ready to run many times from the same state. */
export interface ReadyProgram {
  run(resting?: RestingFault): Promise<Outputs>;
  /** The size in bytes of each buffer that a fault at rest can strike. */
  readonly buffers: readonly number[];
}

/**
 * Prepares a program for many runs on a device. `strike` flips bits of a buffer unseen by the
 * program; without `strike`, faults at rest are ignored.
 */
export function makeReady({ runs }: CampaignProgram, device: GPUDevice, strike?: Strike): ReadyProgram {
  if (typeof runs === "function") {
    const remembering = rememberPipelines(device);
    return { run: () => runs(remembering), buffers: [] };
  }
  const made: GPUBuffer[] = [];
  let keep = (buffer: GPUBuffer): void => void made.push(buffer);
  const prepared = runs.prepare(remembering(device, (buffer) => keep(buffer)));
  // Buffers that are created during a run, such as readback buffers, are not restored.
  keep = () => {};
  const buffers = made.filter(({ usage }) => usage & (flags.bufferStorage | flags.bufferUniform));
  const initial = copiesOf(device, buffers);
  const submit = (encode: (encoder: GPUCommandEncoder) => void) => {
    const encoder = device.createCommandEncoder();
    encode(encoder);
    device.queue.submit([encoder.finish()]);
  };
  // Restores all buffers. Right results of an earlier run would otherwise hide a fault that
  // prevents a store of this run.
  const restore = (encoder: GPUCommandEncoder) => {
    for (const [i, buffer] of buffers.entries()) {
      encoder.copyBufferToBuffer(initial[i]!, 0, buffer, 0, wholeWords(buffer));
    }
  };
  return {
    buffers: buffers.map(wholeWords),
    run: async (resting) => {
      prepared.reset?.();
      if (resting && strike) {
        const { buffer, byteOffset, mask } = resting;
        submit(restore);
        await strike(buffers[buffer]!, byteOffset, mask);
        submit((encoder) => prepared.encode(encoder));
      } else {
        submit((encoder) => {
          restore(encoder);
          prepared.encode(encoder);
        });
      }
      return prepared.read();
    },
  };
}

/**
 * A function that flips bits of one word of a buffer, after all earlier work is done and verified.
 */
export type Strike = (buffer: GPUBuffer, byteOffset: number, mask: number) => Promise<void>;

/**
 * Returns the device with a `createBuffer` that makes buffers copyable and passes them to `keep`.
 */
function remembering(device: GPUDevice, keep: (buffer: GPUBuffer) => void): GPUDevice {
  return proxyOf(device, {
    createBuffer: (descriptor: GPUBufferDescriptor): GPUBuffer => {
      const isMappable = descriptor.usage & (flags.bufferMapRead | flags.bufferMapWrite);
      const copies = isMappable ? 0 : flags.bufferCopySrc | flags.bufferCopyDst;
      const buffer = device.createBuffer({ ...descriptor, usage: descriptor.usage | copies });
      keep(buffer);
      return buffer;
    },
  });
}

const wholeWords = ({ size }: GPUBuffer) => size - (size % 4);

/** Returns copies of the buffers' contents. */
function copiesOf(device: GPUDevice, buffers: readonly GPUBuffer[]): GPUBuffer[] {
  const encoder = device.createCommandEncoder();
  const copies = buffers.map((buffer) => {
    const size = wholeWords(buffer);
    const copy = device.createBuffer({ size, usage: flags.bufferCopySrc | flags.bufferCopyDst });
    encoder.copyBufferToBuffer(buffer, 0, copy, 0, size);
    return copy;
  });
  device.queue.submit([encoder.finish()]);
  return copies;
}
