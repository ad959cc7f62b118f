/**
 * Measures copies that check what they load and encode what they store, with each code, against plain copies of the same elements
 * side by side; and `encode` alone, in registers.
 *
 *   node dist/bench/codeCopies.js [--words 67108864] [--runs 20] [--only REGEXP] [--json FILE]
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { median } from "simple-statistics";
import { GpuTimer } from "../src/bench/gpuTimer.ts";
import { type SchemeName, schemes } from "../src/codes/scheme.ts";
import { openGpu } from "../src/runtime/adapter.ts";
import { requestFullDevice } from "../src/runtime/adapterDevice.ts";

const { values: flags } = parseArgs({
  options: {
    words: { type: "string", default: String(2 ** 26) },
    runs: { type: "string", default: "20" },
    only: { type: "string", default: "" },
    json: { type: "string" },
  },
});
const words = Number(flags.words);
const runs = Number(flags.runs);
const workgroup = 256;
/** Encodings in registers: of so many granules, one after the other in so many invocations. */
const repetitions = 64;
const invocations = Math.min(2 ** 22, words);

interface Case {
  readonly name: string;
  readonly scheme: SchemeName;
  /** Words that an invocation copies. */
  readonly width: 1 | 2 | 4;
  readonly invocations: number;
  readonly kernel: string;
  readonly plain: string;
  /** Words that the kernel encodes and the plain one does not, where memory takes no part. */
  readonly encodedWords?: number;
}

const typeOf = (width: number) => (width === 1 ? "u32" : `vec${width}<u32>`);
const partOf = (width: number, k: number) => (width === 1 ? "" : `.${"xyzw"[k]}`);

/** Loads and stores with `width` words for each of `count` invocations, whose number is `i`. */
function kernel(width: number, count: number, body: string, library = ""): string {
  const groups = Math.min(count / workgroup, 2 ** 15);
  return `${/subgroup/.test(body) ? "enable subgroups;" : ""}
@group(0) @binding(0) var<storage, read> loaded: array<${typeOf(width)}>;
@group(0) @binding(1) var<storage, read_write> stored: array<${typeOf(width)}>;
@group(0) @binding(2) var<storage, read> loadedChecks: array<u32>;
@group(0) @binding(3) var<storage, read_write> storedChecks: array<u32>;
@group(0) @binding(4) var<storage, read_write> found: array<atomic<u32>, 3>;
${library}
@compute @workgroup_size(${workgroup}) fn main(@builtin(global_invocation_id) id: vec3u) {
  let i = id.x + id.y * ${groups * workgroup}u;
  ${body}
  // All bindings stay in use.
  if (i == 0xffffffffu) { storedChecks[0] = loadedChecks[0]; stored[0] = loaded[0]; atomicAdd(&found[0], 1u); }
}`;
}

const lanesOf = (scheme: SchemeName, width: number) => schemes[scheme].granuleBytes / 4 / width;

const copying = (width: number) => kernel(width, words / width, "stored[i] = loaded[i];");

/** Each invocation copies a granule. */
function copyOfGranules(scheme: SchemeName, width: 1 | 2 | 4): Case {
  const body = `let data = loaded[i];
  let result = code_correct(data, code_syndrome(data, loadedChecks[i]));
  if (result.status != 0u) { atomicAdd(&found[result.status], 1u); }
  stored[i] = result.data;
  storedChecks[i] = code_encode(result.data);`;
  return {
    ...{ name: `${scheme}, ${typeOf(width)}`, scheme, width, invocations: words / width },
    kernel: kernel(width, words / width, body, schemes[scheme].wgsl("code_")),
    plain: copying(width),
  };
}

/** Check words are moved, and nothing is computed. */
function copyOfChecks(width: 1 | 2 | 4): Case {
  const body = `stored[i] = loaded[i];
  storedChecks[i] = loadedChecks[i];`;
  return {
    ...{ name: `check words alone, ${typeOf(width)}`, width, invocations: words / width },
    scheme: ({ 1: "secded32", 2: "secded64", 4: "secded128" } as const)[width],
    kernel: kernel(width, words / width, body),
    plain: copying(width),
  };
}

/** Neighbours in a subgroup copy a granule together. Each of them adds what its words contribute. */
function copyTogether(scheme: SchemeName, width: 1 | 2 | 4): Case {
  const lanes = lanesOf(scheme, width);
  const share = Array.from(
    { length: width },
    (_, k) => `code_contribution(position + ${k}u, data${partOf(width, k)})`,
  ).join(" ^ ");
  const steps = Array.from({ length: Math.log2(lanes) }, (_, step) => 1 << step);
  const sum = steps.map((step) => `sum ^= subgroupShuffleXor(sum, ${step}u);`).join(" ");
  const body = `let position = ${width}u * (i % ${lanes}u);
  let data = loaded[i];
  var sum = ${share};
  ${sum}
  if (sum != loadedChecks[i / ${lanes}u]) { atomicAdd(&found[2], 1u); }
  stored[i] = data;
  if (position == 0u) { storedChecks[i / ${lanes}u] = sum; }`;
  return {
    ...{ name: `${scheme}, ${typeOf(width)} in ${lanes} lanes`, scheme, width, invocations: words / width },
    kernel: kernel(width, words / width, body, schemes[scheme].wgsl("code_")),
    plain: copying(width),
  };
}

