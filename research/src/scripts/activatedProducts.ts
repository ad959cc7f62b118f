/**
 * Measures products with an activation in the same kernel, and strikes them.
 *
 *   node research/dist/scripts/activatedProducts.js [--sizes 1024,2048] [--side 1024]
 *       [--dispatches 20] [--seconds 1] [--struck 256] [--faults 2000] [--limit 400] [--json FILE]
 *
 * The products are own ones of `--sizes` with relu and gelu, and fused ones of TensorFlow.js with
 * matrices of `--side`. Each has the time of the GPU for a dispatch, and the time that a program
 * waits for `--dispatches`: plain, under redundancy, and with `algebra`. Results have to be those
 * of the plain device.
 *
 * `--faults` single bits are struck in own products of `--struck` rows. `--limit` is in seconds.
 * The script fails if results differ, if a dispatch without a fault is repaired or refuted, or if
 * an error beyond twice the bound is silent though no other result is wrong.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { alignColumns } from "belay-cli/internal/shared/terminal/table";
import { type HardenedDevice, harden, type Policy } from "belay-gpu";
import { algebra } from "belay-gpu/algebra";
import { openGpu } from "belay-node/internal/adapter";
import { newDevice } from "belay-node/internal/newDevice";
import { median } from "simple-statistics";
import { readBuffers } from "../workloads/buffers.js";
import { create } from "../workloads/samples/matrixProduct.js";
import type { CapturedDispatch } from "./sumsOfProducts/captured.js";
import { sumOperations } from "./sumsOfProducts/operations.js";
import { dispatchesOf } from "./sumsOfProducts/products.js";
import { compareProtections } from "./sumsOfProducts/protections.js";
import { RunnableDispatch } from "./sumsOfProducts/runnableDispatch.js";

const { values: flags } = parseArgs({
  options: {
    sizes: { type: "string", default: "1024,2048" },
    side: { type: "string", default: "1024" },
    dispatches: { type: "string", default: "20" },
    seconds: { type: "string", default: "1" },
    struck: { type: "string", default: "256" },
    faults: { type: "string", default: "2000" },
    limit: { type: "string", default: "400" },
    json: { type: "string" },
  },
});
const dispatches = Number(flags.dispatches);

/** Functions of WGSL, each with the largest slope that it has. */
const activations = {
  relu: { text: "max(x, 0.0)", slope: 1 },
  gelu: { text: "0.5 * x * (1.0 + tanh(0.7978845608 * (x + 0.044715 * x * x * x)))", slope: 1.13 },
} as const;
type Activation = keyof typeof activations;

const opened = await openGpu();
const { close, choice } = opened;
const freshDevice = () => newDevice(opened);
const start = performance.now();
const isLate = () => performance.now() - start > 1000 * Number(flags.limit);

/** Returns the own product of a size, with a function of each sum. */
async function ownProduct(size: number, activation: Activation): Promise<CapturedDispatch> {
  const run = async (device: GPUDevice) => void (await create({ rows: size }).workload(device));
  const [dispatch] = (await dispatchesOf(freshDevice, run)) as [CapturedDispatch];
  const source = dispatch.source.replace(/= (upper|lower);/g, "= activated($1);");
  const text = `fn activated(x: f32) -> f32 { return ${activations[activation].text}; }`;
  return { ...dispatch, source: `${source}\n${text}` };
}

/** The times of one program in milliseconds: of the GPU, and those that a program waits. */
interface Times {
  readonly gpu: number;
  readonly waiting: number;
}

/**
 * The outcomes of faults. Of the silent ones, `below` has errors of at most twice the bound,
 * `several` more than one error, and `beyond` a larger one alone.
 */
const outcomes = ["injected", "masked", "repaired", "below", "several", "beyond", "refuted"] as const;

const rows: Row[] = [];
for (const size of flags.sizes.split(",").filter(Boolean).map(Number))
  for (const activation of Object.keys(activations) as Activation[])
    if (!isLate()) rows.push(await measure(`own ${size}, ${activation}`, await ownProduct(size, activation)));
