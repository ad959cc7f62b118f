import { beforeAll, describe, expect, it } from "vitest";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import {
  type Armed,
  type Host,
  hasWaitedTooLong,
  type KernelInput,
  type KernelOutput,
  runKernel,
  runTwins,
} from "../../../../test/support/kernels/kernelRunner.ts";
import {
  type CompilerOptions,
  type CompilerResult,
  injectionWords,
  recordCause,
  reportWords,
} from "./contract.ts";
import { protect } from "./protect.ts";

const { newDevice } = testDevices({ full: true });
let device: GPUDevice;
beforeAll(async () => {
  device = await newDevice();
});

const code = `
  @group(0) @binding(0) var<storage, read> a: array<u32>;
  @group(0) @binding(1) var<storage, read_write> out: array<vec2u>;
  @group(0) @binding(2) var<storage, read_write> bins: array<atomic<u32>, 4>;
  @group(0) @binding(3) var<storage, read_write> sums: array<u32>;
  var<workgroup> tile: array<u32, 8>;
  @compute @workgroup_size(8)
  fn main(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) l: u32) {
    let i = id.x;
    var sum = 0u;
    for (var k = 0u; k < 3u; k++) { sum = sum + a[(i + k) % 16u] * 2u; }
    tile[l] = sum;
    workgroupBarrier();
    if (tile[7u - l] % 2u == 0u) { out[i] = vec2u(tile[7u - l] + sum, sum); }
    sums[i] = sums[i] + sum;
    sums[i] ^= sums[i] >> 3u;
    let bin = sum / 2u % 4u;
    atomicAdd(&bins[bin], 1u);
  }`;
const input: KernelInput = {
  buffers: {
    0: Uint32Array.from({ length: 16 }, (_, i) => i * 7 + 1),
    1: new Uint32Array(32),
    2: new Uint32Array(4),
    3: Uint32Array.from({ length: 16 }, (_, i) => i * 5),
  },
  workgroups: [2, 1, 1],
};
const guard = (options: CompilerOptions, wgsl = code) => protect(wgsl, { redundancy: "inter", ...options });
/** The kernel with a piece of its protected code changed. */
function change(guarded: CompilerResult, text: string | RegExp, replacement: string): CompilerResult {
  const changed = guarded.code.replaceAll(text, replacement);
  expect(changed).not.toBe(guarded.code);
  return { ...guarded, code: changed };
}

const run = (kernel: CompilerResult, armed: Armed = {}, host: Host = {}) =>
  runTwins(device, kernel, input, armed, host);
const imbalance = ({ cells }: KernelOutput) => [
  ...new Set([...cells.entries()].flatMap(([cell, sum]) => (sum === 0 ? [] : [cell >> 5]))),
];
const detections = ({ report }: KernelOutput) => report[reportWords.detections]!;
function records({ report }: KernelOutput) {
  const count = Math.min(report[reportWords.detections]!, reportWords.recordCapacity);
  return Array.from({ length: count }, (_, i) => {
    const start = reportWords.records + i * reportWords.recordStride;
    const [site, x, y, z, local, replica, cause, , value] = report.subarray(start);
    return { site, workgroup: [x, y, z], local, replica, cause, value };
  });
}

/** A struck value, its replica, and the execution of it that is struck. */
const strikes: [string, number, number][] = [
  ["id.x", 0, 0],
  ["sum + a[(i + k) % 16u] * 2u", 1, 2],
  ["vec2u(tile[7u - l] + sum, sum)", 1, 0],
  ["sums[i] + sum", 0, 0],
  ["sum / 2u % 4u", 1, 0],
];
function arm(guarded: CompilerResult, text: string, armedReplica: number, armedOccurrence: number): Armed {
  const site = guarded.faultSites.find(({ span }) => code.slice(span.start, span.end).startsWith(text));
  expect(site, text).toBeDefined();
  return {
    armedSite: site!.id,
    armedReplica,
    armedOccurrence,
    armedWorkgroupX: 1,
    armedLocalIndex: 5,
    armedMask: text.includes("% 4u") ? 1 : 1 << 20,
  };
}

