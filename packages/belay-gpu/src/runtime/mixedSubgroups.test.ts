/** Kernels with subgroup operations, whose replicas are whole subgroups of one workgroup. */
import { beforeAll, describe, expect, it } from "vitest";
import { encodeDispatch } from "../../../../test/support/devices/encodeDispatch.ts";
import { download, upload } from "../../../../test/support/devices/storageBuffers.ts";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import type { Protect } from "../compiler/contract.ts";
import { protect } from "../compiler/protect.ts";
import type { CampaignPolicy } from "./context/policy.ts";
import { UnverifiedError } from "./context/unverified.ts";
import { type HardenedDevice, hardenWith } from "./hardenedDevice.ts";

const { sharedDevice } = testDevices({ features: ["subgroups"] });

/** Multiplies a sparse matrix, whose rows are a subgroup's each, by a vector. */
const PRODUCT = `
enable subgroups;
@group(0) @binding(0) var<storage, read_write> sums: array<u32>;
@group(0) @binding(1) var<storage, read> starts: array<u32>;
@group(0) @binding(2) var<storage, read> columns: array<u32>;
@group(0) @binding(3) var<storage, read> numbers: array<u32>;
@group(0) @binding(4) var<storage, read> vector: array<u32>;
@compute @workgroup_size(32) fn rows(
  @builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) i: u32,
  @builtin(subgroup_size) size: u32, @builtin(subgroup_invocation_id) lane: u32
) {
  let row = group.x * (32u / size) + i / size;
  var sum = 0u;
  let end = starts[row + 1u];
  for (var k = starts[row] + lane; k < end; k += size) { sum += numbers[k] * vector[columns[k]]; }
  let total = subgroupAdd(sum);
  if (lane == 0u) { sums[row] = total; }
}`;
/** The same, and no replica may run in passes: it loads what others have stored. */
const AFTER_STORES = PRODUCT.replace(
  /let total = .*/,
  `sums[row] = 0u;
  storageBarrier();
  let total = subgroupAdd(sum) + sums[row];
  storageBarrier();`,
);
const rowCount = 32;
const rows = Array.from({ length: rowCount }, (_, row) => row);
const starts = [...rows, rowCount].map((row) => row * row);
const columns = Array.from({ length: rowCount ** 2 }, (_, k) => (k * 7) % 500);
const numbers = Array.from({ length: rowCount ** 2 }, (_, k) => k + 1);
const vector = Array.from({ length: 500 }, (_, i) => Math.imul(i + 1, 0x85ebca6b) >>> 0);
const products = numbers.map((number, k) => Math.imul(number, vector[columns[k]!]!));
const right = rows.map((row) =>
  products.slice(starts[row], starts[row + 1]).reduce((sum, product) => (sum + product) >>> 0, 0),
);

let size: number;
beforeAll(async () => {
  size = (await sharedDevice()).adapterInfo.subgroupMinSize;
});

async function hardened(policy: CampaignPolicy = {}, compiler: Protect = protect) {
  const device = hardenWith(compiler, await sharedDevice(), { redundancy: "auto", ...policy });
  const unverified: string[] = [];
  device.belay.addEventListener("unverified", ({ detail }) => unverified.push(detail.cause));
  return { device, unverified };
}

/** Prepares a kernel. Returns a function that runs it and returns the sums. */
async function prepared(device: GPUDevice, { code = PRODUCT, isExplicit = false } = {}) {
  const buffers = [rows, starts, columns, numbers, vector].map((words) => upload(device, words));
  const module = device.createShaderModule({ code });
  const layoutEntries = buffers.map((_, binding) => ({
    binding,
    visibility: GPUShaderStage.COMPUTE,
    buffer: { type: binding === 0 ? ("storage" as const) : ("read-only-storage" as const) },
  }));
  const explicit = device.createBindGroupLayout({ entries: layoutEntries });
  const layout = isExplicit ? device.createPipelineLayout({ bindGroupLayouts: [explicit] }) : "auto";
  const pipeline = await device.createComputePipelineAsync({ layout, compute: { module } });
  const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
  const group = device.createBindGroup({
    layout: isExplicit ? explicit : pipeline.getBindGroupLayout(0),
    entries,
  });
  return () => {
    device.queue.writeBuffer(buffers[0]!, 0, new Uint32Array(rowCount));
    const encoder = device.createCommandEncoder();
    encodeDispatch(encoder, pipeline, group, (rowCount * size) / 32);
    device.queue.submit([encoder.finish()]);
    return download(device, buffers[0]!);
  };
}

