/**
 * Kernels whose replicas are whole workgroups. Their grids are doubled, and the program does not
 * see that.
 */
import { describe, expect, it } from "vitest";
import { encodeDispatch } from "../../../../test/support/devices/encodeDispatch.ts";
import { download, upload } from "../../../../test/support/devices/storageBuffers.ts";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import { sample } from "../../../../test/support/sample.ts";
import { type Protect, recordCause } from "../compiler/contract.ts";
import { protect } from "../compiler/protect.ts";
import { describeFault } from "./context/detectedFault.ts";
import type { Policy } from "./context/policy.ts";
import { UnverifiedError } from "./context/unverified.ts";
import { type HardenedDevice, hardenWith } from "./hardenedDevice.ts";
import { proxyOf } from "./webgpu/nativeObjects.ts";

const { sharedDevice } = testDevices({ features: ["subgroups"] });

const CODE = `
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(2) fn number(
  @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_index) i: u32
) {
  let at = group.x + groups.x * (group.y + groups.y * group.z);
  out[2 * at + i] = 1000000 * groups.z + 10000 * groups.y + 100 * groups.x + at;
}`;
type Grid = readonly [number, number, number];

/** Creates a hardened device; `limit` is the most workgroups per dimension. */
async function hardened(policy: Policy = {}, { limit = 65535, compiler = protect as Protect } = {}) {
  const native = await sharedDevice();
  const limits = proxyOf(native.limits, { maxComputeWorkgroupsPerDimension: limit });
  const device = hardenWith(compiler, proxyOf(native, { limits }), { redundancy: "inter", ...policy });
  return { device, done: () => native.destroy() };
}

async function number(device: GPUDevice, grid: Grid, code = CODE): Promise<number[]> {
  const out = upload(device, new Array(256).fill(0));
  const module = device.createShaderModule({ code });
  const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
  const entries = [{ binding: 0, resource: { buffer: out } }];
  const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
  const encoder = device.createCommandEncoder();
  encodeDispatch(encoder, pipeline, group, ...grid);
  device.queue.submit([encoder.finish()]);
  return download(device, out);
}

/** Flips a bit of the value that an invocation stores. */
function arm(
  device: HardenedDevice,
  replica: 0 | 1,
  { permanent = false, workgroup = [2, 1, 0] as Grid } = {},
): void {
  const [{ kernel, sites } = { kernel: "", sites: [] }] = device.belay.faultSites();
  const site = sites.find(
    ({ kind, span }) => kind === "value" && CODE.startsWith("1000000 * groups.z +", span.start),
  )!;
  const where = { workgroup, localIndex: 1 };
  device.belay.arm({ kernel, site: site.id, replica, effect: { xor: 1 << 20 }, permanent, ...where });
}

describe("a grid", () => {
  const grids: readonly Grid[] = [
    [4, 3, 2],
    [8, 3, 2],
    [8, 8, 2],
    [5, 7, 1],
    [3, 0, 1],
  ];
  it.each(grids)("of %i by %i by %i workgroups is doubled in a dimension with room", async (...grid) => {
    const plain = await sharedDevice();
    const { device, done } = await hardened({}, { limit: 8 });
    expect(await number(device, grid)).toEqual(await number(plain, grid));
    expect(await device.belay.report()).toMatchObject({
      faults: [],
      kernels: [{ redundancy: "inter", dispatches: 1, detections: 0, diagnostics: [] }],
    });
    plain.destroy();
    done();
  });

  it("without room is rejected", async () => {
    const { device, done } = await hardened({}, { limit: 8 });
    await expect(number(device, [8, 7, 5])).rejects.toThrow(
      'kernel "number" cannot be doubled on a grid of 8 by 7 by 5 workgroups: the device allows 8 in each dimension',
    );
    done();
  });
});

