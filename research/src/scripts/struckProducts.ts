/**
 * Injects faults into a product of matrices and tells which of them the check by algebra finds.
 *
 *   node research/dist/scripts/struckProducts.js [--size 256] [--effective 3000] [--seconds 30]
 *       [--json FILE]
 *
 * Each run strikes one invocation in one step: a bit of a sum, of a word of a tile in workgroup
 * memory, or of a result's address. A fault is effective if it changes the result. `--seconds`
 * limits the runs of each structure. The script fails if an error above twice the bound is silent
 * though it is alone in its sum. It also fails if errors cancel more often than the probability
 * allows.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { alignColumns } from "belay-cli/internal/shared/terminal/table";
import { findSumsOfProducts, SumsCheck } from "belay-gpu/algebra";
import { checkKernels } from "belay-gpu/internal/algebra/checkKernels";
import { openGpu } from "belay-node/internal/adapter";
import { bindBuffers, readBuffers, resultBuffer, uploadBuffer } from "../workloads/buffers.js";
import { create } from "../workloads/samples/matrixProduct.js";

const { values: flags } = parseArgs({
  options: {
    size: { type: "string", default: "256" },
    effective: { type: "string", default: "3000" },
    seconds: { type: "string", default: "30" },
    json: { type: "string" },
  },
});
const size = Number(flags.size);

/** The structures, each with the statement that is struck and what is executed in its place. */
const structures = {
  sum: [
    "upper += aTile[local.y][k] * bTile[k][local.x];",
    `upper += aTile[local.y][k] * bTile[k][local.x];
      if (isStruck(group, local, start + k)) { upper = bitcast<f32>(bitcast<u32>(upper) ^ strike.mask); }`,
  ],
  "workgroup memory": [
    // Sixteen results of a row have such a word as a factor, and share a sum of the check.
    "aTile[local.y][local.x] = loadA(row, start + local.x);",
    `aTile[local.y][local.x] = loadA(row, start + local.x);
    if (isStruck(group, local, start)) {
      aTile[local.y][local.x] = bitcast<f32>(bitcast<u32>(aTile[local.y][local.x]) ^ strike.mask);
    }`,
  ],
  address: [
    "product[row * shape.columns + column] = upper;",
    `product[(row * shape.columns + column) ^ select(0u, strike.mask, isStruck(group, local, 0u))] = upper;`,
  ],
} as const;

/** The effects of the faults of one structure. */
interface Outcomes {
  injected: number;
  masked: number;
  found: number;
  /** The faults with results that are not finite, of which the check says nothing. */
  undecided: number;
  /** The silent faults whose largest error is at most twice the bound. */
  belowBound: number;
  /** The other silent faults whose larger errors share their sums, so that they may cancel. */
  cancelled: number;
  /** The most of these to expect. */
  expected: number;
  /** The silent faults with a larger error that is alone in its sum. There may be none. */
  beyondBound: number;
}

const source = create({ rows: size }).kernelSources!.multiply!;
const { adapter, close } = await openGpu();
const device = await adapter.requestDevice();
const { UNIFORM, COPY_DST } = GPUBufferUsage;
const random = () => Float32Array.from({ length: size * size }, () => Math.random() * 2 - 1);
const shape = uploadBuffer(device, Uint32Array.of(size, size, size), UNIFORM);
const [a, b] = [uploadBuffer(device, random()), uploadBuffer(device, random())];
const product = resultBuffer(device, 4 * size * size);
const strike = device.createBuffer({ size: 32, usage: UNIFORM | COPY_DST });
const grid = [Math.ceil(size / 16), Math.ceil(size / 16), 1] as const;
const sizes = [12, 4 * size * size, 4 * size * size, 4 * size * size];
const sums = findSumsOfProducts(
  { source },
  {
    grid,
    sizeOf: ({ binding }) => sizes[binding],
    wordAt: ({ binding }) => (binding === 0 ? size : undefined),
  },
);
if ("reason" in sums) throw new Error(sums.reason);
// The rows of the check are those of the factor that it takes for the left one.
const { isMirrored } = checkKernels(sums, product.size);
const hasOwnRows = (sums.results[0]!.left === 0) !== isMirrored;
const check = new SumsCheck(device, sums, product.size);
const operands = [shape, a, b, product];
const at = ({ of }: typeof sums.left) => ({ buffer: operands[of.binding]! });
const bound = { left: at(sums.left), right: at(sums.right), output: at(sums.output) };

