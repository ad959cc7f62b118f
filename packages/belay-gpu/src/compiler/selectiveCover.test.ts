import { twoTexts } from "belay-gpu/diversity";
import { describe, expect, it } from "vitest";
import { encodeDispatch } from "../../../../test/support/devices/encodeDispatch.ts";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import { codeOf } from "../diagnostics/registry.ts";
import { resolvePolicy } from "../runtime/context/policy.ts";
import { harden } from "../runtime/harden.ts";
import type { HardenedDevice } from "../runtime/hardenedDevice.ts";
import type { CompilerOptions, KernelFaults, SelectiveCover, ValueFaults } from "./contract.ts";
import { protect } from "./protect.ts";
import { chosenValues, digestOf } from "./selectiveCover.ts";

const value = (start: number, silent: number, executions = 1): ValueFaults => ({
  span: { start, end: start + 1 },
  executions,
  injected: 100,
  silent,
});
const faultsOf = (source: string, values: readonly ValueFaults[]): KernelFaults[] => [
  { source, entryPoint: "main", values },
];
const startsOf = (cover: SelectiveCover) => chosenValues("text", "main", cover)?.map(({ start }) => start);

describe("the choice of values", () => {
  const faults = faultsOf("text", [
    value(0, 50, 100),
    value(1, 30, 1),
    value(2, 19, 10),
    value(3, 1),
    value(4, 0),
  ]);

  it.each([
    [0.3, [1]],
    [0.31, [1, 2]],
    [0.5, [1, 2, 3]],
    [0.99, [1, 2, 3, 0]],
    [1, [1, 2, 3, 0]],
  ])("takes the values that corrupt most for each execution, up to %d of all", (sdc, starts) => {
    expect(startsOf({ sdc, faults })).toEqual(starts);
  });

  it("knows a source by its text or its digest, and no other", () => {
    const own = faults[0]!;
    expect(startsOf({ sdc: 0.3, faults: [{ ...own, source: digestOf("text") }] })).toEqual([1]);
    expect(startsOf({ sdc: 0.3, faults: [{ ...own, source: "other" }] })).toBeUndefined();
    expect(startsOf({ sdc: 0.3, faults: [{ ...own, entryPoint: "other" }] })).toBeUndefined();
  });

  it("adds up the faults of several campaigns, and of several values in one place", () => {
    const [first, ...others] = faults[0]!.values;
    const parts = [
      ...faultsOf("text", [first!]),
      ...faultsOf(digestOf("text"), others),
      ...faultsOf("text", [value(3, 60), value(3, 60)]),
    ];
    expect(startsOf({ sdc: 0.3, faults: parts })).toEqual([3]);
    expect(startsOf({ sdc: 0.6, faults: parts })).toEqual([3, 1]);
  });

  it("is empty if no fault was silent, and unknown if no value was struck", () => {
    expect(startsOf({ sdc: 1, faults: faultsOf("text", [value(0, 0)]) })).toEqual([]);
    expect(startsOf({ sdc: 1, faults: faultsOf("text", []) })).toBeUndefined();
    expect(startsOf({ sdc: 1, faults: faultsOf("text", [{ ...value(0, 0), injected: 0 }]) })).toBeUndefined();
  });
});

const source = `
struct Shape { n: u32 }
@group(0) @binding(0) var<uniform> shape: Shape;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
var<workgroup> tile: array<f32, 8>;

fn squared(a: f32) -> f32 { return a * a + 1.0; }

@compute @workgroup_size(8)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) local: u32) {
  var pair = vec2f(0.0, 1.0);
  var counts: array<u32, 2>;
  for (var i = 0u; i < shape.n; i++) {
    let a = x[id.x + i] * 2.0;
    if (a < 6.0) { counts[i % 2u] += 1u; continue; }
    pair.x += squared(a);
    pair.y *= 1.5;
  }
  tile[local] = pair.x + pair.y;
  workgroupBarrier();
  var sum = f32(counts[0] * 3u + counts[1]);
  var k = 0u;
  while (k < 8u) {
    sum += tile[k] * f32(k + 1u);
    k++;
  }
  y[id.x] = sum;
}`;

const { sharedDevice } = testDevices();

