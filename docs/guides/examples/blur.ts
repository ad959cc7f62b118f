/**
 * An ordinary WebGPU program: averages each number with its neighbors. It knows nothing of Belay.
 */
export const code = `
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> b: array<f32>;

@compute @workgroup_size(64)
fn blur(@builtin(global_invocation_id) id: vec3u) {
  let last = arrayLength(&a) - 1u;
  let left = a[max(id.x, 1u) - 1u];
  let right = a[min(id.x + 1u, last)];
  b[id.x] = 0.25 * left + 0.5 * a[id.x] + 0.25 * right;
}`;

export default async function blur(device: GPUDevice) {
  const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
  const size = 4 * 256;
  const a = device.createBuffer({ label: "a", size, usage: STORAGE | COPY_DST });
  const b = device.createBuffer({ label: "b", size, usage: STORAGE | COPY_SRC });
  const result = device.createBuffer({ label: "result", size, usage: MAP_READ | COPY_DST });
  device.queue.writeBuffer(
    a,
    0,
    Float32Array.from({ length: 256 }, (_, i) => i * i),
  );

  const module = device.createShaderModule({ code });
  const pipeline = device.createComputePipeline({ label: "blur", layout: "auto", compute: { module } });
  const entries = [a, b].map((buffer, binding) => ({ binding, resource: { buffer } }));
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
  pass.dispatchWorkgroups(4);
  pass.end();
  encoder.copyBufferToBuffer(b, 0, result, 0, size);
  device.queue.submit([encoder.finish()]);

  await result.mapAsync(GPUMapMode.READ);
  return { b: new Float32Array(result.getMappedRange().slice()) };
}