describe("a kernel that changes a buffer in place", () => {
  const STEP = `
    @group(0) @binding(0) var<storage, read_write> data: array<u32>;
    @compute @workgroup_size(2) fn step(@builtin(global_invocation_id) id: vec3u) { data[id.x] = data[id.x] * 3 + id.x; }`;
  const grid = [4, 1, 1];

  /** Runs two steps on eight words. Either the host or the device knows the grid. */
  async function steps(device: GPUDevice, isIndirect = false): Promise<number[]> {
    const data = upload(device, [5, 1, 4, 1, 3, 9, 2, 6]);
    const asked = upload(device, grid, GPUBufferUsage.INDIRECT);
    const module = device.createShaderModule({ code: STEP });
    const pipeline = await device.createComputePipelineAsync({ layout: "auto", compute: { module } });
    const entries = [{ binding: 0, resource: { buffer: data } }];
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
    for (let i = 0; i < 2; i++) {
      if (isIndirect) pass.dispatchWorkgroupsIndirect(asked, 0);
      else pass.dispatchWorkgroups(...(grid as [number, number, number]));
    }
    pass.end();
    device.queue.submit([encoder.finish()]);
    return download(device, data);
  }

  /** Flips a bit of the value that one invocation stores. */
  function arm(device: HardenedDevice, replica: 0 | 1): void {
    const [{ kernel, sites } = { kernel: "", sites: [] }] = device.belay.faultSites();
    const { id } = sites.find(
      ({ kind, span }) => kind === "value" && STEP.startsWith("data[id.x] * 3", span.start),
    )!;
    device.belay.arm({ kernel, site: id, replica, effect: { xor: 4 }, workgroup: [1, 0, 0], localIndex: 1 });
  }

  it.each([
    ["at once", 8, false],
    ["sequentially, where its grid is full", 4, false],
    ["sequentially, where the host does not know its grid", 8, true],
  ])("has its replicas run %s, without copies", async (_, limit, isIndirect) => {
    const plain = await sharedDevice();
    const { device, done } = await hardened({}, { limit });
    expect(await steps(device, isIndirect)).toEqual(await steps(plain, isIndirect));
    expect(await device.belay.report()).toMatchObject({
      faults: [],
      kernels: [{ redundancy: "inter", dispatches: 2, detections: 0 }],
      shadows: { peak: 0 },
    });
    plain.destroy();
    done();
  });

  it("recovers from a fault in either replica", async () => {
    const { device, done } = await hardened({ injectFaults: true });
    const expected = await steps(device);
    for (const replica of [0, 1] as const) {
      arm(device, replica);
      expect(await steps(device)).toEqual(expected);
      expect(await device.belay.strikes()).toBe(1);
    }
    expect(await device.belay.report()).toMatchObject({ recoveries: 2, giveUps: 0 });
    done();
  });

  it("recovers from a missed arrival, which leaves no trace", async () => {
    const { device, done } = await hardened({ injectFaults: true });
    const expected = await steps(device);
    const [{ kernel, sites } = { kernel: "", sites: [] }] = device.belay.faultSites();
    // The statement before the store is the arrival.
    const { id } = sites.find(
      ({ kind, span }) => kind === "statement" && STEP.startsWith("data[id.x] =", span.start),
    )!;
    for (const replica of [0, 1] as const) {
      const where = { workgroup: [1, 0, 0] as const, localIndex: 1 };
      device.belay.arm({ kernel, site: id, replica, effect: { xor: 1 }, ...where });
      expect(await steps(device)).toEqual(expected);
      expect(await device.belay.strikes()).toBe(1);
      for (let again = 0; again < 3; again++) expect(await steps(device)).toEqual(expected);
    }
    expect(await device.belay.report()).toMatchObject({ recoveries: 2, giveUps: 0 });
    done();
  });

  it("with its first replicas before the second ones, disagrees", async () => {
    const backwards: Protect = (wgsl, options) => {
      const result = protect(wgsl, options);
      const code = result.code.replace("belay_Twin(doubled - 4u,", "belay_Twin(5u - doubled,");
      expect(code).not.toBe(result.code);
      return { ...result, code };
    };
    const { device, done } = await hardened({ onFault: "throw" }, { compiler: backwards });
    await expect(steps(device, true)).rejects.toMatchObject({ name: "FaultError" });
    done();
  });
});

