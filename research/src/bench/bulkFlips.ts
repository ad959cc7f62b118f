/** Flips bits behind the back of a hardened device: its commands go to the native one. */
export class BulkFlips {
  readonly #device: GPUDevice;
  readonly #pipeline: GPUComputePipeline;

  constructor(device: GPUDevice) {
    this.#device = device;
    const module = device.createShaderModule({ code: FLIP });
    this.#pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
  }

  /** Flips the bits of a mask in a word, for each pair of these. */
  flip(buffer: GPUBuffer, strikes: Uint32Array<ArrayBuffer>): void {
    const device = this.#device;
    const { STORAGE, COPY_DST } = GPUBufferUsage;
    const list = device.createBuffer({ size: strikes.byteLength, usage: STORAGE | COPY_DST });
    device.queue.writeBuffer(list, 0, strikes);
    const entries = [buffer, list].map((each, binding) => ({ binding, resource: { buffer: each } }));
    const layout = this.#pipeline.getBindGroupLayout(0);
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(this.#pipeline);
    pass.setBindGroup(0, device.createBindGroup({ layout, entries }));
    pass.dispatchWorkgroups(Math.ceil(strikes.length / 2 / WORKGROUP));
    pass.end();
    device.queue.submit([encoder.finish()]);
    list.destroy();
  }
}

const WORKGROUP = 64;

/** Two flips may strike the same word. */
const FLIP = /* wgsl */ `
@group(0) @binding(0) var<storage, read_write> words: array<atomic<u32>>;
@group(0) @binding(1) var<storage, read> strikes: array<vec2u>;
@compute @workgroup_size(${WORKGROUP}) fn flip(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < arrayLength(&strikes)) { atomicXor(&words[strikes[id.x].x], strikes[id.x].y); }
}`;
