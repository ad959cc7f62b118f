import { beforeAll, describe, expect, it } from "vitest";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import { runKernel } from "../../../../test/support/kernels/kernelRunner.ts";
import { type CompilerOptions, injectionWords, recordCause, reportWords } from "./contract.ts";
import { protect } from "./protect.ts";

const { newDevice } = testDevices({ full: true });
let device: GPUDevice;
beforeAll(async () => {
  device = await newDevice();
});

/**
 * Sites, in order: i, the sum, the product, the stored word, the tile's word, the counted bin and
 * what is added.
 */
const code = `
  @group(0) @binding(0) var<storage, read> a: array<u32>;
  @group(0) @binding(1) var<storage, read_write> out: array<vec2u>;
  @group(0) @binding(2) var<storage, read_write> bins: array<atomic<u32>, 4>;
  var<workgroup> tile: array<u32, 32>;
  @compute @workgroup_size(32)
  fn main(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) l: u32) {
    let i = id.x;
    var sum = 0u;
    for (var k = 0u; k < 3u; k++) { sum = sum + a[(i + k) % 64u] * 2u; }
    tile[l] = sum;
    workgroupBarrier();
    if (tile[31u - l] % 2u == 0u) { out[i] = vec2u(tile[31u - l] + sum, sum); }
    let bin = sum / 2u % 4u;
    let step = l + 1u;
    atomicAdd(&bins[bin], step);
  }`;
const input = {
  buffers: {
    0: Uint32Array.from({ length: 64 }, (_, i) => i * 7 + 1),
    1: new Uint32Array(128),
    2: new Uint32Array(4),
  },
  workgroups: [2, 1, 1] as const,
};
const fault = { armedWorkgroupX: 1, armedLocalIndex: 5, armedMask: 1 << 20 };

const flavors = ["intra+lds", "intra-lds"] as const;
const channels = ["subgroup", "workgroup"] as const;
const adjacent = flavors.flatMap((redundancy) =>
  (["store", "signature"] as const).flatMap((check) =>
    channels.map((channel) => ({ redundancy, check, channel })),
  ),
);
const configurations: CompilerOptions[] = [
  ...adjacent.map((each) => ({ ...each, pairing: "adjacent" as const })),
  ...channels.map((channel) => ({ check: "signature" as const, channel, pairing: "passes" as const })),
];

describe.each(configurations)("$redundancy, $check, $channel, $pairing", (options) => {
  const guarded = protect(code, { ...options, features: ["subgroups"], injectFaults: true });
  const siteOf = (text: string) =>
    guarded.faultSites.find(({ span }) => code.slice(span.start, span.end) === text)!;

  it("computes the same with nothing armed", async () => {
    const plain = await runKernel(device, code, input);
    const { buffers, report } = await runKernel(device, guarded, input);
    expect(buffers).toEqual(plain.buffers);
    expect([report[reportWords.detections], report[injectionWords.strikes]]).toEqual([0, 0]);
  });

  it.each([
    ["id.x", 0, 0],
    ["sum + a[(i + k) % 64u] * 2u", 1, 2],
    ["vec2u(tile[31u - l] + sum, sum)", 0, 0],
    ["sum / 2u % 4u", 1, 0],
    ["l + 1u", 0, 0],
  ])("catches a flip in %s of replica %i", async (text, armedReplica, armedOccurrence) => {
    const armedSite = siteOf(text).id;
    const armed = {
      ...fault,
      armedSite,
      armedReplica,
      armedOccurrence,
      armedMask: text.includes("% 4u") ? 1 : fault.armedMask,
    };
    const { report } = await runKernel(device, guarded, input, armed);
    expect(report[injectionWords.strikes]).toBe(1);
    expect(report[reportWords.detections]).toBeGreaterThan(0);
    const [site, x, y, z, local, , cause] = report.slice(reportWords.records);
    expect([x, y, z]).toEqual([1, 0, 0]);
    expect(guarded.checks.map((check) => check.id)).toContain(site);
    // A wrong word in shared workgroup memory shows where it is read; elsewhere the struck
    // invocation reports.
    expect([5, 26]).toContain(local);
    expect([recordCause.mismatch, recordCause.partnerAbsent]).toContain(cause);
  });

  it("does not count a fault armed at another invocation's occurrence that never comes", async () => {
    const armed = { ...fault, armedSite: siteOf("id.x").id, armedOccurrence: 1 };
    const { report } = await runKernel(device, guarded, input, armed);
    expect([report[reportWords.detections], report[injectionWords.strikes]]).toEqual([0, 0]);
  });
});

describe("what the protection is worth", () => {
  const armed = { ...fault, armedSite: 1, armedReplica: 0 };

  it("lets a fault through without redundancy: silent data corruption", async () => {
    const unprotected = protect(code, { redundancy: "none", injectFaults: true });
    const site = unprotected.faultSites.find(({ span }) =>
      code.slice(span.start, span.end).startsWith("vec2u(tile"),
    )!;
    const plain = await runKernel(device, code, input);
    const { buffers, report } = await runKernel(device, unprotected, input, { ...armed, armedSite: site.id });
    expect([report[reportWords.detections], report[injectionWords.strikes]]).toEqual([0, 1]);
    expect(buffers[1]).not.toEqual(plain.buffers[1]);
  });

  it.each([
    ["store", "subgroup", "adjacent", "all(value == their_value)", "true"],
    ["store", "workgroup", "adjacent", "value.x), value.y)", "0u), 0u)"],
    [
      "signature",
      "subgroup",
      "adjacent",
      "subgroupShuffleXor(belay_signature + belay_tally, 1u) != belay_signature - belay_tally",
      "false",
    ],
    ["signature", "workgroup", "adjacent", "atomicLoad(&belay_finals[belay_local]) != 0u", "false"],
    ["signature", "subgroup", "passes", "theirs != belay_signature - belay_tally", "false"],
    ["signature", "workgroup", "passes", "theirs != belay_signature - belay_tally", "false"],
  ] as const)(
    "misses the fault when the comparison is broken: %s, %s, %s",
    async (check, channel, pairing, comparison, broken) => {
      const guarded = protect(code, { check, channel, pairing, features: ["subgroups"], injectFaults: true });
      const site = guarded.faultSites.find(({ span }) =>
        code.slice(span.start, span.end).startsWith("vec2u(tile"),
      )!;
      expect(guarded.code).toContain(comparison);
      const blind = { ...guarded, code: guarded.code.replaceAll(comparison, broken) };
      const { report } = await runKernel(device, blind, input, { ...armed, armedSite: site.id });
      expect([report[reportWords.detections], report[injectionWords.strikes]]).toEqual([0, 1]);
    },
  );
});