if (flags.side !== "0")
  for (const { name, run } of await sumOperations(Number(flags.side))) {
    if (!name.includes("relu") || isLate()) continue;
    for (const dispatch of await dispatchesOf(freshDevice, run))
      rows.push(await measure(`TensorFlow.js ${name}`, dispatch));
  }
const ratios = (part: keyof Times, { plain, redundant, checked }: Row): string[] => [
  plain[part].toFixed(3),
  (redundant[part] / plain[part]).toFixed(2),
  (checked[part] / plain[part]).toFixed(2),
];
console.log(choice.description);
console.log(
  alignColumns([
    ["program", "ms of the GPU", "redundant", "algebra", "ms waiting", "redundant", "algebra", "checked"],
    ...rows.map((row) => [
      row.program,
      ...ratios("gpu", row),
      ...ratios("waiting", row),
      row.isChecked ? "yes" : (row.reasons[0] ?? "no"),
    ]),
  ]),
);
const struck: Record<string, Outcomes> = {};
for (const activation of Object.keys(activations) as Activation[])
  if (!isLate()) struck[activation] = await strike(activation);
console.log(
  alignColumns([
    ["struck", ...outcomes],
    ...Object.entries(struck).map(([name, each]) => [
      name,
      ...outcomes.map((outcome) => String(each[outcome])),
    ]),
  ]),
);
if (flags.json) writeFileSync(flags.json, JSON.stringify({ device: choice.description, rows, struck }));
close();
const isWrong = ({ wrong, repaired, refuted }: Row) => wrong + repaired + refuted > 0;
if (rows.some(isWrong) || Object.values(struck).some(({ beyond }) => beyond > 0)) process.exitCode = 1;

/** Returns a number for each index, which looks random. */
function numberAt(i: number): number {
  return Math.sin(1 + i * 12.9898);
}

/** Returns a dispatch on a device, with numbers in its storage buffers. */
function runnableOn(device: GPUDevice, dispatch: CapturedDispatch) {
  const runnable = new RunnableDispatch(device, dispatch);
  for (const { group, binding, uniform } of dispatch.bindings) {
    let i = binding * 1000;
    if (!uniform) runnable.fill({ group, binding }, () => numberAt(i++));
  }
  const [, name, output] = /@group\((\d+)\) *@binding\((\d+)\) *var<storage, *read_write>/.exec(
    dispatch.source,
  )!;
  return { runnable, results: runnable.bufferAt({ group: Number(name), binding: Number(output) }) };
}

/** Times a dispatch under each protection, and compares its results with the plain ones. */
async function measure(program: string, dispatch: CapturedDispatch) {
  const { plain, redundant, checked, ...checks } = await compareProtections(
    freshDevice,
    0,
    (device, findSums) => timesOn(device, dispatch, findSums),
  );
  return {
    program,
    plain: plain.times,
    redundant: redundant.times,
    checked: checked.times,
    wrong: checked.words.filter((word, i) => word !== plain.words[i]).length,
    ...checks,
  };
}
type Row = Awaited<ReturnType<typeof measure>>;

