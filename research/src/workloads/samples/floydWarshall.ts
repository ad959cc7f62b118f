/**
 * The shortest paths between all pairs of nodes: the length of each, and a node on it.
 *
 * Source: the sample FloydWarshall of the AMD APP SDK, as used by Wadden et al. 2014. It works in
 * place, with a dispatch for each node and whole numbers as lengths. A second matrix names the last
 * node that made a path shorter. Chosen here: a complete graph with random lengths, four rows for
 * each invocation.
 */
import { readBuffers, resultBuffer, uploadBuffer } from "../buffers.ts";
import { type Prepared, runOnce, type Verdict, type VerifiableProgram } from "../program.ts";
import { randomWord } from "../random.ts";
import { createSteps } from "./steps.ts";

const WIDTH = 32;
const HEIGHT = 4;
/**
 * The number of rows for each invocation. They share an element of row `k`, and all are loaded
 * before any of them is stored.
 */
const ROWS = 4;

/**
 * The kernel of one step. No invocation stores an element that another may read in the same
 * dispatch. Row `k` and column `k` never change: the way from a node to itself has length zero and
 * shortens nothing.
 */
const RELAX = /* wgsl */ `
struct Step {
  nodes: u32,
  k: u32,
}

@group(0) @binding(0) var<uniform> step: Step;
@group(0) @binding(1) var<storage, read_write> lengths: array<u32>;
@group(0) @binding(2) var<storage, read_write> via: array<u32>; // one more than the node, or zero for the edge itself

fn at(rows: vec4u) -> vec4u {
  return vec4u(lengths[rows.x], lengths[rows.y], lengths[rows.z], lengths[rows.w]);
}

fn shorten(index: u32, length: u32) {
  lengths[index] = length;
  via[index] = step.k + 1u;
}

@compute @workgroup_size(${WIDTH}, ${HEIGHT})
fn relax(@builtin(global_invocation_id) id: vec3u) {
  let top = id.y * ${ROWS}u;
  if (id.x >= step.nodes || top >= step.nodes) { return; }
  let rows = (top + vec4u(0u, 1u, 2u, 3u)) * step.nodes;
  let own = rows + id.x;
  let through = at(rows + step.k) + lengths[step.k * step.nodes + id.x];
  let shorter = through < at(own);
  if (shorter.x) { shorten(own.x, through.x); }
  if (shorter.y) { shorten(own.y, through.y); }
  if (shorter.z) { shorten(own.z, through.z); }
  if (shorter.w) { shorten(own.w, through.w); }
}`;

/**
 * A length greater than any path's, and small enough that the sum of two fits. Rows that fill up
 * the last four consist of it.
 */
const UNREACHABLE = 2 ** 30;

export interface FloydWarshallOptions {
  readonly nodes?: number;
  readonly seed?: number;
}

type Paths = { lengths: Uint32Array; via: Uint32Array };

export function create({ nodes = 48, seed = 1 }: FloydWarshallOptions = {}): VerifiableProgram<Paths> {
  const edges = randomEdges(nodes, seed);
  const steps = Array.from({ length: nodes }, (_, k) => [nodes, k]);

  const prepare = (device: GPUDevice): Prepared<Paths> => {
    const input = uploadBuffer(device, edges, GPUBufferUsage.COPY_SRC);
    const lengths = resultBuffer(device, edges.byteLength);
    const via = resultBuffer(device, edges.byteLength);
    const relaxations = createSteps(device, steps, lengths, via);
    const module = device.createShaderModule({ code: RELAX });
    const pipeline = device.createComputePipeline({ layout: relaxations.layout, compute: { module } });
    const reset = () => {
      const encoder = device.createCommandEncoder();
      encoder.copyBufferToBuffer(input, 0, lengths, 0, edges.byteLength);
      encoder.clearBuffer(via);
      device.queue.submit([encoder.finish()]);
    };
    reset();

    return {
      encode(encoder) {
        const pass = encoder.beginComputePass();
        pass.setPipeline(pipeline);
        steps.forEach((_, k) => {
          relaxations.set(pass, k);
          pass.dispatchWorkgroups(Math.ceil(nodes / WIDTH), Math.ceil(nodes / (HEIGHT * ROWS)));
        });
        pass.end();
      },
      reset,
      async read() {
        const bytes = await readBuffers(device, lengths, via);
        return {
          lengths: new Uint32Array(bytes, 0, nodes * nodes),
          via: new Uint32Array(bytes, edges.byteLength, nodes * nodes),
        };
      },
      destroy() {
        for (const resource of [relaxations, input, lengths, via]) resource.destroy();
      },
    };
  };

  return {
    prepare,
    workload: runOnce(prepare),
    verify: (paths) => verifyPaths(edges, paths, nodes),
    kernelSources: { relax: RELAX },
    // Each step reads the matrix once. Its stores depend on the lengths, and are few.
    work: { bytes: 4 * nodes ** 3, flops: 0 },
  };
}

