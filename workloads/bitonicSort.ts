import { gridOf, readBuffers, resultBuffer, uploadBuffer } from "./buffers.ts";
import { type Prepared, type Program, runOnce, verifyExact } from "./program.ts";
import { randomWords } from "./random.ts";
import { createSteps } from "./steps.ts";

const WORKGROUP = 128;
/** How many keys a workgroup sorts in its own memory: a vector for each invocation. */
const BLOCK = 4 * WORKGROUP;

/**
 * The variant that always sorts upwards: a merge first compares mirrored keys, then keys at halving distances. Keys
 * beyond the end count as infinite and would never move, so any length works.
 */
const SORT = /* wgsl */ `
struct Pass {
  span: u32, // how many keys the comparators of this pass reach across
}

const WORKGROUP = ${WORKGROUP}u;
const BLOCK = ${BLOCK}u;

@group(0) @binding(0) var<uniform> params: Pass;
@group(0) @binding(1) var<storage, read_write> keys: array<vec4u>; // the last one is filled up with infinite keys

var<workgroup> block: array<u32, BLOCK>;

/** The two positions that comparator number i of a pass compares; spans are powers of two. */
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

fn orderInBlock(at: vec2u) {
  let low = block[at.x];
  let high = block[at.y];
  block[at.x] = min(low, high);
  block[at.y] = max(low, high);
}

fn keysAt(at: u32) -> vec4u {
  if (at < arrayLength(&keys)) { return keys[at]; }
  return vec4u(0xffffffffu);
}

fn loadBlock(at: u32, local: u32) {
  let four = keysAt(at);
  for (var i = 0u; i < 4u; i++) { block[4u * local + i] = four[i]; }
  workgroupBarrier();
}

fn storeBlock(at: u32, local: u32) {
  let first = 4u * local;
  if (at < arrayLength(&keys)) {
    keys[at] = vec4u(block[first], block[first + 1u], block[first + 2u], block[first + 3u]);
  }
}

fn halve(local: u32, longest: u32) {
  for (var span = longest; span >= 2u; span /= 2u) {
    for (var i = local; i < BLOCK / 2u; i += WORKGROUP) { orderInBlock(spaced(i, span)); }
    workgroupBarrier();
  }
}

/** Sorts each block from scratch. */
@compute @workgroup_size(WORKGROUP)
fn sortBlocks(
  @builtin(workgroup_id) id: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  let at = (id.y * groups.x + id.x) * WORKGROUP + local;
  loadBlock(at, local);
  for (var span = 2u; span <= BLOCK; span *= 2u) {
    for (var i = local; i < BLOCK / 2u; i += WORKGROUP) { orderInBlock(mirrored(i, span)); }
    workgroupBarrier();
    halve(local, span / 2u);
  }
  storeBlock(at, local);
}

/** Ends a merge: all the distances that fit into a block. */
@compute @workgroup_size(WORKGROUP)
fn mergeBlocks(
  @builtin(workgroup_id) id: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  let at = (id.y * groups.x + id.x) * WORKGROUP + local;
  loadBlock(at, local);
  halve(local, BLOCK);
  storeBlock(at, local);
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

/** Continues a merge at one distance and then at half of it: four vectors are all that both need. */
@compute @workgroup_size(WORKGROUP)
fn mergeSpacedTwice(
  @builtin(workgroup_id) id: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  let step = params.span / 16u;
  let i = (id.y * groups.x + id.x) * WORKGROUP + local;
  let inside = i & (step - 1u);
  let at = 4u * (i - inside) + inside + step * vec4u(0u, 1u, 2u, 3u);
  let count = arrayLength(&keys);
  if (at.y >= count) { return; }

  let first = keys[at.x];
  let second = keys[at.y];
  let third = keysAt(at.z);
  let fourth = keysAt(at.w);
  let low = array(min(first, third), min(second, fourth));
  let high = array(max(first, third), max(second, fourth));
  keys[at.x] = min(low[0], low[1]);
  keys[at.y] = max(low[0], low[1]);
  if (at.z < count) { keys[at.z] = min(high[0], high[1]); }
  if (at.w < count) { keys[at.w] = max(high[0], high[1]); }
}`;

type EntryPoint = "sortBlocks" | "mergeMirrored" | "mergeSpacedTwice" | "mergeSpaced" | "mergeBlocks";

/** How many keys an invocation holds. */
const KEYS: Readonly<Record<EntryPoint, number>> = {
  sortBlocks: 4,
  mergeMirrored: 8,
  mergeSpacedTwice: 16,
  mergeSpaced: 8,
  mergeBlocks: 4,
};

export interface BitonicSortOptions {
  readonly length?: number;
  readonly seed?: number;
}

/** Sorts u32 keys in place. */
export function create({ length = 5000, seed = 1 }: BitonicSortOptions = {}): Program<{ keys: Uint32Array }> {
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
    const pipelineOf = (entryPoint: EntryPoint) =>
      device.createComputePipeline({ layout: steps.layout, compute: { module, entryPoint } });
    const pipelines = {
      sortBlocks: pipelineOf("sortBlocks"),
      mergeMirrored: pipelineOf("mergeMirrored"),
      mergeSpacedTwice: pipelineOf("mergeSpacedTwice"),
      mergeSpaced: pipelineOf("mergeSpaced"),
      mergeBlocks: pipelineOf("mergeBlocks"),
    };
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
          pass.setPipeline(pipelines[entryPoint]);
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
