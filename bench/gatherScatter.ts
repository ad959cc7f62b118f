/**
 * Measures the default engine on `a[p[i]] = a[q[i]] * 0.5 + 1`, with the sequential loop and the parallel loop without any checks beside it.
 *
 *   node dist/bench/gatherScatter.js [--iterations 16777216,…] [--runs 20] [--cases update,chains,…] [--seconds 10] [--transfers]
 *                                    [--json FILE]
 *
 * Arrays are resident on the GPU; `--transfers` also measures the loop with arrays that are not. Each result is compared with the
 * sequential loop's. A case takes about `--seconds` at most; one that takes ten times as long ends the program.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import Table from "cli-table3";
import { GpuTimer } from "../src/bench/gpuTimer.ts";
import type { Expression, Loop } from "../src/loops/ir.ts";
import { type LoopData, sequentialLoop } from "../src/loops/sequential.ts";
import { openGpu } from "../src/runtime/adapter.ts";
import { requestFullDevice } from "../src/runtime/adapterDevice.ts";
import { type Resident, resident } from "../src/speculation/resident.ts";
import { speculate } from "../src/speculation/speculate.ts";
import { randomPermutation } from "../workloads/loops/gatherScatter.ts";
import { randomBelow } from "../workloads/random.ts";

const { values: flags } = parseArgs({
  options: {
    iterations: { type: "string", default: String(2 ** 24) },
    runs: { type: "string", default: "20" },
    cases: { type: "string" },
    seconds: { type: "string", default: "10" },
    transfers: { type: "boolean", default: false },
    json: { type: "string" },
  },
});
const runs = Number(flags.runs);
const most = 1000 * Number(flags.seconds);

const span = { start: 0, end: 0 };
const index: Expression = { kind: "index", type: "i32" };
const load = (array: string, type: "u32" | "f32", at: Expression): Expression => ({
  kind: "load",
  type,
  array,
  index: at,
  span,
});
const arithmetic = (operator: "+" | "*", left: Expression, value: number): Expression => ({
  kind: "binary",
  type: "f32",
  operator,
  left,
  right: { kind: "literal", type: "f32", value },
});
const loop: Loop = {
  name: "gatherScatter",
  span,
  index: { name: "i", type: "i32" },
  arrays: [
    { name: "a", element: "f32", role: "tracked" },
    { name: "p", element: "u32", role: "read" },
    { name: "q", element: "u32", role: "read" },
  ],
  inputs: [],
  carried: [],
  reductions: [],
  body: [
    {
      kind: "store",
      array: "a",
      index: load("p", "u32", index),
      value: arithmetic("+", arithmetic("*", load("a", "f32", load("q", "u32", index)), 0.5), 1),
      span,
    },
  ],
  addressesAreFixed: true,
  mostLoads: 1,
  mostStores: 1,
  schedule: { iterationsPerRound: null },
};
const sequential = sequentialLoop(loop);

const unchecked = (workgroupSize: number) => /* wgsl */ `
@group(0) @binding(0) var<storage, read_write> a: array<f32>;
@group(0) @binding(1) var<storage, read> p: array<u32>;
@group(0) @binding(2) var<storage, read> q: array<u32>;
@compute @workgroup_size(${workgroupSize})
fn run(@builtin(workgroup_id) id: vec3u, @builtin(num_workgroups) size: vec3u, @builtin(local_invocation_index) local: u32) {
  let i = (id.y * size.x + id.x) * ${workgroupSize}u + local;
  if (i < arrayLength(&p)) { a[p[i]] = a[q[i]] * 0.5 + 1.0; }
}`;

interface Accesses {
  readonly elements: number;
  /** What each iteration stores to, and loads. */
  readonly p: Uint32Array<ArrayBuffer>;
  readonly q: Uint32Array<ArrayBuffer>;
}
const halves = (n: number): Accesses => ({
  elements: 2 * n,
  p: randomPermutation(n, 1),
  q: randomPermutation(n, 2).map((element) => element + n),
});
/** Iterations load what the one `distance` away stores. */
const apart = (n: number, distance: number): Accesses => {
  const p = randomPermutation(n, 1);
  return { elements: n, p, q: p.map((own, i) => p[i + distance] ?? own) };
};
const cases: Record<string, (n: number) => Accesses> = {
  /** Every iteration changes one element, in random order. */
  update: (n) => apart(n, 0),
  /** From one half of the array to the other one. */
  independent: halves,
  /** As before, but one in 65,536 iterations loads what some other one stores. */
  rare: (n) => {
    const { elements, p, q } = halves(n);
    for (let i = 0; i < n; i += 65_536) q[randomBelow(n, 3, i)] = p[randomBelow(n, 4, i)]!;
    return { elements, p, q };
  },
  /** Iterations load what later ones store. */
  later: (n) => apart(n, 1000),
  /** Half of the iterations load what an earlier one stores, in chains of about ten. */
  chains: (n) => ({ elements: n, p: randomPermutation(n, 1), q: randomPermutation(n, 2) }),
  /** Iterations load what the one a thousand before stores. */
  earlier: (n) => apart(n, -1000),
  /** Iterations load what the one before stores. */
  chain: (n) => apart(n, -1),
};

const opened = await openGpu();
const device = await requestFullDevice(opened.adapter);
const timer = new GpuTimer(device);
const median = (times: readonly number[]) => [...times].sort((a, b) => a - b)[times.length >> 1]!;
const rounded = (value: number) => Number(value.toPrecision(4));
const results: object[] = [];
const rows: (string | number)[][] = [];
console.log(opened.choice.description);

