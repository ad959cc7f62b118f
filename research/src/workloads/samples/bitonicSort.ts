import { gridOf, readBuffers, resultBuffer, uploadBuffer } from "../buffers.ts";
import { type Prepared, runOnce, type VerifiableProgram, verifyExact } from "../program.ts";
import { randomWords } from "../random.ts";
import { createSteps } from "./steps.ts";

const WORKGROUP = 64;
/**
 * The number of vectors of four keys that an invocation takes of a block, and of a merge at two
 * distances.
 */
const VECTORS = 4;
/** The number of keys that a workgroup sorts in its own memory. */
const BLOCK = 4 * VECTORS * WORKGROUP;

/**
 * The kernels of the variant that always sorts upwards. A merge first compares mirrored keys, then
 * keys at halving distances, two distances for each load of the keys. Keys beyond the end count as
 * infinite and would never move, so any length works.
 */
const SORT = /* wgsl */ `
struct Pass {
  span: u32, // how many keys the comparators of this pass reach across
}

const WORKGROUP = ${WORKGROUP}u;
const VECTORS = ${VECTORS}u;
const BLOCK = ${BLOCK}u;

@group(0) @binding(0) var<uniform> params: Pass;
@group(0) @binding(1) var<storage, read_write> keys: array<vec4u>; // the last one is filled up with infinite keys

var<workgroup> block: array<vec4u, BLOCK / 4u>;

/**
 * The two vectors that comparator number i of a pass compares. Spans are powers of two, in vectors.
 */
fn mirrored(i: u32, span: u32) -> vec2u {
  let inside = i & (span / 2u - 1u);
  let start = 2u * (i - inside);
  return vec2u(start + inside, start + span - 1u - inside);
}

fn spaced(i: u32, span: u32) -> vec2u {
  let inside = i & (span / 2u - 1u);
  let low = 2u * (i - inside) + inside;
  return vec2u(low, low + span / 2u);
}

/** The four vectors that the distances of a span and of half of it compare with each other. */
fn spacedTwice(i: u32, span: u32) -> vec4u {
  let step = span / 4u;
  let inside = i & (step - 1u);
  return 4u * (i - inside) + inside + step * vec4u(0u, 1u, 2u, 3u);
}

alias Four = array<vec4u, 4>;

fn inOrderTwice(v: Four) -> Four {
  let low = array(min(v[0], v[2]), min(v[1], v[3]));
  let high = array(max(v[0], v[2]), max(v[1], v[3]));
  return Four(min(low[0], low[1]), max(low[0], low[1]), min(high[0], high[1]), max(high[0], high[1]));
}

/** The first two keys in order, and the last two. */
fn inOrder(pairs: vec4u) -> vec4u {
  let low = min(pairs.xz, pairs.yw);
  let high = max(pairs.xz, pairs.yw);
  return vec4u(low.x, high.x, low.y, high.y);
}

/** The last two distances of a merge, inside of a vector. */
fn halvedInside(v: vec4u) -> vec4u {
  return inOrder(inOrder(v.xzyw).xzyw);
}

fn sortedInside(v: vec4u) -> vec4u {
  return halvedInside(inOrder(v).xywz);
}

/**
 * The place of a vector of the block. Eight invocations at a time find theirs in different banks.
 */
fn slot(vector: u32) -> u32 {
  return vector ^ ((vector >> 2u) & 6u);
}

fn keysAt(at: u32) -> vec4u {
  if (at < arrayLength(&keys)) { return keys[at]; }
  return vec4u(0xffffffffu);
}

fn storeBlock(start: u32, local: u32) {
  for (var i = local; i < BLOCK / 4u; i += WORKGROUP) {
    if (start + i < arrayLength(&keys)) { keys[start + i] = block[slot(i)]; }
  }
}

/** All distances of a merge from this span of vectors on. */
fn halve(local: u32, longest: u32) {
  var span = longest;
  for (; span >= 4u; span /= 4u) {
    let at = spacedTwice(local, span);
    let ordered = inOrderTwice(Four(block[slot(at.x)], block[slot(at.y)], block[slot(at.z)], block[slot(at.w)]));
    block[slot(at.x)] = ordered[0];
    block[slot(at.y)] = ordered[1];
    block[slot(at.z)] = ordered[2];
    block[slot(at.w)] = ordered[3];
    workgroupBarrier();
  }
  for (var i = local; i < BLOCK / 8u; i += WORKGROUP) {
    let at = vec2u(slot(2u * i), slot(2u * i + 1u));
    var first = block[at.x];
    var second = block[at.y];
    if (span == 2u) {
      let low = min(first, second);
      second = max(first, second);
      first = low;
    }
    block[at.x] = halvedInside(first);
    block[at.y] = halvedInside(second);
  }
  workgroupBarrier();
}

/** Sorts each block from scratch. */
@compute @workgroup_size(WORKGROUP)
fn sortBlocks(
  @builtin(workgroup_id) id: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  let start = (id.y * groups.x + id.x) * (BLOCK / 4u);
  for (var i = local; i < BLOCK / 4u; i += WORKGROUP) { block[slot(i)] = sortedInside(keysAt(start + i)); }
  workgroupBarrier();
  for (var span = 2u; span <= BLOCK / 4u; span *= 2u) {
    for (var i = local; i < BLOCK / 8u; i += WORKGROUP) {
      let at = mirrored(i, span);
      let low = block[slot(at.x)];
      let high = block[slot(at.y)].wzyx;
      block[slot(at.x)] = min(low, high);
      block[slot(at.y)] = max(low, high).wzyx;
    }
    workgroupBarrier();
    halve(local, span / 2u);
  }
  storeBlock(start, local);
}

/** Ends a merge: all the distances that fit into a block. */
@compute @workgroup_size(WORKGROUP)
fn mergeBlocks(
  @builtin(workgroup_id) id: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  let start = (id.y * groups.x + id.x) * (BLOCK / 4u);
  for (var i = local; i < BLOCK / 4u; i += WORKGROUP) { block[slot(i)] = keysAt(start + i); }
  workgroupBarrier();
  halve(local, BLOCK / 4u);
  storeBlock(start, local);
}

/** Begins a merge; each invocation compares four keys with four that lie backwards. */
@compute @workgroup_size(WORKGROUP)
fn mergeMirrored(
  @builtin(workgroup_id) id: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  let at = mirrored((id.y * groups.x + id.x) * WORKGROUP + local, params.span / 4u);
  if (at.y >= arrayLength(&keys)) { return; }
  let low = keys[at.x];
  let high = keys[at.y].wzyx;
  keys[at.x] = min(low, high);
  keys[at.y] = max(low, high).wzyx;
}

/** Continues a merge at one distance. */
@compute @workgroup_size(WORKGROUP)
fn mergeSpaced(
  @builtin(workgroup_id) id: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  let at = spaced((id.y * groups.x + id.x) * WORKGROUP + local, params.span / 4u);
  if (at.y >= arrayLength(&keys)) { return; }
  let low = keys[at.x];
  let high = keys[at.y];
  keys[at.x] = min(low, high);
  keys[at.y] = max(low, high);
}

/** Continues a merge at one distance and then at half of it. */
@compute @workgroup_size(WORKGROUP)
fn mergeSpacedTwice(
  @builtin(workgroup_id) id: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  let at = spacedTwice((id.y * groups.x + id.x) * WORKGROUP + local, params.span / 4u);
  let count = arrayLength(&keys);
  if (at.y >= count) { return; }
  let ordered = inOrderTwice(Four(keys[at.x], keys[at.y], keysAt(at.z), keysAt(at.w)));
  keys[at.x] = ordered[0];
  keys[at.y] = ordered[1];
  if (at.z < count) { keys[at.z] = ordered[2]; }
  if (at.w < count) { keys[at.w] = ordered[3]; }
}`;

