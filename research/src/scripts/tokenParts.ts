/**
 * Measures the parts of a token of `decode`: encoding, submission, and the wait for the verified
 * token.
 *
 *     node research/dist/scripts/tokenParts.js [--size full] [--runs 5] [--warmup 2]
 *       [--only plain,throw] [--backend null] [--json FILE]
 *
 * The devices take turns, a run each. A run makes all tokens after the prompt, and a figure is the
 * median of all tokens of all runs. With `--backend null`, Dawn executes nothing, so only encoding
 * and submission mean something. The model is as deep as the full one, and thin.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { alignColumns } from "belay-cli/internal/shared/terminal/table";
import type { Policy } from "belay-gpu";
import { harden } from "belay-gpu/internal/runtime/harden";
import { requestFullDevice } from "belay-gpu/internal/runtime/requestFullDevice";
import { openGpu } from "belay-node/internal/adapter";
import { createGpu } from "belay-node/internal/gpu";
import { newDevice } from "belay-node/internal/newDevice";
import { median } from "simple-statistics";
import { type Shape, shapes } from "../workloads/model/shape.ts";
import { createTransformer, type Made, makeModel } from "../workloads/model/transformer.ts";

const { values: flags } = parseArgs({
  options: {
    size: { type: "string", default: "small" },
    runs: { type: "string", default: "5" },
    warmup: { type: "string", default: "2" },
    only: { type: "string" },
    backend: { type: "string" },
    json: { type: "string" },
  },
});

/** The policies of the measured devices; undefined for the plain one. */
const policies: Readonly<Record<string, Policy | undefined>> = {
  plain: undefined,
  none: { redundancy: "none" },
  throw: { onFault: "throw" },
  "without room": { snapshotBytes: 0 },
  default: {},
};

/** The milliseconds of the parts of a token. */
interface Parts {
  readonly encoding: number;
  readonly submission: number;
  readonly wait: number;
}

/** Prepares tokens on a device. Returns a function that makes them all, and returns their parts. */
async function prepare(device: GPUDevice, shape: Shape, made: Made): Promise<() => Promise<Parts[]>> {
  const model = createTransformer(device, { shape, precision: "f32", made });
  const staging = device.createBuffer({ size: 4, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ });
  const step = async (encode: (encoder: GPUCommandEncoder) => void, token: number): Promise<Parts> => {
    const start = performance.now();
    const encoder = device.createCommandEncoder();
    encode(encoder);
    encoder.copyBufferToBuffer(model.tokens, 4 * token, staging, 0, 4);
    const encoded = performance.now();
    device.queue.submit([encoder.finish()]);
    const submitted = performance.now();
    await staging.mapAsync(GPUMapMode.READ);
    staging.getMappedRange();
    staging.unmap();
    const end = performance.now();
    return { encoding: encoded - start, submission: submitted - encoded, wait: end - submitted };
  };
  await step((encoder) => model.encodePrompt(encoder), shape.prompt);
  return async () => {
    const parts: Parts[] = [];
    for (let i = 0; i < shape.tokens; i++)
      parts.push(await step((encoder) => model.encodeToken(encoder, i), shape.prompt + i + 1));
    return parts;
  };
}

/** Makes each mapping have zeros: what no device computes has no contents. */
function readZeros(): void {
  const { getMappedRange } = GPUBuffer.prototype;
  GPUBuffer.prototype.getMappedRange = function (...range) {
    const bytes = getMappedRange.apply(this, range);
    new Uint8Array(bytes).fill(0);
    return bytes;
  };
}

/** Returns a function that creates devices. */
async function openDevices(): Promise<() => Promise<GPUDevice>> {
  if (flags.backend === undefined) {
    const opened = await openGpu();
    return () => newDevice(opened);
  }
  const gpu = await createGpu([`backend=${flags.backend}`]);
  readZeros();
  return async () => requestFullDevice((await gpu.requestAdapter())!);
}

const { layers, tokens } = shapes.full;
const shape =
  flags.backend === "null" ? { ...shapes.small, layers, tokens } : shapes[flags.size as keyof typeof shapes];
const made = makeModel(shape, 1);
const open = await openDevices();
const wanted = flags.only?.split(",") ?? Object.keys(policies);
const measured: { readonly name: string; readonly run: () => Promise<Parts[]>; readonly parts: Parts[] }[] =
  [];
for (const name of wanted) {
  const policy = policies[name];
  const device = await open();
  const run = await prepare(policy ? harden(device, policy) : device, shape, made);
  measured.push({ name, run, parts: [] });
}
for (let i = -Number(flags.warmup); i < Number(flags.runs); i++) {
  for (const { run, parts } of measured) {
    const ofRun = await run();
    if (i >= 0) parts.push(...ofRun);
  }
}
const rows = [["device", "encoding", "submission", "wait", "all"]];
for (const { name, parts } of measured) {
  const medianOf = (of: (parts: Parts) => number) => median(parts.map(of)).toFixed(3);
  rows.push([
    name,
    medianOf(({ encoding }) => encoding),
    medianOf(({ submission }) => submission),
    medianOf(({ wait }) => wait),
    medianOf(({ encoding, submission, wait }) => encoding + submission + wait),
  ]);
}
console.log(alignColumns(rows));
if (flags.json !== undefined)
  writeFileSync(
    flags.json,
    JSON.stringify({ ...flags, measured: measured.map(({ name, parts }) => ({ name, parts })) }),
  );
process.exit(0);
