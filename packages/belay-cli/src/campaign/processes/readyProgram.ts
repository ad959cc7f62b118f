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
  const readback = new ReadbackBuffers();
  const prepared = runs.prepare(remembering(device, readback, (buffer) => keep(buffer)));
  // Buffers that are created during a run, such as readback buffers, are not restored.
  keep = () => {};
  const buffers = made.filter(({ usage }) => usage & (flags.bufferStorage | flags.bufferUniform));
  const initial = copiesOf(device, buffers);
  const submit = (encode: (encoder: GPUCommandEncoder) => void) => {
    const encoder = device.createCommandEncoder();
    encode(encoder);
    device.queue.submit([encoder.finish()]);
  };
  /** The buffers with other contents than at first, as faults at rest struck them. */
  const struck = new Set<GPUBuffer>();
  // Restores all buffers that may have changed. Right results of an earlier run would otherwise
  // hide a fault that prevents a store of this run. The host knows the contents of others.
  const restore = (encoder: GPUCommandEncoder) => {
    for (const [i, buffer] of buffers.entries()) {
      if (buffer.usage & flags.bufferStorage || struck.delete(buffer))
        encoder.copyBufferToBuffer(initial[i]!, 0, buffer, 0, wholeWords(buffer));
    }
    readback.clear(encoder);
  };
  return {
    buffers: buffers.map(wholeWords),
    run: async (resting) => {
      prepared.reset?.();
      if (resting && strike) {
        const { buffer, byteOffset, mask } = resting;
        submit(restore);
        struck.add(buffers[buffer]!);
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
 * The buffers for reading back that a program creates. The program gets a destroyed one in place of
 * a new one, because drivers need longer for mappable memory than for a run. On an NVIDIA H200 it
 * takes 0.8 ms.
 */
class ReadbackBuffers {
  readonly #idle = new Set<GPUBuffer>();

  /** Returns a buffer as `create` does, if the descriptor is that of a buffer for reading back. */
  make(descriptor: GPUBufferDescriptor, create: () => GPUBuffer): GPUBuffer | undefined {
    const { size, usage, mappedAtCreation = false } = descriptor;
    if (usage !== (flags.bufferMapRead | flags.bufferCopyDst) || mappedAtCreation || size % 4 !== 0)
      return undefined;
    const buffer = [...this.#idle].find((each) => each.size === size) ?? create();
    this.#idle.delete(buffer);
    const destroy = () => {
      buffer.unmap();
      this.#idle.add(buffer);
    };
    Object.defineProperty(buffer, "destroy", { configurable: true, value: destroy });
    return buffer;
  }

  /** Encodes the zeros that the program finds in a buffer that it creates. */
  clear(encoder: GPUCommandEncoder): void {
    for (const buffer of this.#idle) encoder.clearBuffer(buffer);
  }
}

/**
 * Returns the device with a `createBuffer` that makes buffers copyable and passes them to `keep`.
 * Those for reading back are used again.
 */
function remembering(
  device: GPUDevice,
  readback: ReadbackBuffers,
  keep: (buffer: GPUBuffer) => void,
): GPUDevice {
  return proxyOf(device, {
    createBuffer: (descriptor: GPUBufferDescriptor): GPUBuffer => {
      const reading = readback.make(descriptor, () => device.createBuffer(descriptor));
      if (reading) return reading;
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
