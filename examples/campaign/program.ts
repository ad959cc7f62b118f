/** A program whose coverage a campaign measures: it sums pairs of numbers. */
const code = `@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read_write> b: array<f32>;
@compute @workgroup_size(64) fn pairs(@builtin(global_invocation_id) id: vec3u) {
  b[id.x] = a[2 * id.x] + a[2 * id.x + 1];
}`;

export default async function pairs(device: GPUDevice) {
  const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
  const a = device.createBuffer({ label: "a", size: 512, usage: STORAGE | COPY_DST });
  const b = device.createBuffer({ label: "b", size: 256, usage: STORAGE | COPY_SRC });
  const result = device.createBuffer({ size: 256, usage: MAP_READ | COPY_DST });
  device.queue.writeBuffer(
    a,
    0,
    Float32Array.from({ length: 128 }, (_, i) => i * i),
  );
  const module = device.createShaderModule({ code });
  const pipeline = device.createComputePipeline({ label: "pairs", layout: "auto", compute: { module } });
  const entries = [a, b].map((buffer, binding) => ({ binding, resource: { buffer } }));
  const encoder = device.createCommandEncoder();
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
  pass.dispatchWorkgroups(1);
  pass.end();
  encoder.copyBufferToBuffer(b, 0, result, 0, 256);
  device.queue.submit([encoder.finish()]);
  await result.mapAsync(GPUMapMode.READ);
  return { b: new Float32Array(result.getMappedRange().slice()) };
}
