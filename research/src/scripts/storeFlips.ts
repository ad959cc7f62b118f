/**
 * Flips single bits, in data and check words, before, between and after kernels that store in every
 * shape. It compares the released results with the correct ones.
 *
 *   node research/dist/scripts/storeFlips.js [--flips 20000] [--seconds 300] [--seed 1]
 *       [--codes "secded128,detect"] [--redundancy none] [--inject-faults] [--on-fault recover]
 *       [--only REGEXP] [--json FILE]
 *
 * Ends with an error when a wrong result was released, or correct data of a correcting code was
 * refused.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import type { Redundancy } from "belay-gpu/internal/compiler/contract";
import { corrects, hostCodeOf } from "belay-gpu/internal/ecc/scheme";
import { MemoryFaultError } from "belay-gpu/internal/runtime/context/memoryFault";
import type { OnFault } from "belay-gpu/internal/runtime/context/policy";
import { openGpu } from "belay-node/internal/adapter";
import { newDevice } from "belay-node/internal/newDevice";
import Table from "cli-table3";
import { BulkFlips } from "../bench/ecc/flips.ts";
import { randomNumbers } from "../bench/ecc/randomStrikes.ts";
import { type ComparedCode, comparedCodes, comparedSchemes, hardenWithCodes } from "../ecc/index.ts";
import { numbersFrom, storeKernel, storeShapes, wordsOfShapes } from "./storeFlips/shapes.ts";

const { values: flags } = parseArgs({
  options: {
    flips: { type: "string", default: "20000" },
    seconds: { type: "string", default: "300" },
    seed: { type: "string", default: "1" },
    codes: { type: "string", default: comparedCodes.join() },
    redundancy: { type: "string", default: "none" },
    "inject-faults": { type: "boolean", default: false },
    "on-fault": { type: "string", default: "recover" },
    only: { type: "string", default: "" },
    json: { type: "string" },
  },
});

const invocations = 256;
const workgroup = 64;
const words = wordsOfShapes(invocations);
const bytes = 4 * words;
/** The kernel that loads the stores of the kernel before, while nothing has verified them. */
const NEXT = `
@group(0) @binding(0) var<storage, read> b: array<u32>;
@group(0) @binding(1) var<storage, read_write> c: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  for (var k = id.x; k < arrayLength(&b); k += ${invocations}u) { c[k] = b[k] * 5u + 1u; }
}`;
const inputs = [numbersFrom(words, 1), numbersFrom(words, 3), numbersFrom(words, 5)] as const;

interface Counts {
  flips: number;
  right: number;
  refused: number;
  wrong: number;
}

interface Row extends Counts {
  readonly memory: ComparedCode;
  readonly shape: string;
}

/** A pair of kernels on a device, with two buffers that they store to. */
class Trial {
  readonly #device: GPUDevice;
  readonly buffers: readonly GPUBuffer[];
  readonly #staging: readonly GPUBuffer[];
  readonly #kernels: readonly { readonly pipeline: GPUComputePipeline; readonly group: GPUBindGroup }[];

