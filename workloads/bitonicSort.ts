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

fn loadBlock(at: u32, local: u32) {
  var four = vec4u(0xffffffffu);
  if (at < arrayLength(&keys)) { four = keys[at]; }
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
  if (any(low > high)) {
    keys[at.x] = min(low, high);
    keys[at.y] = max(low, high).wzyx;
  }
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
  if (any(low > high)) {
    keys[at.x] = min(low, high);
    keys[at.y] = max(low, high);
  }
}`;

type EntryPoint = "sortBlocks" | "mergeMirrored" | "mergeSpaced" | "mergeBlocks";

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
          const isBlock = span === BLOCK;
          // The last span counts in full: mirrored, its first keys meet those beyond the end.
          const covered = Math.ceil(length / span) * span;
          pass.dispatchWorkgroups(...gridOf(covered / (isBlock ? BLOCK : 2 * BLOCK)));
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
    for (let span = merged / 2; span > BLOCK; span /= 2) passes.push({ entryPoint: "mergeSpaced", span });
    passes.push({ entryPoint: "mergeBlocks", span: BLOCK });
  }
  return passes;
}
