import { flags } from "../webgpu/nativeObjects.ts";

const FLIP = /* wgsl */ `
struct Flip { word: u32, mask: u32 }
@group(0) @binding(0) var<storage, read_write> flip: Flip;
@compute @workgroup_size(1) fn flipBits() { flip.word ^= flip.mask; }`;

/** Returns true for a number of 32 bits, with a sign or without. */
export const isWord = (value: unknown): boolean =>
  value === Number(value) >>> 0 || value === Number(value) >> 0;

/** Flips bits in the memory of a device, as radiation would. Check words are not updated. */
export class BitFlips {
  readonly #device: GPUDevice;
  #made:
    | { readonly pipeline: GPUComputePipeline; readonly scratch: GPUBuffer; readonly group: GPUBindGroup }
    | undefined;

  constructor(device: GPUDevice) {
    this.#device = device;
  }

  /** Flips the bits of a mask in the word at a byte offset, after all work submitted so far. */
  flip(buffer: GPUBuffer, byteOffset: number, mask: number): void {
    this.#made ??= this.#make();
    const { pipeline, scratch, group } = this.#made;
    this.#device.queue.writeBuffer(scratch, 4, Uint32Array.of(mask));
    const encoder = this.#device.createCommandEncoder({ label: "belay: flip" });
    encoder.copyBufferToBuffer(buffer, byteOffset, scratch, 0, 4);
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group);
    pass.dispatchWorkgroups(1);
    pass.end();
    encoder.copyBufferToBuffer(scratch, 0, buffer, byteOffset, 4);
    this.#device.queue.submit([encoder.finish()]);
  }

  #make() {
    const usage = flags.bufferStorage | flags.bufferCopySrc | flags.bufferCopyDst;
    const scratch = this.#device.createBuffer({ label: "belay: flip", size: 8, usage });
    const module = this.#device.createShaderModule({ label: "belay: flip", code: FLIP });
    const pipeline = this.#device.createComputePipeline({
      label: "belay: flip",
      layout: "auto",
      compute: { module },
    });
    const layout = pipeline.getBindGroupLayout(0);
    const entries = [{ binding: 0, resource: { buffer: scratch } }];
    return { pipeline, scratch, group: this.#device.createBindGroup({ layout, entries }) };
  }
}
