/**
 * Measures products on hardened devices: the time that a program waits for their results on a plain
 * device, under redundancy, and with checks by algebra. A part of it is the time that the host
 * needs to encode and submit.
 *
 *   node research/dist/scripts/checkedProducts.js [--sizes 1024,2048,4096] [--side 1024]
 *       [--dispatches 20] [--submissions 1] [--seconds 1] [--least 0] [--only TEXT] [--limit 480]
 *       [--json FILE]
 *
 * The dispatches are captured from the own product of matrices and from operations of
 * TensorFlow.js. A run makes so many `--submissions` of `--dispatches` of one kind each, and maps a
 * result after the last one. `--seconds` are those of each dispatch under each policy. `--least` is
 * the checker's least number of multiplications. `--only` is a part of the names of dispatches.
 * No further dispatch is begun after `--limit` seconds. The script fails if a dispatch without a
 * fault is repaired or refuted.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { alignColumns } from "belay-cli/internal/shared/terminal/table";
import { openGpu } from "belay-node/internal/adapter";
import { newDevice } from "belay-node/internal/newDevice";
import { median } from "simple-statistics";
import type { CapturedDispatch } from "./sumsOfProducts/captured.js";
import { capturedProducts } from "./sumsOfProducts/products.js";
import { compareProtections } from "./sumsOfProducts/protections.js";
import { RunnableDispatch } from "./sumsOfProducts/runnableDispatch.js";

const { values: flags } = parseArgs({
  options: {
    sizes: { type: "string", default: "1024,2048,4096" },
    side: { type: "string", default: "1024" },
    dispatches: { type: "string", default: "20" },
    submissions: { type: "string", default: "1" },
    seconds: { type: "string", default: "1" },
    least: { type: "string", default: "0" },
    only: { type: "string", default: "" },
    limit: { type: "string", default: "480" },
    json: { type: "string" },
  },
});
const seconds = Number(flags.seconds);
const dispatches = Number(flags.dispatches);
const submissions = Number(flags.submissions);

/** The median times of a dispatch, in milliseconds: all of it, and the host's part. */
interface Times {
  readonly all: number;
  readonly host: number;
}

const opened = await openGpu();
const { close, choice } = opened;
const freshDevice = () => newDevice(opened);
const rows = [];
const end = performance.now() + 1000 * Number(flags.limit);
const sizes = flags.sizes.split(",").filter(Boolean).map(Number);
for await (const { program, dispatch } of capturedProducts(freshDevice, sizes, Number(flags.side))) {
  if (performance.now() > end) break;
  if (!program.includes(flags.only)) continue;
  const compared = await compareProtections(freshDevice, Number(flags.least), (device, findSums) =>
    timeOn(device, dispatch, findSums),
  );
  rows.push({ program, ...compared });
}
console.log(choice.description);
console.log(
  alignColumns([
    [
      "program",
      "ms plain",
      "redundant",
      "with algebra",
      "µs of the host",
      "redundant",
      "with algebra",
      "checked",
    ],
    ...rows.map(({ program, plain, redundant, checked, isChecked, reasons }) => [
      program,
      plain.all.toFixed(3),
      (redundant.all / plain.all).toFixed(2),
      (checked.all / plain.all).toFixed(2),
      ...[plain, redundant, checked].map(({ host }) => (1000 * host).toFixed(0)),
      isChecked ? "yes" : (reasons[0] ?? "no"),
    ]),
  ]),
);
if (flags.json) writeFileSync(flags.json, JSON.stringify({ device: choice.description, rows }));
close();
if (rows.some(({ repaired, refuted }) => repaired + refuted > 0)) process.exitCode = 1;

/**
 * Returns the median times from the first command to a mapped result, and to the end of the last
 * submission.
 */
async function timeOn(
  device: GPUDevice,
  dispatch: CapturedDispatch,
  findSums: () => Promise<void>,
): Promise<Times> {
  const runnable = new RunnableDispatch(device, dispatch);
  for (const { group, binding, uniform } of dispatch.bindings)
    if (!uniform) runnable.fill({ group, binding }, () => Math.random() * 2 - 1);
  const { MAP_READ, COPY_DST } = GPUBufferUsage;
  const result = device.createBuffer({ size: 4, usage: MAP_READ | COPY_DST });
  const submit = () => {
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    for (let i = 0; i < dispatches; i++) runnable.encode(pass);
    pass.end();
    for (const { group, binding, uniform } of dispatch.bindings)
      if (!uniform) encoder.copyBufferToBuffer(runnable.bufferAt({ group, binding }), 0, result, 0, 4);
    device.queue.submit([encoder.finish()]);
  };
  const run = async (): Promise<Times> => {
    const start = performance.now();
    for (let i = 0; i < submissions; i++) submit();
    const host = performance.now() - start;
    await result.mapAsync(GPUMapMode.READ);
    result.unmap();
    return { all: performance.now() - start, host };
  };
  await run();
  await findSums();
  const times: Times[] = [];
  const last = performance.now() + 1000 * seconds;
  // The first runs also compile pipelines, and find the clocks of the GPU low.
  for (let i = 0; i < 5 || performance.now() < last; i++) {
    const time = await run();
    if (i >= 2) times.push(time);
  }
  runnable.destroy();
  const each = (name: keyof Times) => median(times.map((time) => time[name])) / (dispatches * submissions);
  return { all: each("all"), host: each("host") };
}
