/**
 * The exclusive prefix sums of u32 values, modulo 2^32: sum number `i` is that of the first `i`
 * values.
 *
 * Source: the sample PrefixSum of the AMD APP SDK, as used by Wadden et al. 2014. The scan in
 * workgroup memory is that of Blelloch, "Prefix sums and their applications", 1990: up a tree of
 * partial sums and down again.
 *
 * Chosen here: whole numbers, so that sums are exact at any length. Blocks are summed first, and
 * their sums are scanned likewise. Then each block is scanned from the sum before it. This moves
 * twelve bytes for a value, while scanning first and adding later moves sixteen.
 */
import { bindBuffers, gridOf, readBuffers, resultBuffer, uploadBuffer } from "../buffers.ts";
import { type Prepared, runOnce, type VerifiableProgram, verifyExact } from "../program.ts";
import { randomWords } from "../random.ts";

const WORKGROUP = 128;
/** The number of values of a block: two leaves for each invocation, of two vectors each. */
const BLOCK = 2 * 8 * WORKGROUP;

const SCAN = /* wgsl */ `
const WORKGROUP = ${WORKGROUP}u;
/** The number of pairs of vectors in a block. Each pair is one leaf of the tree. */
const LEAVES = 2u * WORKGROUP;

struct Leaf {
  low: vec4u,
  high: vec4u,
}

@group(0) @binding(0) var<storage, read> values: array<vec4u>;
@group(0) @binding(1) var<storage, read_write> blockSums: array<u32>; // once they are scanned, of the blocks before
@group(0) @binding(2) var<storage, read_write> scanned: array<vec4u>;

var<workgroup> tree: array<u32, LEAVES + LEAVES / 32u>;

/** Skips a word in 32, so that nodes at distances of powers of two do not meet in a bank. */
fn place(node: u32) -> u32 {
  return node + node / 32u;
}

fn sumOf(leaf: Leaf) -> u32 {
  let sums = leaf.low + leaf.high;
  return sums.x + sums.y + sums.z + sums.w;
}

fn load(leaf: u32) -> Leaf {
  var loaded: Leaf;
  if (2u * leaf < arrayLength(&values)) { loaded.low = values[2u * leaf]; }
  if (2u * leaf + 1u < arrayLength(&values)) { loaded.high = values[2u * leaf + 1u]; }
  return loaded;
}

/** Leaves in each node the sum of the leaves below it. */
fn sweepUp(local: u32) {
  for (var distance = 1u; distance < LEAVES; distance *= 2u) {
    workgroupBarrier();
    if (local < LEAVES / 2u / distance) {
      let right = (2u * local + 2u) * distance - 1u;
      tree[place(right)] += tree[place(right - distance)];
    }
  }
}

/** Leaves in each leaf the sum of those before it. */
fn sweepDown(local: u32) {
  workgroupBarrier();
  if (local == 0u) { tree[place(LEAVES - 1u)] = 0u; }
  for (var distance = LEAVES / 2u; distance > 0u; distance /= 2u) {
    workgroupBarrier();
    if (local < LEAVES / 2u / distance) {
      let right = place((2u * local + 2u) * distance - 1u);
      let left = place((2u * local + 1u) * distance - 1u);
      let sum = tree[left];
      tree[left] = tree[right];
      tree[right] += sum;
    }
  }
  workgroupBarrier();
}

@compute @workgroup_size(WORKGROUP)
fn sumBlocks(
  @builtin(workgroup_id) id: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  let group = id.y * groups.x + id.x;
  let first = group * LEAVES + local;
  tree[place(local)] = sumOf(load(first));
  tree[place(local + WORKGROUP)] = sumOf(load(first + WORKGROUP));
  sweepUp(local);
  workgroupBarrier();
  if (local == 0u && group < arrayLength(&blockSums)) { blockSums[group] = tree[place(LEAVES - 1u)]; }
}

/** Stores the sums before each value; returns the one behind the last. */
fn store(index: u32, sum: u32, v: vec4u) -> u32 {
  let before = sum + vec4u(0u, v.x, v.x + v.y, v.x + v.y + v.z);
  if (index < arrayLength(&scanned)) { scanned[index] = before; }
  return before.w + v.w;
}

fn storeLeaf(leaf: u32, sum: u32, values: Leaf) {
  _ = store(2u * leaf + 1u, store(2u * leaf, sum, values.low), values.high);
}

@compute @workgroup_size(WORKGROUP)
fn scanBlocks(
  @builtin(workgroup_id) id: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  let group = id.y * groups.x + id.x;
  let first = group * LEAVES + local;
  let left = load(first);
  let right = load(first + WORKGROUP);
  tree[place(local)] = sumOf(left);
  tree[place(local + WORKGROUP)] = sumOf(right);
  sweepUp(local);
  sweepDown(local);
  storeLeaf(first, blockSums[group] + tree[place(local)], left);
  storeLeaf(first + WORKGROUP, blockSums[group] + tree[place(local + WORKGROUP)], right);
}`;

