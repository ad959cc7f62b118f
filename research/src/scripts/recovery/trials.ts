/** The programs that get faults while recovery is on, and the trials that inject them. */
import type { ArmedFault, HardenedDevice, Workload } from "belay-gpu";
import type { VerifiableProgram } from "../../workloads/program.ts";
import { randomWord } from "../../workloads/random.ts";
import * as bitonicSort from "../../workloads/samples/bitonicSort.ts";
import * as histogram from "../../workloads/samples/histogram.ts";
import * as matrixProduct from "../../workloads/samples/matrixProduct.ts";
import * as nBody from "../../workloads/samples/nBody.ts";
import * as reduction from "../../workloads/samples/reduction.ts";
import * as sobelFilter from "../../workloads/samples/sobelFilter.ts";

/**
 * Returns a workload with three runs of a program, all submitted before it reads the first result.
 */
function inFlight(program: VerifiableProgram): Workload {
  return async (device) => {
    const runs = [0, 1, 2].map(() => program.prepare(device));
    for (const run of runs) {
      const encoder = device.createCommandEncoder();
      run.encode(encoder);
      device.queue.submit([encoder.finish()]);
    }
    const results = await Promise.all(runs.map((run) => run.read()));
    for (const run of runs) run.destroy();
    return Object.fromEntries(
      results.flatMap((outputs, i) =>
        Object.entries(outputs).map(([name, view]) => [`${name} ${i}`, view] as const),
      ),
    );
  };
}

const STEPS = /* wgsl */ `
@group(0) @binding(0) var<storage, read_write> state: array<u32>;
@group(0) @binding(1) var<storage, read_write> grid: array<u32, 3>;

@compute @workgroup_size(1) fn plan(@builtin(global_invocation_id) id: vec3u) {
  grid[0] = 1u + state[0] % 4u;
  grid[1] = 1u;
  grid[2] = 1u;
}
@compute @workgroup_size(16) fn step(@builtin(global_invocation_id) id: vec3u) {
  let mixed = state[id.x] * 1664525u + 1013904223u;
  state[id.x] = mixed ^ (mixed >> 13u);
}`;

/**
 * A workload that steps in place over several submissions. A kernel decides the number of
 * workgroups.
 */
const indirect: Workload = async (device) => {
  const module = device.createShaderModule({ code: STEPS });
  const visibility = GPUShaderStage.COMPUTE;
  const stateLayout = device.createBindGroupLayout({
    entries: [
      { binding: 0, visibility, buffer: { type: "storage" } },
      { binding: 1, visibility, buffer: { type: "storage" } },
    ],
  });
  const { STORAGE, COPY_SRC, COPY_DST, INDIRECT, MAP_READ } = GPUBufferUsage;
  const state = device.createBuffer({ size: 256, usage: STORAGE | COPY_SRC | COPY_DST });
  const grid = device.createBuffer({ size: 12, usage: STORAGE | INDIRECT });
  const pipelines = ["plan", "step"].map((entryPoint) =>
    device.createComputePipeline({ layout: "auto", compute: { module, entryPoint } }),
  ) as [GPUComputePipeline, GPUComputePipeline];
  const plan = device.createComputePipeline({
    layout: device.createPipelineLayout({ bindGroupLayouts: [stateLayout] }),
    compute: { module, entryPoint: "plan" },
  });
  const entries = [state, grid].map((buffer, binding) => ({ binding, resource: { buffer } }));
  const both = device.createBindGroup({ layout: stateLayout, entries });
  const one = device.createBindGroup({
    layout: pipelines[1].getBindGroupLayout(0),
    entries: entries.slice(0, 1),
  });
  device.queue.writeBuffer(
    state,
    0,
    Uint32Array.from({ length: 64 }, (_, i) => i * 7919),
  );
  for (let round = 0; round < 3; round++) {
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(plan);
    pass.setBindGroup(0, both);
    pass.dispatchWorkgroups(1);
    pass.setPipeline(pipelines[1]);
    pass.setBindGroup(0, one);
    pass.dispatchWorkgroupsIndirect(grid, 0);
    pass.end();
    device.queue.submit([encoder.finish()]);
    // This write between submissions must happen again when the work around it is executed again.
    device.queue.writeBuffer(state, 0, new Uint32Array([round + 1]));
  }
  const readBack = device.createBuffer({ size: 256, usage: MAP_READ | COPY_DST });
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(state, readBack);
  device.queue.submit([encoder.finish()]);
  await readBack.mapAsync(GPUMapMode.READ);
  const result = new Uint32Array(readBack.getMappedRange().slice());
  for (const buffer of [state, grid, readBack]) buffer.destroy();
  return { state: result };
};