describe("a fault in one replica", () => {
  const grids: readonly Grid[] = [
    [3, 2, 1],
    [8, 2, 1],
    [8, 8, 1],
  ];
  it.each(grids)("is recovered from on a grid of %i by %i by %i", async (...grid) => {
    const { device, done } = await hardened({ injectFaults: true }, { limit: 8 });
    const expected = await number(device, grid);
    for (const replica of [0, 1] as const) {
      arm(device, replica);
      expect(await number(device, grid)).toEqual(expected);
      expect(await device.belay.strikes()).toBe(1);
    }
    const { faults, recoveries } = await device.belay.report();
    expect(faults.map(({ outcome }) => outcome)).toEqual(["recovered", "recovered"]);
    expect(recoveries).toBe(2);
    // The next check begins with cells of zero.
    await number(device, grid);
    expect((await device.belay.report()).faults).toHaveLength(2);
    done();
  });

  it("is reported with its workgroup, as far as that is known", async () => {
    const { device, done } = await hardened({ injectFaults: true, onFault: "report" });
    await number(device, [4, 2, 1]);
    arm(device, 1);
    await number(device, [4, 2, 1]);
    const { faults, kernels } = await device.belay.report();
    expect(faults).toMatchObject([{ workgroup: { index: 6 }, localIndex: null, site: { line: 3 } }]);
    expect(describeFault(faults[0]!)).toMatch(
      /^replicas of kernel "number" disagree at number, line 3, column \d+: workgroup 6 of the grid, or one .* further, computed hashes that differ by 0x[0-9a-f]{8}$/,
    );
    expect(kernels).toMatchObject([{ detections: 1 }]);
    done();
  });

  it("that comes back is refused", async () => {
    const { device, done } = await hardened({ injectFaults: true, retries: 1 });
    await number(device, [4, 2, 1]);
    arm(device, 0, { permanent: true });
    await expect(number(device, [4, 2, 1])).rejects.toMatchObject({ name: "FaultError" });
    device.belay.disarm();
    expect(await number(device, [4, 2, 1])).toEqual(await number(device, [4, 2, 1]));
    done();
  });

  it("is missed if the cells are not checked", async () => {
    const blind: Protect = (wgsl, options) => {
      const result = protect(wgsl, options);
      return { ...result, layout: result.layout && { ...result.layout, cells: 0 } };
    };
    const { device, done } = await hardened({ injectFaults: true }, { compiler: blind });
    const expected = await number(device, [4, 2, 1]);
    arm(device, 0);
    expect(await number(device, [4, 2, 1])).not.toEqual(expected);
    done();
  });
});

describe("the published protocol, which compares before each store", () => {
  it("names the invocation of a fault, and both values", async () => {
    const { device, done } = await hardened({ check: "store", injectFaults: true });
    const plain = await sharedDevice();
    const expected = await number(plain, [1, 1, 1]);
    // The software adapter may run both twins on one thread, or start one late. The twins then wait
    // in vain. If all attempts end like that, nothing is known of the fault, so only a run whose
    // twins have met counts.
    const meet = async (): Promise<void> => {
      let unverified = 0;
      const count = () => unverified++;
      device.belay.addEventListener("unverified", count);
      const numbers = await number(device, [1, 1, 1]).catch((error: unknown) => {
        if (!(error instanceof UnverifiedError)) throw error;
      });
      device.belay.removeEventListener("unverified", count);
      if (numbers) expect(numbers).toEqual(expected);
      const isTold = (await device.belay.report()).faults.length > 0;
      if (isTold || (numbers && unverified === 0)) return;
      arm(device, 1, { workgroup: [0, 0, 0] });
      await meet();
    };
    await device.createComputePipelineAsync({
      layout: "auto",
      compute: { module: device.createShaderModule({ code: CODE }) },
    });
    arm(device, 1, { workgroup: [0, 0, 0] });
    await meet();
    const { faults } = await device.belay.report();
    expect(faults.map(describeFault)).toEqual([
      expect.stringMatching(
        /line 7, column 3: workgroup \(0, 0, 0\), local index 1 computed 1010100 and \d+$/,
      ),
    ]);
    expect(faults).toMatchObject([{ outcome: "recovered" }]);
    plain.destroy();
    done();
  });
});