for (const n of flags.iterations.split(",").map(Number)) {
  for (const [name, make] of Object.entries(cases)) {
    if (flags.cases && !flags.cases.split(",").includes(name)) continue;
    const watchdog = setTimeout(() => {
      console.error(`${name}, ${n} iterations: given up`);
      finish();
      process.exit(1);
    }, 10 * most);
    await measure(name, n, make(n));
    clearTimeout(watchdog);
  }
}
finish();
device.destroy();
opened.close();

async function measure(name: string, n: number, { elements, p, q }: Accesses): Promise<void> {
  const start = Float32Array.from({ length: elements }, (_, i) => (i * 7919) % 1024);
  const expected = start.slice();
  const javascript = await repeat(5, () => {
    expected.set(start);
    return timed(() => sequential({ a: expected, p, q }, { $first: 0, $step: 1 }, {}, {}, 0, n));
  });
  const execute = (
    arrays: Record<string, LoopData | Resident>,
    fallback: "never" | "measured",
    timings = false,
  ) =>
    speculate(
      { loop, sequential, arrays, inputs: {}, carried: {}, reductions: {}, first: 0, step: 1, count: n },
      { device, fallback, timings },
    );

  const arrays = { a: resident(start.slice()), p: resident(p), q: resident(q) };
  // A chain takes a round for each iteration, so that one is left to the CPU where that is faster.
  const fallback = name === "chain" ? "measured" : "never";
  const first = await timed(() => execute(arrays, fallback));
  const correct = same(await arrays.a.read(), expected);
  const checked = await repeat(runs, () => timed(() => execute(arrays, fallback)));
  const { phases, plans, rounds, misspeculated, onCpu, engine } = (await execute(arrays, fallback, true))
    .statistics;
  for (const array of Object.values(arrays)) array.release();

  const host = start.slice();
  const transferred = flags.transfers
    ? await repeat(5, () => {
        host.set(start);
        return timed(() => execute({ a: host, p, q }, "measured"));
      })
    : [Number.NaN];
  const alone = await timeUnchecked(start, p, q);
  const result = {
    case: name,
    iterations: n,
    correct: correct && (!flags.transfers || same(host, expected)),
    javascript: median(javascript),
    unchecked: alone,
    first,
    checked: median(checked),
    fastest: Math.min(...checked),
    transferred: median(transferred),
    ...{ engine, phases, plans, rounds, misspeculated, onCpu },
  };
  results.push(result);
  const onGpu = Object.values(phases ?? {}).reduce((sum, time) => sum + time, 0);
  const [size, best] = Object.entries(alone).reduce((a, b) => (b[1] < a[1] ? b : a));
  rows.push([
    `${name}${result.correct ? "" : " WRONG"}\n${n}`,
    rounded(result.javascript),
    `${rounded(best)}\nof ${size}`,
    `${rounded(result.checked)}\n≥ ${rounded(result.fastest)}`,
    Object.entries(phases ?? {})
      .flatMap(([phase, time]) => (time > 0 ? [`${phase} ${rounded(time)}`] : []))
      .join("\n"),
    `${plans.join(", ")}\n${rounds} rounds\n${misspeculated} again, ${onCpu} on the CPU`,
    rounded(result.transferred),
    rounded(result.javascript / result.checked),
    `${rounded(onGpu / best)} GPU\n${rounded(result.checked / best)} all`,
  ]);
  console.error(JSON.stringify(result));
}

function finish(): void {
  const head = [
    "case",
    "JavaScript",
    "unchecked",
    "checked",
    "phases",
    "plans",
    "moved",
    "speedup",
    "checks cost",
  ];
  const table = new Table({ head, style: { head: [], border: [] } });
  table.push(...rows);
  console.log(table.toString());
  if (flags.json) writeFileSync(flags.json, JSON.stringify({ adapter: opened.choice, results }, null, 2));
}

/** As many times as asked, or as there is time for. */
async function repeat(times: number, work: () => Promise<number>): Promise<number[]> {
  const taken: number[] = [];
  let spent = 0;
  while (taken.length < times && (taken.length === 0 || spent < most / 4)) {
    taken.push(await work());
    spent += taken.at(-1)!;
  }
  return taken;
}

async function timed(work: () => unknown): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

function same(a: Float32Array, b: Float32Array): boolean {
  return a.every((value, place) => value === b[place]);
}

/** Median milliseconds, on the GPU's clock, of the loop as kernels that check nothing, by workgroup size. */
async function timeUnchecked(
  a: Float32Array<ArrayBuffer>,
  ...indices: Uint32Array<ArrayBuffer>[]
): Promise<Record<number, number>> {
  const n = indices[0]!.length;
  const buffers = [a, ...indices].map((data) => {
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST;
    const buffer = device.createBuffer({ size: data.byteLength, usage });
    device.queue.writeBuffer(buffer, 0, data);
    return buffer;
  });
  const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
  const times: Record<number, number> = {};
  for (const size of [64, 256, 512, 1024]) {
    if (size > device.limits.maxComputeInvocationsPerWorkgroup) continue;
    const module = device.createShaderModule({ code: unchecked(size) });
    const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
    const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
    const workgroups = Math.ceil(n / size);
    const rows = Math.ceil(workgroups / 65535);
    const run = () =>
      timer.time((encoder) => {
        const pass = encoder.beginComputePass();
        pass.setPipeline(pipeline);
        pass.setBindGroup(0, group);
        pass.dispatchWorkgroups(Math.ceil(workgroups / rows), rows);
        pass.end();
      });
    times[size] = median(await repeat(runs, run));
  }
  for (const buffer of buffers) buffer.destroy();
  return times;
}