export default (device: GPUDevice) => create().workload(device);

function randomEdges(nodes: number, seed: number): Uint32Array<ArrayBuffer> {
  const edges = new Uint32Array(Math.ceil(nodes / ROWS) * ROWS * nodes).fill(UNREACHABLE);
  for (let i = 0; i < nodes * nodes; i++) edges[i] = 1 + (randomWord(seed, i) >>> 16);
  for (let node = 0; node < nodes; node++) edges[node * nodes + node] = 0;
  return edges;
}

/**
 * Verifies the paths. First, each length must be that of a path: of the edge, or of two shorter
 * paths that meet in the node it goes through. Then no length is too short, and an edge longer than
 * its entry is on no shortest path. Dijkstra's algorithm over the few edges that are left then
 * finds every length that is too long.
 */
function verifyPaths(edges: Uint32Array, { lengths, via }: Paths, nodes: number): Verdict {
  const useful: { to: number; length: number }[][] = [];
  for (let from = 0; from < nodes; from++) {
    useful.push([]);
    for (let to = 0; to < nodes; to++) {
      const index = from * nodes + to;
      const length = lengths[index]!;
      const middle = via[index]! - 1;
      const parts = [lengths[from * nodes + middle]!, lengths[middle * nodes + to]!] as const;
      const expected = middle < 0 ? edges[index]! : parts[0] + parts[1];
      const shortens = middle < 0 || (middle < nodes && parts[0] > 0 && parts[1] > 0);
      if (length !== expected || !shortens) {
        const place = `the length from ${from} to ${to} through ${middle < 0 ? "an edge" : middle}`;
        return { ok: false, message: `${place} is ${length} instead of ${expected}` };
      }
      if (from !== to && edges[index]! <= length) useful[from]!.push({ to, length });
    }
  }
  for (let from = 0; from < nodes; from++) {
    const shortest = shortestFrom(from, useful);
    for (let to = 0; to < nodes; to++) {
      const length = lengths[from * nodes + to]!;
      if (length === shortest[to]) continue;
      const message = `the length from ${from} to ${to} is ${length} instead of ${shortest[to]}`;
      return { ok: false, message };
    }
  }
  return { ok: true, message: `the shortest paths between ${nodes} nodes are exact` };
}

/**
 * Returns the shortest lengths by Dijkstra's algorithm with a bucket for each length, as Dial
 * proposed.
 */
function shortestFrom(
  start: number,
  edges: readonly (readonly { to: number; length: number }[])[],
): Uint32Array {
  const shortest = new Uint32Array(edges.length).fill(UNREACHABLE);
  shortest[start] = 0;
  const buckets: (number[] | undefined)[] = [[start]];
  for (let length = 0; length < buckets.length; length++) {
    for (const node of buckets[length] ?? []) {
      if (shortest[node] !== length) continue;
      for (const edge of edges[node]!) {
        const through = length + edge.length;
        if (through >= shortest[edge.to]!) continue;
        shortest[edge.to] = through;
        buckets[through] ??= [];
        buckets[through].push(edge.to);
      }
    }
  }
  return shortest;
}
