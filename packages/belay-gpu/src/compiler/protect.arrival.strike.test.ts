/**
 * Kernels in which whoever comes last of two replicas stores: what they compute, and that no fault
 * in that stays silent.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import {
  type Armed,
  type Host,
  type KernelInput,
  runKernel,
} from "../../../../test/support/kernels/kernelRunner.ts";
import { type CompilerOptions, type CompilerResult, injectionWords } from "./contract.ts";
import { protect } from "./protect.ts";

const { newDevice } = testDevices({ full: true });
let device: GPUDevice;
beforeAll(async () => {
  device = await newDevice();
});

const kernels = {
  invocations: `
    @group(0) @binding(0) var<storage, read_write> a: array<u32>;
    @group(0) @binding(1) var<storage, read_write> b: array<u32>;
    fn put(i: u32, v: u32) { if (v % 5u != 0u) { a[i] = v; b[i] = a_half(v); } }
    fn a_half(v: u32) -> u32 { return v / 2u; }
    @compute @workgroup_size(8) fn main(@builtin(global_invocation_id) id: vec3u) {
      if (id.x >= 30u) { return; }
      let v = a[id.x] * 3u + a[id.x + 32u];
      put(id.x, v);
    }`,
  conditions: `
    @group(0) @binding(0) var<storage, read_write> a: array<u32>;
    @group(0) @binding(1) var<storage, read_write> b: array<u32>;
    @compute @workgroup_size(8) fn main(@builtin(global_invocation_id) id: vec3u) {
      let v = a[id.x] * 3u + a[id.x + 32u];
      if (v % 5u != 0u && id.x < 30u) { a[id.x] = v; }
      if (v % 7u == 0u) { b[id.x] = v; }
    }`,
  workgroups: `
    @group(0) @binding(0) var<storage, read_write> a: array<u32>;
    @group(0) @binding(1) var<storage, read_write> b: array<u32>;
    var<workgroup> tile: array<u32, 8>;
    @compute @workgroup_size(8)
    fn main(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) l: u32) {
      tile[l] = a[id.x] * 3u + a[id.x + 32u];
      workgroupBarrier();
      let v = tile[7u - l];
      a[id.x] = v;
      b[id.x] = v / 2u;
    }`,
};
const input: KernelInput = {
  buffers: { 0: Uint32Array.from({ length: 64 }, (_, i) => i * 7 + 1), 1: new Uint32Array(32) },
  workgroups: [4, 1, 1],
};
/** The kernel with a piece of its protected code changed. */
function change(guarded: CompilerResult, text: string | RegExp, replacement: string): CompilerResult {
  const changed = guarded.code.replaceAll(text, replacement);
  expect(changed).not.toBe(guarded.code);
  return { ...guarded, code: changed };
}

/** Returns the results of a run, and the cells in which the replicas disagree. */
async function run(kernel: string | CompilerResult, armed: Armed = {}, host: Host = {}) {
  const { buffers, cells, report } = await runKernel(device, kernel, input, armed, host);
  const unbalanced = [
    ...new Set([...cells.entries()].flatMap(([cell, sum]) => (sum === 0 ? [] : [cell >> 5]))),
  ];
  return { buffers, unbalanced, strikes: report[injectionWords.strikes] };
}

type Case = [keyof typeof kernels, CompilerOptions];
describe.each<Case>([
  ["invocations", {}],
  ["invocations", { features: ["subgroups"] }],
  ["conditions", { features: ["subgroups"] }],
  ["workgroups", {}],
])("by %s, %o", (name, options) => {
  const wgsl = kernels[name];
  const guarded = protect(wgsl, { redundancy: "inter", injectFaults: true, ...options });
  /** One of the replicas that the host dispatches, in one invocation or workgroup. */
  const one = (replica: 0 | 1) =>
    `(belay_workgroup.x == 1u && belay_was == ${replica}u${name !== "workgroups" ? " && belay_local == 5u" : ""})`;
  /** The kernel with something done to one replica once it has arrived. */
  const onceArrived = (statement: string) => {
    const [declared, remembers, arrived] = [
      "var<private> belay_replica: u32;",
      "belay_replica = belay_twin.replica;",
      /belay_replica = u32\([^;]*== 0u\);/g,
    ] as const;
    const knowing = change(guarded, declared, "$& var<private> belay_was: u32;");
    return change(change(knowing, remembers, "$& belay_was = belay_replica;"), arrived, `$& ${statement}`);
  };

  it("computes the same bits, dispatch after dispatch, at once and sequentially", async () => {
    expect(guarded.entryPoints[0]!.interGroup?.mostWorkgroups).toBe(2 ** 20);
    for (const host of [
      { missing: [0] },
      { missing: [0, 0, 0] },
      { missing: [0, 0], sequentialReplicas: true },
    ]) {
      const plain = await run(wgsl, {}, host);
      expect(await run(guarded, {}, host)).toEqual({ ...plain, strikes: 0 });
    }
  });

  it.each([0, 1] as const)("shows a flip in replica %i", async (armedReplica) => {
    const site = guarded.faultSites.find(({ span }) => wgsl.startsWith("a[id.x] * 3u +", span.start));
    const armed = {
      armedSite: site!.id,
      armedReplica,
      armedMask: 1 << 20,
      armedWorkgroupX: 1,
      armedLocalIndex: 5,
    };
    expect(await run(guarded, armed)).toMatchObject({ strikes: 1, unbalanced: [1] });
  });

  it.each([0, 1] as const)(
    "shows stores that both do, or neither, as replica %i has its turn wrong",
    async (replica) => {
      const wrong = onceArrived(`if ${one(replica)} { belay_replica = 1u - belay_replica; }`);
      expect((await run(wrong)).unbalanced).toEqual([1]);
    },
  );

  it("misses what neither stores where the sign is that of the dispatch", async () => {
    const neither = onceArrived("if (belay_workgroup.x == 1u) { belay_replica = 1u; }");
    expect((await run(neither)).unbalanced).toEqual([1]);
    const blind = change(neither, "belay_replica == 0u) + belay_tally;", "belay_was == 0u);");
    const { buffers, unbalanced } = await run(blind);
    expect(unbalanced).toEqual([]);
    expect(buffers).not.toEqual((await run(wgsl)).buffers);
  });

  it("shows stores that come before the other replica has loaded", async () => {
    const hasty = change(guarded, "belay_Twin(doubled - 4u,", "belay_Twin(5u - doubled,");
    expect((await run(hasty, {}, { sequentialReplicas: true })).unbalanced.length).toBeGreaterThan(0);
  });

  it("shows an arrival that is told wrong, or stores the same", async () => {
    const inverted = change(guarded, /== 0u\);(?=\s*\}\s*$)/gm, "!= 0u);");
    const { buffers, unbalanced } = await run(inverted);
    if (unbalanced.length === 0) expect(buffers).toEqual((await run(wgsl)).buffers);
  });

  it("shows a replica that never runs", async () => {
    expect((await run(guarded, {}, { missing: [1] })).unbalanced).toHaveLength(1);
  });
});

it("shows an arrival that is left out", async () => {
  const wgsl = kernels.invocations;
  const guarded = protect(wgsl, { redundancy: "inter", injectFaults: true });
  const put = wgsl.indexOf("put(id.x, v);");
  const site = guarded.faultSites.find(({ kind, span }) => kind === "statement" && span.start === put)!;
  const armed = { armedSite: site.id, armedWorkgroupX: 1, armedLocalIndex: 5 };
  for (const armedReplica of [0, 1])
    expect(await run(guarded, { ...armed, armedReplica })).toMatchObject({ strikes: 1, unbalanced: [1] });
});