describe.each([{ features: ["subgroups"] }, {}])("signatures, $features", (options) => {
  const guarded = guard({ check: "signature", injectFaults: true, ...options });

  it("are in balance with nothing armed", async () => {
    const output = await run(guarded);
    expect([imbalance(output), detections(output), output.report[injectionWords.strikes]]).toEqual([
      [],
      0,
      0,
    ]);
  });

  it.each(strikes)("show a flip in %s of replica %i in the workgroup's cell", async (...strike) => {
    const output = await run(guarded, arm(guarded, ...strike));
    expect(output.report[injectionWords.strikes]).toBe(1);
    expect(imbalance(output)).toEqual([1]);
  });

  it("miss it when they are not compared", async () => {
    const blind = change(guarded, "select(0u - hash, hash,", "select(0u, 0u,");
    const output = await run(blind, arm(guarded, ...strikes[0]!));
    expect([imbalance(output), output.report[injectionWords.strikes]]).toEqual([[], 1]);
  });

  it("show two faults that would cancel, were it not for the mixing", async () => {
    // Replica 1 ends with two signatures wrong by the same difference, in opposite directions.
    const wrong =
      "if (belay_replica == 1u && belay_pair == 1u) { belay_signature += select(0u, 9u, belay_local == 2u) - select(0u, 9u, belay_local == 3u); }";
    const together = change(guarded, "+ belay_local % 32u", "");
    const twice = change(together, "fn belay_balance() {", `fn belay_balance() { ${wrong}`);
    expect(imbalance(await run(twice))).toEqual([1]);
    const unmixed = change(
      twice,
      /var hash = [^;]*;[^}]*?let share/g,
      "let hash = belay_signature; let share",
    );
    expect(imbalance(await run(unmixed))).toEqual([]);
  });

  it("show a store that one replica skips", async () => {
    const skipping = change(
      guarded,
      /(belay_signature = [^;]*;)(\s*belay_weight [^;]*;\s*belay_tally [^;]*;\s*if \(belay_replica == 0u\) \{\s*out)/g,
      "if (belay_replica == 0u || belay_pair == 0u) { $1 } $2",
    );
    expect(imbalance(await run(skipping))).toEqual([1]);
  });

  it("show a replica that never runs", async () => {
    expect(imbalance(await run(guarded, {}, { missing: [1] }))).toHaveLength(1);
  });

  it("show a load that passes the second replica's copy by", async () => {
    const passing = change(guarded, /return belay_shadow_sums\[/g, "return sums[");
    const output = await run(passing);
    expect(imbalance(output).length).toBeGreaterThan(0);
  });
});

describe("stores", () => {
  const guarded = guard({ check: "store", injectFaults: true });

  it("agree with nothing armed", async () => {
    const output = await run(guarded);
    expect([detections(output), output.report[injectionWords.strikes]]).toEqual([0, 0]);
  });

  it.each(strikes)("are compared: a flip in %s of replica %i is caught", async (...strike) => {
    const output = await run(guarded, arm(guarded, ...strike));
    expect(output.report[injectionWords.strikes]).toBe(1);
    const found = records(output);
    expect(found.length).toBeGreaterThan(0);
    for (const { workgroup, cause, site } of found) {
      expect(workgroup).toEqual([1, 0, 0]);
      expect([recordCause.mismatch, recordCause.partnerAbsent]).toContain(cause);
      expect(guarded.checks.map(({ id }) => id)).toContain(site);
    }
  });

  it("are recorded by both replicas, each with its value", async () => {
    const output = await run(guarded, arm(guarded, "sums[i] + sum", 0, 0));
    const both = records(output).filter(({ cause }) => cause === recordCause.mismatch);
    expect(both.map(({ replica, local }) => [replica, local]).sort()).toEqual([
      [0, 5],
      [1, 5],
    ]);
    expect(both[0]!.value! ^ both[1]!.value!).toBe(1 << 20);
  });

  it("miss it when they are not compared", async () => {
    const blind = change(guarded, "theirs == word", "true");
    const output = await run(blind, arm(guarded, ...strikes[2]!));
    expect([detections(output), output.report[injectionWords.strikes]]).toEqual([0, 1]);
  });

  it("show one that a replica skips: its twin sees that it has left", async () => {
    const skipping = change(
      guarded,
      /if \((belay_agree2at\([^{]*)\) \{/g,
      "if (belay_replica + belay_pair == 2u || $1) {",
    );
    const output = await run(skipping);
    const found = records(output);
    expect(found.length).toBeGreaterThan(0);
    expect(new Set(found.map(({ workgroup }) => workgroup[0]))).toEqual(new Set([1]));
    expect(found.every(({ cause }) => cause !== recordCause.waitedTooLong)).toBe(true);
  });
});

describe("a twin that never runs", () => {
  const host: Host = { missing: [1], patience: 2 ** 10 };
  const waits = guard({ check: "store" });
  const shares = guard(
    {},
    code.replace("atomicAdd(&bins[bin], 1u)", "out[i].x += atomicAdd(&bins[bin], 1u)"),
  );

  it.each([
    ["a store", waits],
    ["the result of an atomic operation", shares],
  ])("is waited for at %s no longer than asked, and that is said", async (_, kernel) => {
    expect(kernel.entryPoints[0]!.interGroup!.blocking).toBe(true);
    const output = await runKernel(device, kernel, input, {}, host);
    expect(hasWaitedTooLong(output)).toBe(true);
    expect(records(output).map(({ cause }) => cause)).not.toContain(recordCause.mismatch);
    // No invocation waits twice.
    expect(detections(output)).toBeLessThanOrEqual(8 * 3);
  });

  it("is not taken for the one of an earlier dispatch, whose mail still lies there", async () => {
    const single = guard({ check: "store" }, `${code.slice(0, code.indexOf("var sum"))} sums[i] = i; }`);
    const one: KernelInput = { buffers: { 3: new Uint32Array(8) }, workgroups: [1, 1, 1] };
    const secondIsAlone = (kernel: CompilerResult, patience = 2 ** 20) =>
      runKernel(device, kernel, one, {}, { missing: [0, 1], patience });
    expect(hasWaitedTooLong(await secondIsAlone(single, 2 ** 16))).toBe(true);
    const timeless = change(single, "(epoch + 1u)", "epoch");
    let isFooled = false;
    for (let attempt = 0; attempt < 20 && !isFooled; attempt++)
      isFooled = detections(await secondIsAlone(timeless)) === 0;
    expect(isFooled).toBe(true);
  });
});

it("waits no more once a wait has run out, until the host has seen it", async () => {
  const single: KernelInput = { ...input, workgroups: [1, 1, 1] };
  const waits = async (kernel: CompilerResult, ...missing: number[]) =>
    detections(await runKernel(device, kernel, single, {}, { missing, patience: 2 ** 10 }));
  const guarded = guard({ check: "store" });
  const once = await waits(guarded, 1);
  expect(once).toBeGreaterThan(0);
  expect(await waits(guarded, 1, 1)).toBe(once);
  const stubborn = change(guarded, "atomicLoad(&belay_report.has_run_out)", "0u");
  expect(await waits(stubborn, 1, 1)).toBe(2 * once);
});

it("waits until the pair before has left its place", async () => {
  const guarded = guard({ check: "store" });
  const onePlace = change(guarded, /let places = [^;]*;/g, "let places = 1u;");
  expect(detections(await run(onePlace))).toBe(0);
  const neverLeft = change(onePlace, "atomicStore(place, ~belay_stamp);", "");
  const output = await runKernel(device, neverLeft, input, {}, { patience: 2 ** 10 });
  expect(hasWaitedTooLong(output)).toBe(true);
});

it("leaves its place in its turn, also where it has stored nothing", async () => {
  const silent = `
    @group(0) @binding(3) var<storage, read_write> sums: array<u32>;
    @compute @workgroup_size(8) fn main(@builtin(workgroup_id) w: vec3u, @builtin(global_invocation_id) id: vec3u) {
      if (w.x != 1u) { sums[id.x] = id.x; }
    }`;
  const three: KernelInput = { buffers: { 3: new Uint32Array(24) }, workgroups: [3, 1, 1] };
  const onePlace = change(guard({ check: "store" }, silent), /let places = [^;]*;/g, "let places = 1u;");
  // A twin of the first pair stays until one of the second, which is silent, wants to leave before
  // it.
  const slow = change(
    onePlace,
    "fn belay_leave_place() {",
    `$& for (var i = 0u; belay_pair == 0u && belay_replica == 1u && i < 65536u; i++) {
      let mark = atomicLoad(&belay_report.places[0]);
      if (mark != belay_stamp && mark != ~belay_stamp_before && mark != 0u) { break; }
    }`,
  );
  expect(detections(await runTwins(device, slow, three))).toBe(0);
  const hasty = change(slow, "!(belay_place_is_free | has_given_up)", "false");
  let isStuck = false;
  for (let attempt = 0; attempt < 20 && !isStuck; attempt++)
    isStuck = hasWaitedTooLong(await runKernel(device, hasty, three, {}, { patience: 2 ** 12 }));
  expect(isStuck).toBe(true);
});

it("does not wait where nothing needs it", () => {
  const { entryPoints } = guard({ check: "signature" });
  expect(entryPoints[0]!.interGroup).toMatchObject({ blocking: false });
  expect(guard({ check: "signature" }).code).not.toContain("mail");
});

describe("the words of a matrix among vectors of three", () => {
  // The software adapter has no subgroup matrices, so lanes put the numbers where the matrix goes.
  const matrix = "subgroup_matrix_result<f32, 8, 8>";
  const wgsl = `enable chromium_experimental_subgroup_matrix;
    @group(0) @binding(0) var<storage, read_write> c: array<vec3f>;
    @compute @workgroup_size(8) fn main() { subgroupMatrixStore<row_major>(&c, 5, ${matrix}(), 3); }`;
  const fill = (number: string) =>
    [
      [/enable chromium[^;]*;|diagnostic[^;]*;|let \w+ = subgroup_matrix[^;]*;/g, ""],
      [
        /subgroupMatrixStore[^;]*;/g,
        `for (var k = 0u; k < 64u; k++) { belay_staged_u32.numbers[k] = ${number}; }`,
      ],
    ] as const;
  const filled = (number: string) =>
    fill(number).reduce(
      (kernel, [text, replacement]) => change(kernel, text, replacement),
      guard({ check: "store", features: ["subgroups"] }, wgsl),
    );
  const words = { buffers: { 0: new Uint32Array(28 * 4) }, workgroups: [1, 1, 1] } as const;
  // Word 3 of a run is the padding of its first vector.
  const wrong = "1000u + k + select(0u, 1u, belay_replica == 1u && k == 19u)";

  it("lie where the matrix has them, padding included", async () => {
    const output = await runTwins(device, filled("1000u + k"), words);
    const expected = new Uint32Array(28 * 4);
    for (let row = 0; row < 8; row++)
      for (let column = 0; column < 8; column++)
        expected[((5 + 3 * row) * 16 + 4 * column) / 4] = 1000 + 8 * row + column;
    expect([detections(output), output.buffers[0]]).toEqual([0, expected]);
  });

  it("are compared in the padding too, and missed if they are not", async () => {
    const struck = filled(wrong);
    const found = records(await runTwins(device, struck, words));
    expect(found.map(({ cause }) => cause)).toContain(recordCause.mismatch);
    const blind = change(struck, "theirs == word", "true");
    expect(detections(await runTwins(device, blind, words))).toBe(0);
  });
});