const coverage = async (device: HardenedDevice) => {
  const { kernels } = await device.belay.report();
  return kernels.map(({ kernel, dispatches, chosen, redundancy, diagnostics }) => ({
    kernel,
    dispatches,
    runs: redundancy === "inter" ? redundancy : chosen?.pairing,
    diagnostics: diagnostics.map(({ code }) => code),
  }));
};

it("are what auto takes for a sparse product", async () => {
  const { device, unverified } = await hardened();
  const run = await prepared(device);
  expect(await run()).toEqual(right);
  expect(await coverage(device)).toEqual([
    { kernel: "rows", dispatches: 1, runs: "subgroups", diagnostics: [] },
  ]);
  expect(unverified).toEqual([]);
});

it.each([0, 1] as const)("show a fault in replica %i, and recover from it", async (replica) => {
  const { device } = await hardened({ injectFaults: true });
  const run = await prepared(device);
  expect(await run()).toEqual(right);
  const [{ kernel, sites } = { kernel: "", sites: [] }] = device.belay.faultSites();
  const site = sites.find(({ span }) => PRODUCT.startsWith("subgroupAdd(sum)", span.start))!;
  const effect = { xor: 1 << 20 };
  device.belay.arm({ kernel, site: site.id, replica, effect, workgroup: [1, 0, 0], localIndex: size });
  expect(await run()).toEqual(right);
  expect(await device.belay.strikes()).toBe(1);
  const { faults, recoveries } = await device.belay.report();
  expect(faults.map(({ outcome, localIndex }) => [outcome, localIndex])).toEqual([["recovered", size]]);
  expect(recoveries).toBe(1);
});

/** A compiler for a device whose subgroups hold the lanes of a workgroup in another order. */
const mixing: Protect = (wgsl, options) => {
  const result = protect(wgsl, options);
  return { ...result, code: result.code.replace("index == first + lane", "index == first + (lane ^ 1u)") };
};

describe("subgroups that mix replicas", () => {
  const moved = { kernel: "rows", runs: "inter", diagnostics: ["BELAY342"] };

  it.each([
    ["under auto", {}, {}],
    ["with an explicit layout", {}, { isExplicit: true }],
    ["with a given pairing", { redundancy: "intra+lds", pairing: "subgroups" }, {}],
  ] as const)(
    "make work run again in passes, and the kernel run elsewhere, %s",
    async (_, policy, options) => {
      const { device, unverified } = await hardened(policy, mixing);
      const run = await prepared(device, options);
      for (let i = 0; i < 4; i++) expect(await run()).toEqual(right);
      // The first two runs were found; the others ran elsewhere.
      const { faults, giveUps, replays, kernels } = await device.belay.report();
      expect({ faults, giveUps, replays }).toEqual({ faults: [], giveUps: 0, replays: 2 });
      expect(new Set(unverified)).toEqual(new Set(["subgroupsMixed"]));
      expect(kernels[0]!.unverified).toBeGreaterThan(0);
      expect(await coverage(device)).toEqual([{ ...moved, dispatches: 4 }]);
      // Pipelines that come later run there, too.
      const another = await prepared(device, options);
      expect(await another()).toEqual(right);
      expect((await device.belay.report()).replays).toBe(2);
    },
  );

  it("refuse results until the kernel runs elsewhere, if passes do not fit", async () => {
    const { device } = await hardened({ pairing: "subgroups", redundancy: "intra+lds" }, mixing);
    const run = await prepared(device, { code: AFTER_STORES });
    await expect(run()).rejects.toThrow(UnverifiedError);
    expect(await run()).toEqual(right);
    expect(await coverage(device)).toEqual([{ ...moved, dispatches: 2 }]);
  });

  it("refuse results until the kernel runs elsewhere, without recovery", async () => {
    const { device } = await hardened({ onFault: "throw" }, mixing);
    const run = await prepared(device);
    for (let i = 0; i < 2; i++) await expect(run()).rejects.toThrow(UnverifiedError);
    expect(await run()).toEqual(right);
    expect(await coverage(device)).toEqual([{ ...moved, dispatches: 3 }]);
  });

  it("are found once by a fault, which changes nothing for later work", async () => {
    let made = 0;
    const once: Protect = (wgsl, options) => (made++ === 0 ? mixing : protect)(wgsl, options);
    const { device, unverified } = await hardened({}, once);
    const run = await prepared(device);
    expect(await run()).toEqual(right);
    expect(unverified.length).toBeGreaterThan(0);
    expect(await coverage(device)).toMatchObject([{ runs: "subgroups" }]);
  });
});
