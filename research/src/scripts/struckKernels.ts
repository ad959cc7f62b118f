/**
 * Strikes values, indices, branches and stores of small kernels with pointers or subgroup
 * operations, in each flavor, one fault in each run. Each result must have the right bits.
 *
 *   node research/dist/scripts/struckKernels.js [--only REGEXP] [--faults 40] [--runs 20]
 *       [--seconds 60] [--seed 7]
 *
 * `--runs` without a fault come first, and may raise no alarm. Every second fault strikes all
 * invocations of a subgroup, if the flavor covers what they share. Ends with an error for a wrong
 * result, and for an alarm without a fault.
 */
import { parseArgs } from "node:util";
import { alignColumns } from "belay-cli/internal/shared/terminal/table";
import type { Policy } from "belay-gpu";
import { harden } from "belay-gpu/internal/runtime/harden";
import type { HardenedDevice } from "belay-gpu/internal/runtime/hardenedDevice";
import { openGpu } from "belay-node/internal/adapter";
import { newDevice } from "belay-node/internal/newDevice";
import { isSame } from "../bench/programs/programs.ts";
import { bindBuffers, readBuffers, resultBuffer, uploadBuffer } from "../workloads/buffers.ts";
import { randomBelow, randomWord } from "../workloads/random.ts";

const { values: flags } = parseArgs({
  options: {
    only: { type: "string", default: "" },
    faults: { type: "string", default: "40" },
    runs: { type: "string", default: "20" },
    seconds: { type: "string", default: "60" },
    seed: { type: "string", default: "7" },
  },
});
const end = performance.now() + 1000 * Number(flags.seconds);
const [faults, runs, seed] = [flags.faults, flags.runs, flags.seed].map(Number) as [number, number, number];

const buffers = `
  @group(0) @binding(0) var<storage, read> a: array<u32>;
  @group(0) @binding(1) var<storage, read_write> b: array<vec2u>;`;
const entry = (body: string, parameters = "") => `
  @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u,
      @builtin(local_invocation_index) l: u32${parameters}) { let v = a[id.x]; ${body} }`;
const pointers = (declarations: string, body: string) =>
  `requires unrestricted_pointer_parameters; ${buffers} ${declarations} ${entry(body)}`;
const subgroups = (body: string) => `
  enable subgroups; diagnostic(off, subgroup_uniformity); ${buffers}
  var<workgroup> sums: array<u32, 64>;
  ${entry(body, ", @builtin(subgroup_invocation_id) lane: u32, @builtin(subgroup_size) size: u32")}`;

const kernels: Readonly<Record<string, string>> = {
  "pointers to locals": pointers(
    `fn swap(p: ptr<function, u32>, q: ptr<function, u32>) { let t = *p; *p = *q; *q = t; }
    fn grow(p: ptr<function, array<u32, 4>>, i: u32) -> u32 {
      (*p)[i % 4u] += i;
      let q = &(*p)[(i + 1u) % 4u];
      *q ^= (*p)[i % 4u];
      return *q;
    }`,
    `var x = v; var y = a[127u - id.x]; var list = array(x, y, 3u, 4u);
    swap(&x, &y);
    for (var i = 0u; i < 3u; i++) { x += grow(&list, y + i); }
    b[id.x] = vec2u(x + list[y % 4u], y);`,
  ),
  "pointers to private variables": pointers(
    `var<private> list: array<u32, 4>; var<private> at: u32;
    fn add(p: ptr<private, u32>, x: u32) -> u32 { *p = *p * 3u + x; return *p; }`,
    `at = v;
    for (var i = 0u; i < 4u; i++) { let p = &at; list[i] = add(p, i); }
    b[id.x] = vec2u(list[at % 4u], at);`,
  ),
  "pointers to storage": pointers(
    `fn bump(p: ptr<storage, vec2u, read_write>, by: u32) -> u32 {
      let before = (*p).x; *p = vec2u(before + by, before); return before;
    }`,
    `let p = &b[id.x];
    (*p).y = v;
    if (v % 2u == 0u) { (*p).x += bump(p, 1u) + bump(p, 2u); } else { let q = &(*p); *q = vec2u(v, (*q).x); }`,
  ),
  "pointers to workgroup memory": pointers(
    `var<workgroup> tile: array<vec2u, 64>;
    fn put(t: ptr<workgroup, vec2u>, x: ptr<function, u32>) { *t = vec2u(*x, *x + 1u); *x += 1u; }
    fn sum(t: ptr<workgroup, array<vec2u, 64>>, i: u32) -> u32 { let e = &(*t)[i % 64u]; return (*e).x + (*e).y; }`,
    `var x = v;
    put(&tile[l], &x);
    workgroupBarrier();
    b[id.x] = vec2u(sum(&tile, l + 1u), sum(&tile, 63u - l) + x);`,
  ),
  "subgroups, loaded indices": subgroups("b[id.x] = vec2u(subgroupAdd(a[v % 128u]), lane);"),
  "subgroups, scans": subgroups(
    "b[id.x] = vec2u(subgroupInclusiveAdd(v) ^ subgroupMax(v), subgroupExclusiveMul(v | 1u));",
  ),
  "subgroups, exchanges": subgroups(
    `b[id.x] = vec2u(subgroupShuffleXor(v, 1u) ^ subgroupBroadcast(v, 2u),
      quadSwapDiagonal(v) ^ subgroupBallot(v % 3u == 0u).x);`,
  ),
  "subgroups, a sum over the workgroup": subgroups(
    `let sum = subgroupAdd(v);
    if (lane == 0u) { sums[l / size] = sum; }
    workgroupBarrier();
    var all = 0u;
    for (var s = 0u; s < 64u / size; s++) { all += sums[s]; }
    b[id.x] = vec2u(all, v);`,
  ),
  "subgroups, lanes that end early": subgroups(
    "if (v % 5u == 0u) { return; } b[id.x] = vec2u(subgroupAdd(v), lane);",
  ),
};