describe("a twin that is late", () => {
  /**
   * Makes workgroup 1 wait too long, the first `times` times. It also does so whenever the words of
   * the exchange, which make the report large, are as the previous run left them.
   */
  const waiting =
    (times: number): Protect =>
    (wgsl, options) => {
      // Only where faults can be armed does a report have the word `strikes`.
      const result = protect(wgsl, { ...options, injectFaults: true });
      const code = result.code.replace(/cells: .*,/, "$& mailbox: array<u32, 40000>,").replace(
        /belay_balance\(\);/,
        `$&
          if (belay_replica == 0u && belay_pair == 1u && belay_local == 0u) {
            if (atomicLoad(&belay_report.strikes) < ${times}u || belay_report.mailbox[39999] == 1u) {
              atomicAdd(&belay_report.strikes, 1u);
              belay_report.mailbox[39999] = 1u;
              belay_record(1u, ${recordCause.waitedTooLong}u, 0u, vec4<u32>());
            }
          }`,
      );
      const bytes = result.layout!.bytes + 4 * 40000;
      return { ...result, code, layout: { ...result.layout!, bytes } };
    };
  const error = { name: "UnverifiedError", code: "BELAY330" };

  it("is no fault, and its work is executed again", async () => {
    const { device, done } = await hardened({}, { compiler: waiting(2) });
    const seen: string[] = [];
    device.belay.addEventListener("unverified", ({ message }) => seen.push(message));
    const plain = await sharedDevice();
    expect(await number(device, [4, 2, 1])).toEqual(await number(plain, [4, 2, 1]));
    expect(seen).toEqual(
      new Array(2).fill('workgroup (1, 0, 0) of kernel "number" waited too long for its twin'),
    );
    expect(await device.belay.report()).toMatchObject({
      faults: [],
      recoveries: 0,
      replays: 2,
      kernels: [{ detections: 0, unverified: 2 }],
    });
    plain.destroy();
    done();
  });

  describe("in work that is submitted before the check of earlier work has ended", () => {
    const grid: Grid = [4, 2, 1];
    /**
     * Makes each kernel's first dispatch wait too long, and its replicas agree without a wait
     * elsewhere.
     */
    const waitsOnce: Protect = (wgsl, options) => {
      const result = protect(wgsl, { ...options, injectFaults: true });
      if (!result.code.includes("belay_receive")) return result;
      const code = result.code.replace("let theirs = belay_receive(site);", "let theirs = word;").replace(
        /belay_enter_place\(.*\);/,
        `$&
            if (belay_replica == 0u && belay_pair == 0u && belay_local == 0u) {
              if (atomicAdd(&belay_report.strikes, 1u) == 0u) { belay_wait_ran_out(0u); }
            }`,
      );
      expect(code).toContain("let theirs = word;");
      return { ...result, code };
    };

    it("does not keep its kernel from storing when all work runs again", async () => {
      const { device, done } = await hardened({ check: "store" }, { compiler: waitsOnce });
      const plain = await sharedDevice();
      // The second kernel has no substitute, as only the first check has ended by then.
      const codes = [CODE, CODE.replace("= 1000000", "= 7 + 1000000")];
      const expected = await Promise.all(codes.map((code) => number(plain, grid, code)));
      expect(await Promise.all(codes.map((code) => number(device, grid, code)))).toEqual(expected);
      plain.destroy();
      done();
    });

    it("does not keep its kernel from storing where no work runs again", async () => {
      const { device, done } = await hardened({ check: "store", onFault: "report" }, { compiler: waitsOnce });
      const plain = await sharedDevice();
      const [, later] = await Promise.all([CODE, CODE].map((code) => number(device, grid, code)));
      expect(later).toEqual(await number(plain, grid));
      plain.destroy();
      done();
    });
  });

  /** Makes replicas compare before each store, and give up every wait at once. */
  const impatient: Protect = (wgsl, options) => {
    const result = protect(wgsl, options);
    return { ...result, code: result.code.replace(/(override belay_patience: u32 =) \w+;/, "$1 0u;") };
  };

  it.each([
    ["stores to other buffers", CODE],
    ["changes a buffer in place", CODE.replace("= 1000000", "+= 1000000")],
    ["loads what it has stored", CODE.replace(/\}$/, "out[2 * at + i] += 1u;\n}")],
  ])("is not needed where work runs again, in a kernel that %s", async (_, code) => {
    const { device, done } = await hardened({ check: "store", retries: 1 }, { compiler: impatient });
    const told: string[] = [];
    for (const event of ["detection", "fault", "recovery", "giveUp"] as const)
      device.belay.addEventListener(event, ({ message }) => told.push(message));
    const plain = await sharedDevice();
    const grid: Grid = [4, 2, 1];
    for (let i = 0; i < 2; i++)
      expect(await number(device, grid, code)).toEqual(await number(plain, grid, code));
    expect(told).toEqual([]);
    expect(await device.belay.report()).toMatchObject({
      faults: [],
      recoveries: 0,
      replays: 2,
      giveUps: 0,
      kernels: [{ detections: 0 }],
    });
    plain.destroy();
    done();
  });

  it("does not hide a fault that is there whenever its work runs again", async () => {
    const { device, done } = await hardened(
      { check: "store", retries: 2, injectFaults: true },
      { compiler: impatient },
    );
    await number(device, [4, 2, 1]);
    arm(device, 1, { workgroup: [1, 0, 0], permanent: true });
    await expect(number(device, [4, 2, 1])).rejects.toMatchObject({ name: "FaultError" });
    const { faults } = await device.belay.report();
    expect(faults).toMatchObject([{ outcome: "refused" }]);
    done();
  });

  it("is waited for much longer where replicas cannot do without it", async () => {
    const waitsInVain: Protect = (wgsl, options) => {
      const result = protect(wgsl, options);
      const code = result.code.replace(
        /belay_balance\(\);/,
        `$&
          if (belay_patience < 0x1000000u) { belay_record(1u, ${recordCause.waitedTooLong}u, 0u, vec4<u32>()); }`,
      );
      const entryPoints = result.entryPoints.map((entryPoint) => ({
        ...entryPoint,
        interGroup: { ...entryPoint.interGroup!, blocking: true, patience: "belay_patience" },
      }));
      return { ...result, code: `${code}\noverride belay_patience: u32 = 9u;`, entryPoints };
    };
    const { device, done } = await hardened({ retries: 1 }, { compiler: waitsInVain });
    const plain = await sharedDevice();
    expect(await number(device, [4, 2, 1])).toEqual(await number(plain, [4, 2, 1]));
    expect(await device.belay.report()).toMatchObject({ faults: [], recoveries: 0, replays: 1, giveUps: 0 });
    plain.destroy();
    done();
  });

  describe("on a device that never runs two workgroups at the same time", () => {
    /** Makes every wait run out at once, with any patience. */
    const alone: Protect = (wgsl, options) => {
      const result = protect(wgsl, options);
      return { ...result, code: result.code.replaceAll("i < belay_patience", "i < 0u") };
    };
    const kernel = (declarations: string, body: string) => `
      ${declarations}
      @compute @workgroup_size(2) fn count(
        @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_index) i: u32
      ) {
        let at = 2 * (group.x + groups.x * (group.y + groups.y * group.z)) + i;
        ${body}
      }`;
    const resultOfStorage = kernel(
      "@group(0) @binding(0) var<storage, read_write> out: array<atomic<u32>>;",
      "let before = atomicAdd(&out[at], 100 * groups.x + at); atomicStore(&out[at], 3 * before + groups.y);",
    );
    const resultInSubgroup = `enable subgroups; ${kernel(
      "@group(0) @binding(0) var<storage, read_write> out: array<atomic<u32>>;",
      "let before = atomicAdd(&out[at], 100 * groups.x + at); atomicMax(&out[at], subgroupAdd(before + at));",
    )}`;
    const resultInPlace = kernel(
      `@group(0) @binding(0) var<storage, read_write> out: array<u32>;
       var<workgroup> n: array<atomic<u32>, 2>;`,
      "out[at] += atomicAdd(&n[i], at + 100 * groups.x) + atomicAdd(&n[i], 1u);",
    );
    const loadsStored = kernel(
      "@group(0) @binding(0) var<storage, read_write> out: array<u32>;",
      "out[at] += 5 * at + groups.x; out[at] = 3 * out[at];",
    );

    /** Dispatches kernels one after another, each on the same grid. */
    async function run(
      device: GPUDevice,
      codes: readonly string[],
      { grid = [4, 2, 1] as Grid, isIndirect = false, hasLayout = false } = {},
    ) {
      const out = upload(device, new Array(64).fill(1));
      const asked = upload(device, grid, GPUBufferUsage.INDIRECT);
      const declared = device.createBindGroupLayout({
        entries: [{ binding: 0, visibility: GPUShaderStage.COMPUTE, buffer: { type: "storage" } }],
      });
      const layout = hasLayout
        ? device.createPipelineLayout({ bindGroupLayouts: [declared] })
        : ("auto" as const);
      const encoder = device.createCommandEncoder();
      const pass = encoder.beginComputePass();
      for (const code of codes) {
        const pipeline = device.createComputePipeline({
          layout,
          compute: { module: device.createShaderModule({ code }) },
        });
        pass.setPipeline(pipeline);
        const entries = [{ binding: 0, resource: { buffer: out } }];
        pass.setBindGroup(0, device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
        if (isIndirect) pass.dispatchWorkgroupsIndirect(asked, 0);
        else pass.dispatchWorkgroups(...grid);
      }
      pass.end();
      device.queue.submit([encoder.finish()]);
      return download(device, out);
    }

    const kernels = {
      "needs a result of storage": [resultOfStorage],
      "needs a result of storage, and has a subgroup operation": [resultInSubgroup],
      "needs a result of workgroup memory, and changes a buffer in place": [resultInPlace],
      "needs a result, before one that loads what it stored": [resultInPlace, loadsStored],
      "compares before stores": [loadsStored],
    };
    const ways: readonly (Parameters<typeof run>[2] & { policy?: Policy; limit?: number })[] = [
      {},
      { grid: [8, 3, 1], limit: 8, hasLayout: true },
      { isIndirect: true, policy: { retries: 1 } },
      { isIndirect: true, grid: [8, 3, 1], limit: 8, policy: { retries: 0 } },
      { policy: { onFault: "throw" }, hasLayout: true },
      { policy: { check: "store" } },
      { isIndirect: true, policy: { check: "store", retries: 0 } },
      { isIndirect: true, grid: [8, 3, 1], limit: 8, policy: { check: "store", onFault: "throw" } },
    ];
    const cases = Object.entries(kernels).flatMap(([name, codes], row) =>
      sample(ways, row, 4).map((way) => [name, JSON.stringify(way), codes, way] as const),
    );

    it.each(cases)("is not needed by a kernel that %s: %s", async (_, __, codes, way) => {
      const { policy, limit, ...on } = way;
      const { device, done } = await hardened(policy, { compiler: alone, ...(limit && { limit }) });
      const told: string[] = [];
      for (const event of ["detection", "fault", "recovery", "giveUp"] as const)
        device.belay.addEventListener(event, ({ message }) => told.push(message));
      const plain = await sharedDevice();
      const expected = await run(plain, codes, on);
      for (let i = 0; i < 2; i++) expect(await run(device, codes, on)).toEqual(expected);
      expect(told).toEqual([]);
      const { faults, kernels } = await device.belay.report();
      expect(faults).toEqual([]);
      const waits = codes[0] !== loadsStored || policy?.check === "store";
      expect((kernels[0]!.unverified ?? 0) > 0).toBe(waits);
      plain.destroy();
      done();
    });

    it("does not hide a fault in a kernel that needs a result", async () => {
      const { device, done } = await hardened({ retries: 1, injectFaults: true }, { compiler: alone });
      const expected = await run(device, [resultOfStorage]);
      const [{ kernel, sites } = { kernel: "", sites: [] }] = device.belay.faultSites();
      const { id } = sites.find(
        ({ kind, span }) => kind === "value" && resultOfStorage.startsWith("3 * before", span.start),
      )!;
      const where = { replica: 1, workgroup: [1, 0, 0], localIndex: 1 } as const;
      device.belay.arm({ kernel, site: id, effect: { xor: 4 }, permanent: true, ...where });
      await expect(run(device, [resultOfStorage])).rejects.toMatchObject({ name: "FaultError" });
      device.belay.disarm();
      expect(await run(device, [resultOfStorage])).toEqual(expected);
      done();
    });
  });

  it("keeps results from being released if re-execution does not help", async () => {
    const { device, done } = await hardened({ retries: 1 }, { compiler: waiting(9) });
    const gaveUp: unknown[] = [];
    device.belay.addEventListener("giveUp", ({ detail }) => gaveUp.push(detail.error));
    await expect(number(device, [4, 2, 1])).rejects.toMatchObject(error);
    expect(gaveUp).toMatchObject([error]);
    const { message, help } = gaveUp[0] as UnverifiedError;
    expect(message).toMatch(/waited too long for its twin$/);
    expect(help).toMatch(/^use check: "signature".*redundancy: "intra\+lds"$/);
    done();
  });

  it("keeps results from being released without re-execution, and releases them if nothing is refused", async () => {
    const refusing = await hardened({ onFault: "throw" }, { compiler: waiting(1) });
    await expect(number(refusing.device, [4, 2, 1])).rejects.toMatchObject(error);
    const expected = await number(refusing.device, [4, 2, 1]);
    refusing.done();
    const reporting = await hardened({ onFault: "report" }, { compiler: waiting(1) });
    expect(await number(reporting.device, [4, 2, 1])).toEqual(expected);
    reporting.done();
  });
});