/** Returns a function that runs the kernel on a device. */
function runnerOn(device: GPUDevice): () => Promise<readonly number[]> {
  const { STORAGE, UNIFORM, COPY_DST, COPY_SRC, MAP_READ } = GPUBufferUsage;
  const shape = device.createBuffer({ size: 4, usage: UNIFORM | COPY_DST });
  const x = device.createBuffer({ size: 4 * 24, usage: STORAGE | COPY_DST });
  const y = device.createBuffer({ size: 4 * 16, usage: STORAGE | COPY_SRC });
  const staging = device.createBuffer({ size: y.size, usage: MAP_READ | COPY_DST });
  device.queue.writeBuffer(shape, 0, Uint32Array.of(5));
  device.queue.writeBuffer(
    x,
    0,
    Float32Array.from({ length: 24 }, (_, i) => 1 + (i % 5)),
  );
  const module = device.createShaderModule({ code: source });
  const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
  const entries = [shape, x, y].map((buffer, binding) => ({ binding, resource: { buffer } }));
  const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
  return async () => {
    const encoder = device.createCommandEncoder();
    encodeDispatch(encoder, pipeline, group, 2);
    encoder.copyBufferToBuffer(y, 0, staging, 0, y.size);
    device.queue.submit([encoder.finish()]);
    await staging.mapAsync(GPUMapMode.READ);
    const results = [...new Float32Array(staging.getMappedRange())];
    staging.unmap();
    return results;
  };
}

/** Returns the values and indices that faults can strike. */
function valuesOf({ belay }: HardenedDevice) {
  const [kernel] = belay.faultSites();
  return kernel!.sites.filter(({ kind }) => kind === "value" || kind === "address");
}

/** Strikes each value in one invocation. Returns the places where wrong results were released. */
async function silentIn(device: HardenedDevice, run: () => Promise<readonly number[]>): Promise<Set<number>> {
  const expected = await run();
  const silent = new Set<number>();
  for (const { id, span, kind } of valuesOf(device)) {
    const effect = { xor: kind === "address" ? 1 : 1 << 22 };
    const where = { workgroup: [0, 0, 0], localIndex: 3, replica: 0, fuel: 10_000 } as const;
    device.belay.arm({ kernel: "main", site: id, effect, ...where });
    const results = await run();
    if (results.some((each, i) => each !== expected[i])) silent.add(span.start);
  }
  return silent;
}

