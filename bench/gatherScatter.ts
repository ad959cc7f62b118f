/**
 * Measures the default engine on `a[p[i]] = a[q[i]] * 0.5 + 1`, with the sequential loop and the parallel loop without any checks beside it.
 *
 *   node dist/bench/gatherScatter.js [--iterations 16777216] [--runs 20] [--cases independent,chains] [--json FILE]
 *
 * Arrays are resident on the GPU, except in the column that says otherwise. Each result is compared with the sequential loop's.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import Table from "cli-table3";
import { GpuTimer } from "../src/bench/gpuTimer.ts";
import type { Expression, Loop } from "../src/loops/ir.ts";
import type { SequentialLoop } from "../src/loops/sequential.ts";
import { openGpu } from "../src/runtime/adapter.ts";
import { requestFullDevice } from "../src/runtime/adapterDevice.ts";
import { resident } from "../src/speculation/resident.ts";
import { type SpeculateCall, speculate } from "../src/speculation/speculate.ts";
import { randomWord } from "../workloads/random.ts";

const { values: flags } = parseArgs({
  options: {
    iterations: { type: "string", default: String(2 ** 24) },
    runs: { type: "string", default: "20" },
    cases: { type: "string" },
    json: { type: "string" },
  },
});
const n = Number(flags.iterations);
const runs = Number(flags.runs);
let drawn = 0;
const random = () => randomWord(20, drawn++) / 2 ** 32;

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

const sequential: SequentialLoop = (arrays, _inputs, _carried, _reductions, from, to) => {
  const { a, p, q } = arrays as { a: Float32Array; p: Uint32Array; q: Uint32Array };
  for (let i = from; i < to; i++) a[p[i]!] = a[q[i]!]! * 0.5 + 1;
  return { next: to, ended: false };
};

const unchecked = /* wgsl */ `
@group(0) @binding(0) var<storage, read_write> a: array<f32>;
@group(0) @binding(1) var<storage, read> p: array<u32>;
@group(0) @binding(2) var<storage, read> q: array<u32>;
@compute @workgroup_size(256)
fn run(@builtin(workgroup_id) id: vec3u, @builtin(num_workgroups) size: vec3u, @builtin(local_invocation_index) local: u32) {
  let i = (id.y * size.x + id.x) * 256u + local;
  if (i < arrayLength(&p)) { a[p[i]] = a[q[i]] * 0.5 + 1.0; }
}`;

function permutation(length: number): Uint32Array<ArrayBuffer> {
  const values = Uint32Array.from({ length }, (_, place) => place);
  for (let last = length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    [values[last], values[other]] = [values[other]!, values[last]!];
  }
  return values;
}

/** Which elements iterations load (`q`) and store (`p`). */
const cases: Record<
  string,
  () => { elements: number; p: Uint32Array<ArrayBuffer>; q: Uint32Array<ArrayBuffer> }
> = {
  /** Every iteration changes one element, in random order. */
  update: () => {
    const p = permutation(n);
    return { elements: n, p, q: p };
  },
  /** From one half of the array to the other one. */
  independent: () => ({
    elements: 2 * n,
    p: permutation(n),
    q: permutation(n).map((element) => element + n),
  }),
  /** As before, but one in 65,536 iterations loads what some other one stores. */
  rare: () => {
    const { elements, p, q } = cases.independent!();
    for (let i = 0; i < n; i += 65_536) q[Math.floor(random() * n)] = p[Math.floor(random() * n)]!;
    return { elements, p, q };
  },
  /** Iterations load what later ones store. */
  later: () => {
    const p = permutation(n);
    return { elements: n, p, q: Uint32Array.from(p, (_, i) => p[Math.min(n - 1, i + 1000)]!) };
  },
  /** Half of the iterations load what an earlier one stores, in chains of about ten. */
  chains: () => ({ elements: n, p: permutation(n), q: permutation(n) }),
};

const opened = await openGpu();
const device = await requestFullDevice(opened.adapter);
const timer = new GpuTimer(device);
const median = (times: number[]) => times.sort((a, b) => a - b)[Math.floor(times.length / 2)]!;
const round = (value: number) => Number(value.toPrecision(4));
const results = [];
const head = [
  "case",
  "JavaScript",
  "unchecked GPU",
  "checked",
  "GPU phases",
  "plans, rounds",
  "not resident",
  "speedup",
  "checks cost",
];
const table = new Table({ head });
console.log(`${opened.choice.description}, ${n} iterations, ms`);