export const trialWorkloads: Readonly<Record<string, Workload>> = {
  matrixProduct: matrixProduct.create({ rows: 33 }).workload,
  nBody: nBody.create({ bodies: 64, steps: 2 }).workload,
  reduction: reduction.create({ length: 2500 }).workload,
  histogram: histogram.create({ samples: 20_000 }).workload,
  sobelFilter: sobelFilter.create({ width: 40, height: 20 }).workload,
  "bitonicSort, in place": bitonicSort.create({ length: 600 }).workload,
  "bitonicSort, three in flight": inFlight(bitonicSort.create({ length: 300 })),
  "matrixProduct, three in flight": inFlight(matrixProduct.create({ rows: 17 })),
  "indirect dispatch, in place": indirect,
};

export interface Trials {
  /** The faults that struck and were detected. */
  detected: number;
  /** The detected faults after which the program got its results. */
  recovered: number;
  /** The faults that struck without an effect. */
  masked: number;
  /** The faults that struck and were not detected, although the results are wrong. */
  readonly silent: ArmedFault[];
  /** The runs after a detected fault whose results had wrong bits. */
  wrong: number;
  /** The faults that did not strike. */
  missed: number;
  readonly milliseconds: { clean: number[]; recovered: number[] };
}

/** Injects random faults into a workload until `count` were detected, or too many had no effect. */
export async function runTrials(
  workload: Workload,
  device: HardenedDevice,
  { count, seed }: { readonly count: number; readonly seed: number },
): Promise<Trials> {
  const trials: Trials = {
    detected: 0,
    recovered: 0,
    masked: 0,
    wrong: 0,
    missed: 0,
    silent: [],
    milliseconds: { clean: [], recovered: [] },
  };
  let faults = 0;
  device.belay.addEventListener("detection", () => faults++);
  await workload(device);
  let start = performance.now();
  const expected = await workload(device);
  trials.milliseconds.clean.push(performance.now() - start);
  const kernels = device.belay
    .faultSites()
    .map(({ kernel, sites }) => ({ kernel, sites: sites.filter(({ kind }) => kind === "value") }));
  let drawn = 0;
  const draw = (below: number) => randomWord(seed, drawn++) % below;
  for (let attempt = 0; attempt < 20 * count && trials.detected < count; attempt++) {
    const { kernel, sites } = kernels[draw(kernels.length)]!;
    const site = sites[draw(sites.length)]!;
    const armed: ArmedFault = {
      kernel,
      site: site.id,
      replica: draw(2) as 0 | 1,
      effect: { xor: 1 << draw(32) },
      component: draw(site.components),
      workgroup: [draw(2), 0, 0],
      localIndex: draw(16),
    };
    device.belay.arm(armed);
    faults = 0;
    start = performance.now();
    const outputs = await workload(device).catch(() => undefined);
    const elapsed = performance.now() - start;
    const strikes = await device.belay.strikes();
    device.belay.disarm();
    const isRight = outputs !== undefined && sameBits(outputs, expected);
    if (faults > 0) {
      trials.detected++;
      if (outputs) trials.recovered++;
      if (!isRight) trials.wrong++;
      trials.milliseconds.recovered.push(elapsed);
    } else if (strikes === 0) trials.missed++;
    else if (isRight) trials.masked++;
    else trials.silent.push(armed);
  }
  return trials;
}

function sameBits(a: Record<string, ArrayBufferView>, b: Record<string, ArrayBufferView>): boolean {
  const bytes = (view: ArrayBufferView) => Buffer.from(view.buffer, view.byteOffset, view.byteLength);
  return Object.keys(b).every((name) => bytes(a[name]!).equals(bytes(b[name]!)));
}
