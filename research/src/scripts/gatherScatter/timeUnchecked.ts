import { median } from "simple-statistics";
import { GpuTimer } from "../../bench/measuring/gpuTimer.ts";

const unchecked = (workgroupSize: number) => /* wgsl */ `
@group(0) @binding(0) var<storage, read_write> a: array<f32>;
@group(0) @binding(1) var<storage, read> p: array<u32>;
@group(0) @binding(2) var<storage, read> q: array<u32>;
@compute @workgroup_size(${workgroupSize})
fn run(@builtin(workgroup_id) id: vec3u, @builtin(num_workgroups) size: vec3u, @builtin(local_invocation_index) local: u32) {
  let i = (id.y * size.x + id.x) * ${workgroupSize}u + local;
  if (i < arrayLength(&p)) { a[p[i]] = a[q[i]] * 0.5 + 1.0; }
}`;

/**
 * Returns the median milliseconds, on the GPU's clock, of kernels of the loop that check nothing,
 * by workgroup size.
 */
export async function timeUnchecked(
  device: GPUDevice,
  [a, p, q]: readonly [Float32Array<ArrayBuffer>, Uint32Array<ArrayBuffer>, Uint32Array<ArrayBuffer>],
  repeat: (time: () => Promise<number>) => Promise<number[]>,
): Promise<Record<number, number>> {
  const timer = new GpuTimer(device);
  const buffers = [a, p, q].map((data) => {
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST;
    const buffer = device.createBuffer({ size: data.byteLength, usage });
    device.queue.writeBuffer(buffer, 0, data);
    return buffer;
  });
  const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
  const times: Record<number, number> = {};
  for (const size of [64, 256, 512, 1024]) {
    if (size > device.limits.maxComputeInvocationsPerWorkgroup) continue;
    const module = device.createShaderModule({ code: unchecked(size) });
    const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
    const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
    const workgroups = Math.ceil(p.length / size);
    const rows = Math.ceil(workgroups / 65535);
    const run = () =>
      timer.time((encoder) => {
        const pass = encoder.beginComputePass();
        pass.setPipeline(pipeline);
        pass.setBindGroup(0, group);
        pass.dispatchWorkgroups(Math.ceil(workgroups / rows), rows);
        pass.end();
      });
    times[size] = median(await repeat(run));
  }
  for (const buffer of buffers) buffer.destroy();
  return times;
}