export interface PrefixSumOptions {
  readonly length?: number;
  readonly seed?: number;
}

export function create({
  length = 5000,
  seed = 1,
}: PrefixSumOptions = {}): VerifiableProgram<{ sums: Uint32Array }> {
  const values = randomWords(length, seed);

  const prepare = (device: GPUDevice): Prepared<{ sums: Uint32Array }> => {
    const module = device.createShaderModule({ code: SCAN });
    const pipelineOf = (entryPoint: string) =>
      device.createComputePipeline({ layout: "auto", compute: { module, entryPoint } });
    const [sumBlocks, scanBlocks] = [pipelineOf("sumBlocks"), pipelineOf("scanBlocks")];
    const levels = levelLengths(length).map((elements) => ({
      elements,
      // The buffers hold whole vectors; they are zero beyond the end.
      values: resultBuffer(device, Math.ceil(elements / 4) * 16),
      scanned: resultBuffer(device, Math.ceil(elements / 4) * 16),
    }));
    device.queue.writeBuffer(levels[0]!.values, 0, values);
    const nothing = uploadBuffer(device, Uint32Array.of(0));
    const sumBindings = levels
      .slice(1)
      .map((above, i) => bindBuffers(device, sumBlocks, levels[i]!.values, above.values));
    const scanBindings = levels.map(({ values, scanned }, i) =>
      bindBuffers(device, scanBlocks, values, levels[i + 1]?.scanned ?? nothing, scanned),
    );
    return {
      encode(encoder) {
        const pass = encoder.beginComputePass();
        const dispatch = (pipeline: GPUComputePipeline, bindings: GPUBindGroup, elements: number) => {
          pass.setPipeline(pipeline);
          pass.setBindGroup(0, bindings);
          pass.dispatchWorkgroups(...gridOf(Math.ceil(elements / BLOCK)));
        };
        sumBindings.forEach((bindings, i) => {
          dispatch(sumBlocks, bindings, levels[i]!.elements);
        });
        for (let i = levels.length - 1; i >= 0; i--) {
          dispatch(scanBlocks, scanBindings[i]!, levels[i]!.elements);
        }
        pass.end();
      },
      read: async () => ({ sums: new Uint32Array(await readBuffers(device, levels[0]!.scanned), 0, length) }),
      destroy() {
        for (const { values, scanned } of levels) for (const buffer of [values, scanned]) buffer.destroy();
        nothing.destroy();
      },
    };
  };

  return {
    prepare,
    workload: runOnce(prepare),
    verify: ({ sums }) => verifyExact("sums", sums, prefixSums(values)),
    kernelSources: { scan: SCAN },
    work: { bytes: workBytes(length), flops: 0 },
  };
}

export default (device: GPUDevice) => create().workload(device);

/**
 * Returns the number of elements that each level scans: the values, then sums of blocks, until one
 * block is left.
 */
function levelLengths(length: number): number[] {
  return length <= BLOCK ? [length] : [length, ...levelLengths(Math.ceil(length / BLOCK))];
}

/**
 * Returns the bytes that a run moves. The scan reads and writes each level once, and the sums read
 * all levels but the last once more.
 */
function workBytes(length: number): number {
  const lengths = levelLengths(length);
  return lengths.reduce((sum, elements) => sum + 12 * elements, 0) - 4 * lengths.at(-1)!;
}

function prefixSums(values: Uint32Array): Uint32Array {
  const sums = new Uint32Array(values.length);
  for (let i = 1; i < values.length; i++) sums[i] = sums[i - 1]! + values[i - 1]!;
  return sums;
}
