import { gridOf, readBuffers, resultBuffer, uploadBuffer } from "./buffers.ts";
import { type Prepared, type Program, runOnce, verifyExact } from "./program.ts";
import { randomWords } from "./random.ts";
import { createSteps } from "./steps.ts";

const WORKGROUP = 128;
/** How many keys a workgroup sorts in its own memory: two for each invocation. */
const BLOCK = 2 * WORKGROUP;

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
@group(0) @binding(1) var<storage, read_write> keys: array<u32>;

var<workgroup> block: array<u32, BLOCK>;

/** The two positions that comparator number i of a pass compares. */
fn mirrored(i: u32, span: u32) -> vec2u {
  let start = i / (span / 2u) * span;
  let inside = i % (span / 2u);
  return vec2u(start + inside, start + span - 1u - inside);
}

fn spaced(i: u32, span: u32) -> vec2u {
  let start = i / (span / 2u) * span;
  let low = start + i % (span / 2u);
  return vec2u(low, low + span / 2u);
}

fn order(at: vec2u) {
  if (at.y >= arrayLength(&keys)) { return; }
  let low = keys[at.x];
  let high = keys[at.y];
  if (low > high) {
    keys[at.x] = high;
    keys[at.y] = low;
  }
}

fn orderInBlock(at: vec2u) {
  let low = block[at.x];
  let high = block[at.y];
  block[at.x] = min(low, high);
  block[at.y] = max(low, high);
  workgroupBarrier();
}

fn loadBlock(group: u32, local: u32) {
  for (var i = local; i < BLOCK; i += WORKGROUP) {
    block[i] = 0xffffffffu;
    if (group * BLOCK + i < arrayLength(&keys)) { block[i] = keys[group * BLOCK + i]; }
  }
  workgroupBarrier();
}

fn storeBlock(group: u32, local: u32) {
  for (var i = local; i < BLOCK; i += WORKGROUP) {
    if (group * BLOCK + i < arrayLength(&keys)) { keys[group * BLOCK + i] = block[i]; }
  }
}

fn halve(local: u32, longest: u32) {
  for (var span = longest; span >= 2u; span /= 2u) { orderInBlock(spaced(local, span)); }
}

/** Sorts each block from scratch. */
@compute @workgroup_size(WORKGROUP)
fn sortBlocks(
  @builtin(workgroup_id) id: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  let group = id.y * groups.x + id.x;
  loadBlock(group, local);
  for (var span = 2u; span <= BLOCK; span *= 2u) {
    orderInBlock(mirrored(local, span));
    halve(local, span / 2u);
  }
  storeBlock(group, local);
}

/** Ends a merge: all the distances that fit into a block. */
@compute @workgroup_size(WORKGROUP)
fn mergeBlocks(
  @builtin(workgroup_id) id: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  let group = id.y * groups.x + id.x;
  loadBlock(group, local);
  halve(local, BLOCK);
  storeBlock(group, local);
}

/** Begins a merge. */
@compute @workgroup_size(WORKGROUP)
fn mergeMirrored(
  @builtin(workgroup_id) id: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  order(mirrored((id.y * groups.x + id.x) * WORKGROUP + local, params.span));
}

/** Continues a merge at one distance. */
@compute @workgroup_size(WORKGROUP)
fn mergeSpaced(
  @builtin(workgroup_id) id: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  order(spaced((id.y * groups.x + id.x) * WORKGROUP + local, params.span));
}`;

type EntryPoint = "sortBlocks" | "mergeMirrored" | "mergeSpaced" | "mergeBlocks";

export interface BitonicSortOptions {
  readonly length?: number;
  readonly seed?: number;
}

/** Sorts u32 keys in place. */
export function create({ length = 5000, seed = 1 }: BitonicSortOptions = {}): Program<{ keys: Uint32Array }> {
  const unsorted = randomWords(length, seed);
  const passes = sortingPasses(length);

  const prepare = (device: GPUDevice): Prepared<{ keys: Uint32Array }> => {
    const input = uploadBuffer(device, unsorted, GPUBufferUsage.COPY_SRC);
    const keys = resultBuffer(device, length * 4);
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
      encoder.copyBufferToBuffer(input, 0, keys, 0, length * 4);
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
          pass.dispatchWorkgroups(...gridOf((Math.ceil(length / span) * span) / BLOCK));
        });
        pass.end();
      },
      reset,
      read: async () => ({ keys: new Uint32Array(await readBuffers(device, keys)) }),
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