function encodeAlone(scheme: SchemeName, width: 1 | 2 | 4): Case {
  const body = (call: string) => `var data = ${typeOf(width)}(i);
  var check = 0u;
  for (var k = 0u; k < ${repetitions}u; k++) { check = ${call}; data = 3u * data + check; }
  if (check == 0x12345u) { storedChecks[0] = check; }`;
  return {
    ...{ name: `${scheme} in registers`, scheme, width, invocations },
    encodedWords: invocations * repetitions * width,
    kernel: kernel(width, invocations, body("code_encode(data)"), schemes[scheme].wgsl("code_")),
    plain: kernel(width, invocations, body("data.x".slice(0, width === 1 ? 4 : 6))),
  };
}

const small = Object.values(schemes).flatMap(({ name, granuleBytes }) =>
  granuleBytes <= 16 ? [[name, (granuleBytes / 4) as 1 | 2 | 4] as const] : [],
);
const opened = await openGpu();
const device = await requestFullDevice(opened.adapter);
// What lanes do together needs subgroups that hold a granule.
const together = (
  [
    ["secded128", 1],
    ["secded128", 2],
    ["secded256", 4],
    ["secded1024", 1],
    ["secded1024", 4],
  ] as const
).filter(([name, width]) => lanesOf(name, width) <= (opened.adapter.info.subgroupMinSize ?? 1));
const cases = [
  ...([1, 2, 4] as const).map(copyOfChecks),
  ...small.map(([name, width]) => copyOfGranules(name, width)),
  ...together.map(([name, width]) => copyTogether(name, width)),
  ...small.map(([name, width]) => encodeAlone(name, width)),
].filter(({ name }) => new RegExp(flags.only).test(name));

const { STORAGE, COPY_DST, COPY_SRC, MAP_READ } = GPUBufferUsage;
const bytes = 4 * words;
const sizes = [bytes, bytes, bytes, bytes, 12];
const buffers = sizes.map((size) => device.createBuffer({ size, usage: STORAGE | COPY_DST | COPY_SRC }));
const layout = device.createBindGroupLayout({
  entries: buffers.map((_, binding) => ({
    binding,
    visibility: GPUShaderStage.COMPUTE,
    buffer: { type: binding === 0 || binding === 2 ? "read-only-storage" : "storage" },
  })),
});
const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
const bindGroup = device.createBindGroup({ layout, entries });

const pipelineOf = (code: string) =>
  device.createComputePipelineAsync({
    layout: device.createPipelineLayout({ bindGroupLayouts: [layout] }),
    compute: { module: device.createShaderModule({ code }) },
  });

const timer = new GpuTimer(device);
function time(pipeline: GPUComputePipeline, count: number): Promise<number> {
  const groups = count / workgroup;
  const across = Math.min(groups, 2 ** 15);
  return timer.time((encoder) => {
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, bindGroup);
    pass.dispatchWorkgroups(across, groups / across);
    pass.end();
  });
}

/** The data is one block again and again, as are its check words. */
const block = Uint32Array.from({ length: 2 ** 12 }, (_, i) => Math.imul(i + 1, 0x9e3779b9));
function fill(buffer: GPUBuffer, content: Uint32Array<ArrayBuffer>, size: number): void {
  for (let at = 0; at < size; at += content.byteLength) device.queue.writeBuffer(buffer, at, content);
}

async function findings(): Promise<number> {
  const reader = device.createBuffer({ size: 12, usage: MAP_READ | COPY_DST });
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(buffers[4]!, 0, reader, 0, 12);
  device.queue.submit([encoder.finish()]);
  await reader.mapAsync(GPUMapMode.READ);
  const sum = new Uint32Array(reader.getMappedRange()).reduce((total, count) => total + count, 0);
  reader.destroy();
  return sum;
}

fill(buffers[0]!, block, bytes);
console.log(opened.choice.description);
const results = [];
for (const each of cases) {
  const checks = new Uint32Array((4 * block.length) / schemes[each.scheme].granuleBytes);
  schemes[each.scheme].encode(block, checks);
  fill(buffers[2]!, checks, (4 * bytes) / schemes[each.scheme].granuleBytes);
  const [plain, coded] = await Promise.all([pipelineOf(each.plain), pipelineOf(each.kernel)]);
  const times: { plain: number; coded: number }[] = [];
  for (let run = -2; run < runs; run++) {
    const pair = { plain: await time(plain, each.invocations), coded: await time(coded, each.invocations) };
    if (run >= 0) times.push(pair);
  }
  if ((await findings()) > 0) throw new Error(`${each.name} finds errors where there are none`);
  const [before, after] = [median(times.map((t) => t.plain)), median(times.map((t) => t.coded))];
  const picoseconds = each.encodedWords && ((after - before) * 1e9) / each.encodedWords;
  results.push({ name: each.name, plain: before, coded: after, ratio: after / before, picoseconds });
  const figure = picoseconds ? `${picoseconds.toFixed(3)} ps per word` : (after / before).toFixed(3);
  console.log(`${each.name.padEnd(36)} ${before.toFixed(4)} ms  ${after.toFixed(4)} ms  ${figure}`);
  if (flags.json) writeFileSync(flags.json, JSON.stringify(results, null, 2));
}
device.destroy();
opened.close();