describe("selective protection", () => {
  it("computes the results of the kernel, and finds the faults in chosen values only", async () => {
    const native = await sharedDevice();
    const plain = harden(native, { redundancy: "none", injectFaults: true });
    const runPlain = runnerOn(plain);
    const expected = await runPlain();
    const corrupting = await silentIn(plain, runPlain);
    expect(corrupting.size).toBeGreaterThan(5);
    const all = valuesOf(plain).map(({ span }) => ({ span, executions: 1, injected: 1, silent: 1 }));

    const covered = harden(native, { cover: { sdc: 1, faults: faultsOf(source, all) }, injectFaults: true });
    const run = runnerOn(covered);
    expect(await run()).toEqual(expected);
    expect(await silentIn(covered, run)).toEqual(new Set());
    const { kernels, recoveries } = await covered.belay.report();
    expect(kernels.map(({ redundancy }) => redundancy)).toEqual(["selective"]);
    expect(recoveries).toBeGreaterThanOrEqual(corrupting.size);

    // Without the value of `sum += …`, faults there are silent as before.
    const left = source.indexOf("tile[k] *");
    const others = all.map((each) => ({ ...each, silent: each.span.start >= left ? 0 : 1 }));
    const partial = harden(native, {
      cover: { sdc: 1, faults: faultsOf(source, others) },
      injectFaults: true,
    });
    const silent = await silentIn(partial, runnerOn(partial));
    expect(silent.size).toBeGreaterThan(0);
    expect([...silent].every((start) => corrupting.has(start) && start >= left)).toBe(true);
  });

  it("raises no alarm without a fault", async () => {
    const all = [{ span: { start: 0, end: 0 }, executions: 1, injected: 1, silent: 1 }];
    const spans = [...source.matchAll(/[\w.]+\[[^\]]*\]|\w+ [*+] \w+/g)].map(({ index, 0: text }) => ({
      ...all[0]!,
      span: { start: index, end: index + text.length },
    }));
    const device = harden(await sharedDevice(), { cover: { sdc: 1, faults: faultsOf(source, spans) } });
    const run = runnerOn(device);
    const first = await run();
    for (let i = 0; i < 5; i++) expect(await run()).toEqual(first);
    expect((await device.belay.report()).kernels[0]).toMatchObject({
      redundancy: "selective",
      detections: 0,
    });
  });

  it("protects kernels as a whole that no campaign has struck", () => {
    const { entryPoints } = protect(source, { redundancy: "auto", cover: { sdc: 0.99, faults: [] } });
    expect(entryPoints[0]!.redundancy).not.toBe("selective");
    expect(entryPoints[0]!.redundancy).not.toBe("none");
  });

  it("protects dispatches as a whole that the device may skip", () => {
    const cover = { sdc: 1, faults: faultsOf(source, [value(source.indexOf("squared(a)"), 1)]) };
    const redundancyOf = (skippable: boolean) =>
      protect(source, { redundancy: "auto", cover, skippable }).entryPoints[0]!.redundancy;
    expect(redundancyOf(false)).toBe("selective");
    expect(["selective", "none"]).not.toContain(redundancyOf(true));
  });

  it("leaves a kernel alone in which no fault was silent, and says so", async () => {
    const cover = { sdc: 1, faults: faultsOf(source, [value(source.indexOf("squared(a)"), 0)]) };
    const { code, entryPoints, diagnostics } = protect(source, { redundancy: "auto", cover });
    expect([code, entryPoints[0]!.redundancy]).toEqual([source, "none"]);
    expect(diagnostics).toMatchObject([
      { code: codeOf("no-silent-faults"), severity: "warning", entryPoints: ["main"] },
    ]);
    expect(diagnostics[0]!.message).toContain("none of 100 faults");
    const strict = protect(source, { redundancy: "auto", cover, strict: true });
    expect(strict).toMatchObject({ code: source, diagnostics: [{ severity: "error" }] });

    const native = await sharedDevice();
    const device = harden(native, { cover, injectFaults: true });
    let unprotected: unknown;
    device.belay.addEventListener("unprotected", (event) => {
      unprotected = event.detail;
      event.preventDefault();
    });
    const expected = await runnerOn(harden(native, { redundancy: "none" }))();
    const run = runnerOn(device);
    expect(await run()).toEqual(expected);
    expect(unprotected).toMatchObject({ kernel: "main", redundancy: "none" });
    expect((await device.belay.report()).kernels).toMatchObject([
      { redundancy: "none", diagnostics: [{ code: codeOf("no-silent-faults"), line: 11 }] },
    ]);
    // Campaigns can strike the kernel, and see that nothing protects it.
    expect((await silentIn(device, run)).size).toBeGreaterThan(5);
  });

  it("treats each kernel of a module by its own faults", () => {
    const two = source.replace("fn main", "fn other") + source.slice(source.indexOf("@compute"));
    const place = two.lastIndexOf("squared(a)");
    const cover = {
      sdc: 1,
      faults: [
        { source: two, entryPoint: "main", values: [value(place, 1)] },
        { source: two, entryPoint: "other", values: [value(two.indexOf("squared(a)"), 0)] },
      ],
    };
    const redundancies = (options: CompilerOptions) =>
      protect(two, { redundancy: "auto", cover, ...options }).entryPoints.map((each) => each.redundancy);
    expect(redundancies({})).toEqual(["none", "selective"]);
    expect(redundancies({ entryPoint: "main" })).toEqual(["none", "selective"]);
    expect(redundancies({ entryPoint: "other" })).toEqual(["none", "none"]);
  });

  it("keeps the check words of a kernel in which no fault was silent", () => {
    const cover = { sdc: 1, faults: faultsOf(source, [value(0, 0)]) };
    const { entryPoints } = protect(source, { redundancy: "auto", cover, memory: "secded128" });
    expect(entryPoints[0]).toMatchObject({ redundancy: "none", usesReport: true, memory: { checks: {} } });
  });

  const put = `
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
var<workgroup> tile: array<f32, 8>;
fn half(a: f32) -> f32 { return a * 0.5; }
fn quarter(a: f32) -> f32 { return half(half(a)); }
fn put(i: u32, a: f32) { y[i] = a; }
@compute @workgroup_size(8)
fn main(@builtin(local_invocation_index) lane: u32) {
  let a = x[lane];
  tile[lane] = quarter(a);
  if (a < 3.0) { put(lane, a + 1.0); }
}`;
  const protectPut = (...pieces: readonly string[]) => {
    const values = pieces.map((piece) => {
      const start = put.indexOf(piece);
      return { ...value(0, 1), span: { start, end: start + piece.length } };
    });
    return protect(put, { redundancy: "auto", cover: { sdc: 1, faults: faultsOf(put, values) } });
  };

  it.each([
    ["an index", "lane] =", "lane", "_ = belay_same_u32(lane, belay_lane_second_"],
    ["a condition", "a < 3.0", "a < 3.0", "if (belay_same_bool("],
    ["a value in a function that another one calls", "a * 0.5", "a * 0.5", "_ = belay_same_f32("],
  ])("finds faults in %s", (_, at, piece, expected) => {
    const start = put.indexOf(at);
    const chosen = { ...value(0, 1), span: { start, end: start + piece.length } };
    const { code, entryPoints, diagnostics } = protect(put, {
      redundancy: "auto",
      cover: { sdc: 1, faults: faultsOf(put, [chosen]) },
    });
    expect(diagnostics).toEqual([]);
    expect(entryPoints[0]!.redundancy).toBe("selective");
    expect(code).toContain(expected);
  });

  it("says how many chosen values are computed once", () => {
    const { entryPoints, diagnostics } = protectPut("x[lane]", "a + 1.0");
    expect(entryPoints[0]!.redundancy).toBe("selective");
    expect(diagnostics).toMatchObject([{ code: codeOf("partial-coverage"), entryPoints: ["main"] }]);
    expect(diagnostics[0]!.message).toContain('"main" computes 1 of its 2 chosen values once');
  });

  it("protects a kernel as a whole if no chosen value can be computed twice", () => {
    for (const pieces of [["a + 1.0"], ["@group(0)"]]) {
      const { entryPoints } = protectPut(...pieces);
      expect(["selective", "none"]).not.toContain(entryPoints[0]!.redundancy);
    }
  });

  it("protects kernels as a whole whose replicas are to have two texts", () => {
    const cover = { sdc: 1, faults: faultsOf(source, [value(source.indexOf("squared(a)"), 1)]) };
    const { entryPoints } = protect(source, { redundancy: "auto", cover, diversity: twoTexts });
    expect(["selective", "none"]).not.toContain(entryPoints[0]!.redundancy);
  });

  const kernel = faultsOf("text", [value(0, 1)])[0]!;
  const withValue = (changed: object) => ({
    sdc: 0.5,
    faults: [{ ...kernel, values: [value(0, 1), { ...value(1, 1), ...changed }] }],
  });
  it.each<[cover: unknown, message: string]>([
    ["ALU", 'cannot be "ALU"'],
    [{ sdc: 2, faults: [] }, "the option sdc of cover cannot be 2"],
    [{ sdc: Number.NaN, faults: [] }, "the option sdc of cover cannot be"],
    [{ sdc: 0.5 }, "the option faults of cover cannot be undefined"],
    [{ sdc: 0.5, faults: { version: 2 } }, 'the option faults of cover cannot be {"version":2}'],
    [{ sdc: 0.5, faults: [null] }, "the options of cover.faults[0] are no object"],
    [{ sdc: 0.5, faults: [kernel, { ...kernel, entryPoint: 1 }] }, "entryPoint of cover.faults[1]"],
    [{ sdc: 0.5, faults: [{ ...kernel, version: 2 }] }, "there is no option version of cover.faults[0]"],
    [{ sdc: 0.5, faults: [{ ...kernel, values: [null] }] }, "of cover.faults[0].values[0] are no object"],
    [withValue({ silent: -1 }), "the option silent of cover.faults[0].values[1] cannot be -1"],
    [withValue({ silent: Number.NaN }), "the option silent of cover.faults[0].values[1]"],
    [withValue({ silent: "1" }), "the option silent of cover.faults[0].values[1]"],
    [withValue({ silent: 101 }), "cover.faults[0].values[1] has 101 silent faults, and 100 were injected"],
    [withValue({ executions: 0.5 }), "the option executions of cover.faults[0].values[1]"],
    [withValue({ span: undefined }), "the option span of cover.faults[0].values[1]"],
    [withValue({ span: { start: 3, end: 2 } }), "cover.faults[0].values[1].span ends before it starts"],
    [withValue({ site: 3 }), "there is no option site of cover.faults[0].values[1]"],
  ])("refuses a wrong cover (%#)", (cover, message) => {
    for (const refused of [
      () => protect(source, { redundancy: "auto", cover: cover as never }),
      () => resolvePolicy({ cover: cover as never }),
      () => resolvePolicy({ kernels: { main: { cover: cover as never } } }),
    ]) {
      expect(refused).toThrow(TypeError);
      expect(refused).toThrow(message);
    }
  });
});
