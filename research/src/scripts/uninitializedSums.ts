/**
 * Runs a tiled matrix product without a fault on hardened devices that execute its body twice,
 * and compares every bit with the plain device's result.
 *
 *   node research/dist/scripts/uninitializedSums.js [--runs 100] [--out FILE]
 *
 * The kernel sums in an array without initializer, around loops with barriers, as the
 * matrix product of TensorFlow.js does. A driver may zero such a variable once per function. A
 * replica that begins with the sums of the other replica differs, and its results are refused.
 * Ends with an error when a result differs, anything is reported, or a policy leaves the kernel
 * alone.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { harden, type Policy } from "belay-gpu";
import { openGpu } from "belay-node/internal/adapter";
import { newDevice } from "belay-node/internal/newDevice";
import { randomFloats } from "../workloads/random.ts";

const { values: flags } = parseArgs({
  options: { runs: { type: "string", default: "100" }, out: { type: "string" } },
});
const runs = Number(flags.runs);

/** The rows of the left matrix, the columns of the right one, and their shared dimension. */
const [rows, columns, inner] = [128, 192, 160];

const PRODUCT = /* wgsl */ `
struct Shape { rows: i32, columns: i32, inner: i32 }
const tile = 32;
const rowsPerThread = 4;
var<workgroup> leftTile: array<array<vec4f, 8>, 32>;
var<workgroup> rightTile: array<array<vec4f, 8>, 32>;
@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> left: array<vec4f>;
@group(0) @binding(2) var<storage, read> right: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> product: array<vec4f>;

fn leftAt(row: i32, column: i32) -> vec4f {
  var value = vec4f();
  if (row < shape.rows && column < shape.inner / 4) { value = left[row * shape.inner / 4 + column]; }
  return value;
}

fn rightAt(row: i32, column: i32) -> vec4f {
  var value = vec4f();
  if (row < shape.inner && column < shape.columns / 4) { value = right[row * shape.columns / 4 + column]; }
  return value;
}

@compute @workgroup_size(8, 8)
fn matMul(@builtin(local_invocation_id) local: vec3u, @builtin(global_invocation_id) id: vec3u) {
  let firstRow = i32(local.y) * rowsPerThread;
  let globalRow = i32(id.y) * rowsPerThread;
  let lane = i32(local.x);
  let tiles = (shape.inner - 1) / tile + 1;
  var start = 0;
  var acc: array<vec4f, rowsPerThread>;
  for (var t = 0; t < tiles; t++) {
    for (var row = 0; row < rowsPerThread; row++) {
      leftTile[firstRow + row][lane] = leftAt(globalRow + row, start / 4 + lane);
      rightTile[firstRow + row][lane] = rightAt(start + firstRow + row, i32(id.x));
    }
    start += tile;
    workgroupBarrier();
    for (var k = 0; k < tile / 4; k++) {
      let first = rightTile[k * 4][lane];
      let second = rightTile[k * 4 + 1][lane];
      let third = rightTile[k * 4 + 2][lane];
      let fourth = rightTile[k * 4 + 3][lane];
      for (var row = 0; row < rowsPerThread; row++) {
        let factors = leftTile[firstRow + row][k];
        acc[row] = first * factors.x + acc[row];
        acc[row] = second * factors.y + acc[row];
        acc[row] = third * factors.z + acc[row];
        acc[row] = fourth * factors.w + acc[row];
      }
    }
    workgroupBarrier();
  }
  for (var row = 0; row < rowsPerThread; row++) {
    if (globalRow + row < shape.rows && i32(id.x) < shape.columns / 4) {
      product[(globalRow + row) * shape.columns / 4 + i32(id.x)] = acc[row];
    }
  }
}`;

const policies: Record<string, Policy> = {
  auto: { redundancy: "auto" },
  "passes, without workgroup memory": { redundancy: "intra-lds", pairing: "passes" },
  passes: { redundancy: "intra+lds", pairing: "passes" },
  adjacent: { redundancy: "intra+lds", pairing: "adjacent" },
  "passes with secded128": { redundancy: "intra+lds", pairing: "passes", memory: "secded128" },
};

/** Returns a function that computes the product once more and returns its words. */
async function prepare(device: GPUDevice): Promise<() => Promise<Uint32Array>> {
  const { STORAGE, UNIFORM, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
  const upload = (data: Float32Array | Int32Array, usage: number) => {
    const buffer = device.createBuffer({ size: data.byteLength, usage: usage | COPY_DST });
    device.queue.writeBuffer(buffer, 0, data as Float32Array<ArrayBuffer>);
    return buffer;
  };
  const module = device.createShaderModule({ code: PRODUCT });
  const pipeline = await device.createComputePipelineAsync({
    label: "matMul",
    layout: "auto",
    compute: { module },
  });
  const product = upload(new Float32Array(rows * columns), STORAGE | COPY_SRC);
  const buffers = [
    upload(Int32Array.of(rows, columns, inner, 0), UNIFORM),
    upload(randomFloats(rows * inner, 1), STORAGE),
    upload(randomFloats(inner * columns, 2), STORAGE),
    product,
  ];
  const reader = device.createBuffer({ size: product.size, usage: MAP_READ | COPY_DST });
  const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
  const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
  return async () => {
    const encoder = device.createCommandEncoder();
    encoder.clearBuffer(product);
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group);
    pass.dispatchWorkgroups(columns / 32, rows / 32);
    pass.end();
    encoder.copyBufferToBuffer(product, 0, reader, 0, product.size);
    device.queue.submit([encoder.finish()]);
    await reader.mapAsync(GPUMapMode.READ);
    const words = new Uint32Array(reader.getMappedRange().slice(0));
    reader.unmap();
    return words;
  };
}

const opened = await openGpu();
const plain = await newDevice(opened);
const expected = await (await prepare(plain))();
const results = [];
for (const [name, policy] of Object.entries(policies)) {
  const device = harden(await newDevice(opened), policy);
  const alarms: string[] = [];
  for (const event of ["detection", "fault", "unverified", "memoryFault", "giveUp", "recovery"] as const)
    device.belay.addEventListener(event, ({ message }) => alarms.push(`${event}: ${message}`));
  let [same, different, refused] = [0, 0, 0];
  const compute = await prepare(device);
  for (let run = 0; run < runs; run++) {
    try {
      const words = await compute();
      if (words.every((word, at) => word === expected[at])) same++;
      else different++;
    } catch (error) {
      refused++;
      alarms.push(String(error));
    }
  }
  const [kernel] = (await device.belay.report()).kernels;
  const { redundancy, chosen } = kernel!;
  const isProtected = redundancy !== "none";
  results.push({ policy: name, redundancy, chosen, runs, same, different, refused, alarms });
  console.log(
    `${name} (${redundancy}): ${same} of ${runs} runs as plain, ` +
      `${different} with other results, ${refused} refused, ${alarms.length} alarms`,
  );
  for (const alarm of new Set(alarms)) console.log(`  ${alarm}`);
  if (same < runs || alarms.length > 0 || !isProtected) process.exitCode = 1;
  device.destroy();
}
if (flags.out) writeFileSync(flags.out, JSON.stringify({ adapter: opened.choice, results }, null, 2));
plain.destroy();
opened.close();
