/**
 * A load that keeps a GPU busy for some time. The GPU's clocks fall while it waits for the host,
 * with some drivers to a sixth. A short measurement would be over before they rise.
 */
export class GpuLoad {
  readonly #device: GPUDevice;
  readonly #pipeline: GPUComputePipeline;
  readonly #group: GPUBindGroup;
  /** The number of workgroups, adjusted so that a submit takes about a millisecond. */
  #workgroups = 1;

  constructor(device: GPUDevice) {
    this.#device = device;
    const code = `
@group(0) @binding(0) var<storage, read_write> sums: array<u32, 256>;
@compute @workgroup_size(64) fn work(@builtin(local_invocation_index) local: u32) {
  var sum = sums[local];
  for (var turn = 0u; turn < 1000u; turn += 1u) { sum = sum * 1664525u + 1013904223u; }
  sums[local] = sum;
}`;
    const module = device.createShaderModule({ code });
    this.#pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
    const buffer = device.createBuffer({ size: 1024, usage: GPUBufferUsage.STORAGE });
    const entries = [{ binding: 0, resource: { buffer } }];
    this.#group = device.createBindGroup({ layout: this.#pipeline.getBindGroupLayout(0), entries });
  }

  /** Works for `milliseconds`, and waits for the end. */
  async work(milliseconds: number): Promise<void> {
    const { queue } = this.#device;
    for (const end = performance.now() + milliseconds; performance.now() < end; ) {
      const start = performance.now();
      const encoder = this.#device.createCommandEncoder();
      const pass = encoder.beginComputePass();
      pass.setPipeline(this.#pipeline);
      pass.setBindGroup(0, this.#group);
      pass.dispatchWorkgroups(this.#workgroups);
      pass.end();
      queue.submit([encoder.finish()]);
      await queue.onSubmittedWorkDone();
      if (performance.now() - start < 1) this.#workgroups = Math.min(2 * this.#workgroups, 2 ** 15);
    }
  }
}