for (const [name, make] of Object.entries(cases)) {
  if (flags.cases && !flags.cases.split(",").includes(name)) continue;
  const { elements, p, q } = make();
  const start = Float32Array.from({ length: elements }, () => Math.fround(random()));
  const expected = start.slice();
  const onCpu = [];
  for (let run = 0; run < 5; run++) {
    expected.set(start);
    const began = performance.now();
    sequential({ a: expected, p, q }, {}, {}, {}, 0, n);
    onCpu.push(performance.now() - began);
  }

  const arrays = { a: resident(start.slice()), p: resident(p), q: resident(q) };
  const call = {
    loop,
    sequential,
    arrays,
    inputs: {},
    carried: {},
    reductions: {},
    first: 0,
    step: 1,
    count: n,
  };
  const execute = (more: Partial<SpeculateCall> = {}, timings = false) =>
    speculate({ ...call, ...more }, { device, fallback: "never", timings });
  await execute();
  const correct = same(await arrays.a.read(), expected);
  const checked = [];
  for (let run = 0; run < runs; run++) {
    const began = performance.now();
    await execute();
    checked.push(performance.now() - began);
  }
  const timed = await execute({}, true);
  const host = start.slice();
  const moved = [];
  for (let run = 0; run < 3; run++) {
    host.set(start);
    const began = performance.now();
    await execute({ arrays: { a: host, p, q } });
    moved.push(performance.now() - began);
  }
  const alone = await timeUnchecked(start, p, q);
  const { phases, plans, rounds, misspeculated } = timed.statistics;
  const result = {
    case: name,
    iterations: n,
    correct: correct && same(host, expected),
    javascript: median(onCpu),
    unchecked: alone,
    checked: median(checked),
    fastest: checked[0]!,
    phases,
    plans,
    rounds,
    misspeculated,
    notResident: median(moved),
  };
  results.push(result);
  const onGpu = Object.values(phases!).reduce((sum, time) => sum + time, 0);
  table.push([
    name + (result.correct ? "" : " WRONG"),
    round(result.javascript),
    round(alone),
    `${round(result.checked)} (${round(result.fastest)})`,
    Object.entries(phases!)
      .map(([phase, time]) => `${phase} ${round(time)}`)
      .join("\n"),
    `${plans.join(", ")}\n${rounds}, ${misspeculated} misspeculated`,
    round(result.notResident),
    `${round(result.javascript / result.checked)}`,
    `${round(onGpu / alone)} GPU\n${round(result.checked / alone)} all`,
  ]);
  for (const array of Object.values(arrays)) array.release();
}
console.log(table.toString());
if (flags.json) writeFileSync(flags.json, JSON.stringify({ adapter: opened.choice, results }, null, 2));
device.destroy();
opened.close();

function same(a: Float32Array, b: Float32Array): boolean {
  return a.every((value, place) => value === b[place]);
}

/** Median milliseconds, on the GPU's clock, of the loop as a kernel that checks nothing. */
async function timeUnchecked(
  a: Float32Array<ArrayBuffer>,
  ...indices: Uint32Array<ArrayBuffer>[]
): Promise<number> {
  const pipeline = device.createComputePipeline({
    layout: "auto",
    compute: { module: device.createShaderModule({ code: unchecked }) },
  });
  const buffers = [a, ...indices].map((data) => {
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST;
    const buffer = device.createBuffer({ size: data.byteLength, usage });
    device.queue.writeBuffer(buffer, 0, data);
    return buffer;
  });
  const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
  const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
  const workgroups = Math.ceil(n / 256);
  const rows = Math.ceil(workgroups / 65535);
  const times = [];
  for (let run = 0; run < runs; run++) {
    times.push(
      await timer.time((encoder) => {
        const pass = encoder.beginComputePass();
        pass.setPipeline(pipeline);
        pass.setBindGroup(0, group);
        pass.dispatchWorkgroups(Math.ceil(workgroups / rows), rows);
        pass.end();
      }),
    );
  }
  for (const buffer of buffers) buffer.destroy();
  return median(times);
}