/** The flavors, each with the extent of its widest fault. */
const flavors: Readonly<Record<string, { policy: Policy; extent: "invocation" | "subgroup" }>> = {
  adjacent: { policy: { redundancy: "intra+lds" }, extent: "invocation" },
  "half-subgroup": { policy: { redundancy: "intra+lds", pairing: "half-subgroup" }, extent: "invocation" },
  subgroups: { policy: { redundancy: "intra+lds", pairing: "subgroups" }, extent: "subgroup" },
  passes: { policy: { redundancy: "intra+lds", pairing: "passes" }, extent: "subgroup" },
  inter: { policy: { redundancy: "inter" }, extent: "subgroup" },
  "before stores": { policy: { redundancy: "intra+lds", check: "store" }, extent: "invocation" },
};

const input = Uint32Array.from({ length: 128 }, (_, i) => randomWord(seed, i) >>> 8);

/** Returns a function that runs a kernel, and resolves to its output. */
function prepare(device: GPUDevice, code: string) {
  const [a, b] = [uploadBuffer(device, input), resultBuffer(device, 1024)];
  const module = device.createShaderModule({ code });
  const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
  const group = bindBuffers(device, pipeline, a, b);
  return async () => {
    device.queue.writeBuffer(b, 0, new Uint32Array(256).fill(9));
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group);
    pass.dispatchWorkgroups(2);
    pass.end();
    device.queue.submit([encoder.finish()]);
    return new Uint32Array(await readBuffers(device, b));
  };
}

interface Tally {
  alarms: number;
  struck: number;
  recovered: number;
  masked: number;
  refused: number;
  wrong: number;
}

/** Strikes the sites in turn, each where a seeded generator says. */
async function strike(
  device: HardenedDevice,
  run: () => Promise<Uint32Array>,
  { right, extent, tally }: { right: Uint32Array; extent: "invocation" | "subgroup"; tally: Tally },
): Promise<void> {
  const [found] = device.belay.faultSites();
  if (!found) return;
  let drawn = 0;
  const below = (limit: number) => randomBelow(limit, seed + 1, drawn++);
  for (let i = 0; i < faults && performance.now() < end; i++) {
    const site = found.sites[i % found.sites.length]!;
    const isPlace = site.kind === "address" || site.kind === "local";
    device.belay.arm({
      kernel: found.kernel,
      site: site.id,
      replica: below(2) as 0 | 1,
      effect: { xor: site.kind === "branch" ? 1 : 1 << below(isPlace ? 8 : 32) },
      extent: i % 2 === 1 && site.kind === "value" ? extent : "invocation",
      workgroup: [below(2), 0, 0],
      localIndex: below(64),
    });
    const before = (await device.belay.report()).recoveries;
    const result = await run().catch(() => undefined);
    const { strikes } = await device.belay.observed();
    device.belay.disarm();
    const isRecovered = (await device.belay.report()).recoveries > before;
    if (strikes === 0 && !isRecovered) continue;
    tally.struck++;
    if (!result) tally.refused++;
    else if (!isSame(result, right)) tally.wrong++;
    else if (isRecovered) tally.recovered++;
    else tally.masked++;
  }
}

using opened = await openGpu();
const rows = [["kernel", "flavor", "alarms", "struck", "recovered", "masked", "refused", "wrong"]];
const sums = { alarms: 0, struck: 0, wrong: 0 };
for (const [name, code] of Object.entries(kernels).filter(([name]) => new RegExp(flags.only).test(name))) {
  const plain = await newDevice(opened);
  const right = await prepare(plain, code)();
  plain.destroy();
  for (const [flavor, { policy, extent }] of Object.entries(flavors)) {
    if (performance.now() > end) break;
    const device = harden(await newDevice(opened), { ...policy, injectFaults: true });
    // Some flavors do not fit some kernels.
    device.belay.addEventListener("unprotected", (event) => event.preventDefault());
    const run = prepare(device, code);
    const tally: Tally = { alarms: 0, struck: 0, recovered: 0, masked: 0, refused: 0, wrong: 0 };
    for (let i = 0; i < runs; i++) if (!isSame(await run(), right)) tally.wrong++;
    const { kernels: reported } = await device.belay.report();
    if (reported.some(({ redundancy }) => redundancy !== "none")) {
      for (const { detections, unverified } of reported) tally.alarms += detections + unverified;
      await strike(device, run, { right, extent, tally });
      rows.push([name, flavor, ...Object.values(tally).map(String)]);
      for (const key of ["alarms", "struck", "wrong"] as const) sums[key] += tally[key];
    } else rows.push([name, flavor, "left alone", "", "", "", "", ""]);
    device.destroy();
  }
}
console.log(alignColumns(rows));
console.log(`${sums.struck} faults, ${sums.wrong} wrong results, ${sums.alarms} alarms without a fault`);
process.exitCode = sums.wrong + sums.alarms > 0 ? 1 : 0;