  constructor(device: GPUDevice, code: string) {
    const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
    this.#device = device;
    this.buffers = ["a", "b", "c"].map((label) =>
      device.createBuffer({ label, size: bytes, usage: STORAGE | COPY_SRC | COPY_DST }),
    );
    this.#staging = [0, 1].map(() => device.createBuffer({ size: bytes, usage: MAP_READ | COPY_DST }));
    this.#kernels = [code, NEXT].map((text, i) => {
      const module = device.createShaderModule({ code: text });
      const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
      const entries = [0, 1].map((binding) => ({
        binding,
        resource: { buffer: this.buffers[i + binding]! },
      }));
      const layout = pipeline.getBindGroupLayout(0);
      return { pipeline, group: device.createBindGroup({ layout, entries }) };
    });
  }

  reset(): void {
    for (const [i, buffer] of this.buffers.entries()) this.#device.queue.writeBuffer(buffer, 0, inputs[i]!);
  }

  dispatch(kernel: 0 | 1): void {
    const { pipeline, group } = this.#kernels[kernel]!;
    const encoder = this.#device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group);
    pass.dispatchWorkgroups(invocations / workgroup);
    pass.end();
    this.#device.queue.submit([encoder.finish()]);
  }

  async read(): Promise<string> {
    const encoder = this.#device.createCommandEncoder();
    for (const [i, staging] of this.#staging.entries())
      encoder.copyBufferToBuffer(this.buffers[i + 1]!, 0, staging, 0, bytes);
    this.#device.queue.submit([encoder.finish()]);
    const mapped = await Promise.allSettled(this.#staging.map((each) => each.mapAsync(GPUMapMode.READ)));
    const refused = mapped.find((each) => each.status === "rejected");
    const contents = this.#staging.flatMap((each) =>
      each.mapState === "mapped" ? [new Uint32Array(each.getMappedRange()).join()] : [],
    );
    for (const each of this.#staging) each.unmap();
    if (refused) throw refused.reason;
    return contents.join();
  }

  /**
   * Runs both kernels. `strike` is called before the first kernel, between both, and after the
   * second one.
   */
  async run(strike: (moment: number) => void = () => {}): Promise<string> {
    strike(0);
    this.dispatch(0);
    strike(1);
    this.dispatch(1);
    strike(2);
    return this.read();
  }
}

/** Returns a function that gives the buffer of check words once the device has created it. */
function watchArena(device: GPUDevice): () => GPUBuffer | undefined {
  let arena: GPUBuffer | undefined;
  const createBuffer = device.createBuffer.bind(device);
  device.createBuffer = (descriptor) => {
    const buffer = createBuffer(descriptor);
    if (descriptor.label === "belay: check words") arena = buffer;
    return buffer;
  };
  return () => arena;
}

const opened = await openGpu();
const chosen = comparedCodes.filter((code) => flags.codes.split(",").includes(code));
const shapes = storeShapes.filter(([name]) => new RegExp(flags.only).test(name));
const each = Math.ceil(Number(flags.flips) / (chosen.length * shapes.length));
const end = performance.now() + 1000 * Number(flags.seconds);
const random = randomNumbers(Number(flags.seed));
const rows: Row[] = [];
const findings: unknown[] = [];

async function strikeShape(
  memory: ComparedCode,
  [shape, type, body]: (typeof storeShapes)[number],
): Promise<Row> {
  const code = storeKernel(type, body, invocations, workgroup);
  const plain = await newDevice(opened);
  const reference = new Trial(plain, code);
  reference.reset();
  const truth = await reference.run();
  plain.destroy();
  const row: Row = { memory, shape, flips: 0, right: 0, refused: 0, wrong: 0 };
  const { granuleBytes } = hostCodeOf(memory, comparedSchemes);
  const checkWords = Number.isFinite(granuleBytes) ? Math.ceil((3 * bytes) / granuleBytes) : 6;
  while (row.flips < each && performance.now() < end) {
    const native = await newDevice(opened);
    const arena = watchArena(native);
    const device = hardenWithCodes(native, {
      redundancy: flags.redundancy as Redundancy,
      onFault: flags["on-fault"] as OnFault,
      injectFaults: flags["inject-faults"],
      memory,
    });
    const flips = new BulkFlips(native);
    const trial = new Trial(device, code);
    let isTrusted = true;
    while (isTrusted && row.flips < each && performance.now() < end) {
      trial.reset();
      const moment = random(3);
      const isInChecks = random(4) === 0;
      const buffer = isInChecks ? arena()! : trial.buffers[random(4) === 0 ? random(3) : 1]!;
      const word = random(isInChecks ? checkWords : words);
      const mask = 2 ** random(32);
      const strike = (now: number) => {
        if (now === moment) flips.flip(buffer, Uint32Array.of(word, mask));
      };
      row.flips++;
      const found = { memory, shape, moment, buffer: buffer.label, word, mask };
      try {
        if ((await trial.run(strike)) === truth) row.right++;
        else {
          row.wrong++;
          findings.push({ ...found, outcome: "wrong" });
        }
      } catch (error) {
        if (!(error instanceof MemoryFaultError)) throw error;
        row.refused++;
        if (corrects(memory, comparedSchemes)) findings.push({ ...found, outcome: "refused" });
        trial.reset();
        isTrusted = (await trial.run().catch(() => "")) === truth;
        if (!isTrusted) findings.push({ ...found, outcome: "not healed" });
      }
    }
    device.destroy();
  }
  return row;
}

for (const memory of chosen) {
  for (const shape of shapes) {
    if (performance.now() >= end) break;
    rows.push(await strikeShape(memory, shape));
    save();
  }
  const own = rows.filter((row) => row.memory === memory);
  if (own.length > 0) console.error(`${memory}: ${describe(own)}`);
}

function save(): void {
  if (!flags.json) return;
  writeFileSync(flags.json, JSON.stringify({ adapter: opened.choice, flags, rows, findings }, null, 2));
}

function total(some: readonly Row[]): Counts {
  const sum = (field: keyof Counts) => some.reduce((all, row) => all + row[field], 0);
  return { flips: sum("flips"), right: sum("right"), refused: sum("refused"), wrong: sum("wrong") };
}

function describe(some: readonly Row[]): string {
  const { flips, right, refused, wrong } = total(some);
  return `${flips} flips: ${right} right, ${refused} refused, ${wrong} released wrong`;
}

const table = new Table({ head: ["code", "flips", "right", "refused", "wrong"] });
for (const memory of chosen) {
  const { flips, right, refused, wrong } = total(rows.filter((row) => row.memory === memory));
  table.push([memory, flips, right, refused, wrong].map(String));
}
console.log(table.toString());
console.log(describe(rows));
for (const finding of findings.slice(0, 20)) console.log(JSON.stringify(finding));
save();
const isRefusedInVain = rows.some(({ memory, refused }) => corrects(memory, comparedSchemes) && refused > 0);
if (total(rows).wrong > 0 || isRefusedInVain) process.exitCode = 1;
opened.close();