/** Returns the median times of a dispatch, and the words of its results. */
async function timesOn(
  device: GPUDevice,
  dispatch: CapturedDispatch,
  findSums: () => Promise<void>,
): Promise<{ readonly times: Times; readonly words: Uint32Array }> {
  const { runnable, results } = runnableOn(device, dispatch);
  const { QUERY_RESOLVE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
  const querySet = device.createQuerySet({ type: "timestamp", count: 2 });
  const resolved = device.createBuffer({ size: 16, usage: QUERY_RESOLVE | COPY_SRC });
  const stamps = device.createBuffer({ size: 16, usage: MAP_READ | COPY_DST });
  const timestampWrites = { querySet, beginningOfPassWriteIndex: 0, endOfPassWriteIndex: 1 };
  const run = async (isTimed: boolean) => {
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass(isTimed ? { timestampWrites } : {});
    for (let i = 0; i < dispatches; i++) runnable.encode(pass);
    pass.end();
    if (isTimed) encoder.resolveQuerySet(querySet, 0, 2, resolved, 0);
    encoder.copyBufferToBuffer(isTimed ? resolved : results, 0, stamps, 0, 16);
    device.queue.submit([encoder.finish()]);
    await stamps.mapAsync(GPUMapMode.READ);
    const [first, last] = new BigUint64Array(stamps.getMappedRange().slice(0)) as unknown as [bigint, bigint];
    stamps.unmap();
    return Number(last - first) / 1e6 / dispatches;
  };
  await run(false);
  await findSums();
  const [ofGpu, waiting]: [number[], number[]] = [[], []];
  const end = performance.now() + 1000 * Number(flags.seconds);
  // The first runs also compile pipelines, and find the clocks of the GPU low.
  for (let i = 0; i < 8 || performance.now() < end; i++) {
    const begun = performance.now();
    const time = await run(i % 2 === 0);
    if (i < 4) continue;
    if (i % 2 === 0) ofGpu.push(time);
    else waiting.push((performance.now() - begun) / dispatches);
  }
  const words = new Uint32Array(await readBuffers(device, results));
  runnable.destroy();
  return { times: { gpu: median(ofGpu), waiting: median(waiting) }, words };
}

type Outcomes = Record<(typeof outcomes)[number], number>;

/** Strikes single bits of an own product that runs alone. */
async function strike(activation: Activation): Promise<Outcomes> {
  const policy: Policy = {
    algebra: algebra({ leastMultiplications: 0, searchesAtOnce: true }),
    injectFaults: true,
  };
  const device: HardenedDevice = harden(await freshDevice(), policy);
  const size = Number(flags.struck);
  const { runnable, results } = runnableOn(device, await ownProduct(size, activation));
  let repairs = 0;
  device.belay.addEventListener("repair", () => repairs++);
  const run = async () => {
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    runnable.encode(pass);
    pass.end();
    device.queue.submit([encoder.finish()]);
    return new Float32Array(await readBuffers(device, results));
  };
  const expected = await run();
  const alone = device.belay.faultSites().find(({ kernel }) => kernel.includes(" alone"))!;
  const below = (limit: number) => Math.floor(Math.random() * limit);
  const counts: Outcomes = {
    injected: 0,
    masked: 0,
    repaired: 0,
    below: 0,
    several: 0,
    beyond: 0,
    refuted: 0,
  };
  for (; counts.injected < Number(flags.faults) && !isLate(); counts.injected++) {
    const { id, kind } = alone.sites[below(alone.sites.length)]!;
    const effect = { xor: kind === "branch" || kind === "statement" ? 1 : 2 ** below(32) };
    const tiles = size / 16;
    const workgroup = [below(tiles), below(tiles), 0] as const;
    const before = repairs;
    device.belay.arm({
      kernel: alone.kernel,
      site: id,
      effect,
      workgroup,
      localIndex: below(128),
      replica: 0,
      fuel: 100_000,
    });
    const got = await run();
    const errors = [...got].flatMap((each, i) =>
      Object.is(each, expected[i]) ? [] : [Math.abs(each - expected[i]!)],
    );
    const { kernels } = await device.belay.report();
    const bound = 2 * activations[activation].slope * kernels[0]!.sums!.bound;
    // A NaN is no error up to the bound.
    const isBelow = errors.every((each) => each <= bound);
    if (errors.length > 0) counts[isBelow ? "below" : errors.length > 1 ? "several" : "beyond"]++;
    else if (repairs > before) counts.repaired++;
    else counts.masked++;
    counts.refuted = kernels[0]!.sums!.refuted;
  }
  device.destroy();
  return counts;
}