type EntryPoint = "sortBlocks" | "mergeMirrored" | "mergeSpacedTwice" | "mergeSpaced" | "mergeBlocks";

/** The number of keys that an invocation holds. */
const KEYS: Readonly<Record<EntryPoint, number>> = {
  sortBlocks: 4 * VECTORS,
  mergeMirrored: 8,
  mergeSpacedTwice: 4 * VECTORS,
  mergeSpaced: 8,
  mergeBlocks: 4 * VECTORS,
};

export interface BitonicSortOptions {
  readonly length?: number;
  readonly seed?: number;
}

/** Creates a program that sorts u32 keys in place. */
export function create({
  length = 5000,
  seed = 1,
}: BitonicSortOptions = {}): VerifiableProgram<{ keys: Uint32Array }> {
  const unsorted = randomWords(length, seed);
  const padded = new Uint32Array(4 * Math.ceil(length / 4)).fill(0xffffffff);
  padded.set(unsorted);
  const passes = sortingPasses(length);

  const prepare = (device: GPUDevice): Prepared<{ keys: Uint32Array }> => {
    const input = uploadBuffer(device, padded, GPUBufferUsage.COPY_SRC);
    const keys = resultBuffer(device, padded.byteLength);
    const spans = passes.map(({ span }) => [span]);
    const steps = createSteps(device, spans, keys);
    const module = device.createShaderModule({ code: SORT });
    const pipelines = new Map<EntryPoint, GPUComputePipeline>();
    for (const { entryPoint } of passes) {
      if (pipelines.has(entryPoint)) continue;
      const compute = { module, entryPoint };
      pipelines.set(entryPoint, device.createComputePipeline({ layout: steps.layout, compute }));
    }
    const reset = () => {
      const encoder = device.createCommandEncoder();
      encoder.copyBufferToBuffer(input, 0, keys, 0, padded.byteLength);
      device.queue.submit([encoder.finish()]);
    };
    reset();

    return {
      encode(encoder) {
        const pass = encoder.beginComputePass();
        passes.forEach(({ entryPoint, span }, i) => {
          pass.setPipeline(pipelines.get(entryPoint)!);
          steps.set(pass, i);
          // The last span counts in full: mirrored, its first keys meet those beyond the end.
          const covered = Math.ceil(length / span) * span;
          pass.dispatchWorkgroups(...gridOf(Math.ceil(covered / (WORKGROUP * KEYS[entryPoint]))));
        });
        pass.end();
      },
      reset,
      read: async () => ({ keys: new Uint32Array(await readBuffers(device, keys), 0, length) }),
      destroy() {
        for (const resource of [steps, input, keys]) resource.destroy();
      },
    };
  };

  return {
    prepare,
    workload: runOnce(prepare),
    verify: ({ keys }) => verifyExact("keys", keys, unsorted.slice().sort()),
    kernelSources: { sort: SORT },
    work: { bytes: passes.length * 8 * length, flops: 0 },
  };
}

export default (device: GPUDevice) => create().workload(device);

function sortingPasses(length: number): { entryPoint: EntryPoint; span: number }[] {
  const passes: { entryPoint: EntryPoint; span: number }[] = [{ entryPoint: "sortBlocks", span: BLOCK }];
  for (let merged = 2 * BLOCK; merged < 2 * length; merged *= 2) {
    passes.push({ entryPoint: "mergeMirrored", span: merged });
    let span = merged / 2;
    for (; span > 2 * BLOCK; span /= 4) passes.push({ entryPoint: "mergeSpacedTwice", span });
    if (span > BLOCK) passes.push({ entryPoint: "mergeSpaced", span });
    passes.push({ entryPoint: "mergeBlocks", span: BLOCK });
  }
  return passes;
}