const results: Record<string, Outcomes & { seconds: number }> = {};
for (const [name, [statement, struck]] of Object.entries(structures)) {
  const start = performance.now();
  const outcomes = await strikeAll(source.replace(statement, struck), name);
  results[name] = { ...outcomes, seconds: (performance.now() - start) / 1000 };
}
const columns = [
  "injected",
  "masked",
  "found",
  "undecided",
  "belowBound",
  "cancelled",
  "expected",
  "beyondBound",
] as const;
console.log(
  alignColumns([
    ["structure", ...columns],
    ...Object.entries(results).map(([name, each]) => [
      name,
      ...columns.map((column) => String(Math.round(each[column] * 10) / 10)),
    ]),
  ]),
);
if (flags.json) writeFileSync(flags.json, JSON.stringify({ size, results }));
close();
const isFailure = ({ beyondBound, cancelled, expected }: Outcomes) =>
  // Counts of rare events vary by the square root of what is expected.
  beyondBound > 0 || cancelled > expected + 4 * Math.sqrt(expected);
if (Object.values(results).some(isFailure)) process.exitCode = 1;

/** Returns the sum of a result: its row of the left factor, and its block of columns. */
function sumOf(index: number): number {
  const [row, column] = [Math.floor(index / size), index % size];
  const [own, other] = hasOwnRows ? [row, column] : [column, row];
  return own * size + Math.floor(other / 64);
}

/**
 * Returns the largest probability with which the check misses errors: 0 where one above twice the
 * bound is alone in its sum. Of several, the largest error `e` is hidden with a probability of at
 * most 2 * bound / e.
 */
function chanceOf(errors: ReadonlyMap<number, number>, limit: number): number {
  const inSums = new Map<number, number[]>();
  for (const [index, error] of errors) {
    const key = sumOf(index);
    inSums.set(key, [...(inSums.get(key) ?? []), error]);
  }
  const chances = [...inSums.values()].map((each) => {
    const largest = Math.max(...each);
    if (largest <= 2 * limit) return 1;
    return each.length === 1 ? 0 : (2 * limit) / largest;
  });
  return Math.min(...chances);
}

async function strikeAll(kernel: string, structure: string): Promise<Outcomes> {
  const code = `${kernel}
struct Strike { group: vec3u, step: u32, local: vec3u, mask: u32 }
@group(0) @binding(4) var<uniform> strike: Strike;
fn isStruck(group: vec3u, local: vec3u, step: u32) -> bool {
  return strike.mask != 0u && all(group == strike.group) && all(local == strike.local) && step == strike.step;
}`;
  const module = device.createShaderModule({ code });
  const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
  const group = bindBuffers(device, pipeline, shape, a, b, product, strike);
  const run = async (words: readonly number[]) => {
    device.queue.writeBuffer(strike, 0, Uint32Array.from(words));
    const encoder = device.createCommandEncoder();
    // Results of the run before would replace those that are not stored.
    encoder.clearBuffer(product);
    const pass = encoder.beginComputePass();
    check.before(pass, bound);
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group);
    pass.dispatchWorkgroups(...grid);
    check.after(pass, bound);
    pass.end();
    device.queue.submit([encoder.finish()]);
    const [verdict, bytes] = await Promise.all([check.verdict(), readBuffers(device, product)]);
    return { verdict, numbers: new Float32Array(bytes), words: new Uint32Array(bytes) };
  };
  const right = await run([0, 0, 0, 0, 0, 0, 0, 0]);
  if (right.verdict.outcome !== "agreed") throw new Error("the product without a fault is not clean");
  const outcomes = {
    injected: 0,
    masked: 0,
    found: 0,
    undecided: 0,
    belowBound: 0,
    cancelled: 0,
    expected: 0,
    beyondBound: 0,
  };
  const end = performance.now() + 1000 * Number(flags.seconds);
  while (performance.now() < end && outcomes.injected - outcomes.masked < Number(flags.effective)) {
    const below = (limit: number) => Math.floor(Math.random() * limit);
    const bits = structure === "address" ? Math.log2(size * size) : 32;
    const step = structure === "sum" ? below(size) : structure === "address" ? 0 : 16 * below(size / 16);
    const mask = 2 ** below(bits);
    const struck = await run([below(grid[0]), below(grid[1]), 0, step, below(16), below(8), 0, mask]);
    outcomes.injected++;
    const errors = new Map<number, number>();
    for (let i = 0; i < struck.numbers.length; i++) {
      if (struck.words[i] === right.words[i]) continue;
      const error = Math.abs(struck.numbers[i]! - right.numbers[i]!);
      errors.set(i, Number.isNaN(error) ? Number.POSITIVE_INFINITY : error);
    }
    const { outcome, bound: limit } = struck.verdict;
    if (errors.size === 0) {
      outcomes.masked++;
      continue;
    }
    const isLarge = Math.max(...errors.values()) > 2 * limit;
    const chance = chanceOf(errors, limit);
    if (isLarge && outcome !== "undecided") outcomes.expected += chance;
    if (outcome === "mismatch") outcomes.found++;
    else if (outcome === "undecided") outcomes.undecided++;
    else if (!isLarge) outcomes.belowBound++;
    else if (chance > 0) outcomes.cancelled++;
    else outcomes.beyondBound++;
  }
  return outcomes;
}
