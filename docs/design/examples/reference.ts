/** Runs a kernel on the CPU, and prints the numbers that implementations may compute. */
import { createReference, createReferenceBuffer } from "belay-gpu/reference";

const kernel = createReference({
  source: `@group(0) @binding(0) var<storage, read_write> x: array<f32>;
    @compute @workgroup_size(1) fn third(@builtin(workgroup_id) id: vec3u) { x[id.x] = x[id.x] / 3.0; }`,
});
if ("construct" in kernel) throw new Error(kernel.construct);
const buffer = createReferenceBuffer(Float32Array.of(1, 6));
kernel.run({ workgroups: [2, 1, 1], buffers: [{ group: 0, binding: 0, buffer }] });
for (const offset of [0, 4]) {
  const { low, high } = buffer.rangeAt(offset)!;
  console.log(`from ${low} to ${high}`);
}
