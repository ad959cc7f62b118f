/**
 * Tests on any adapter that each step measures the right program. They ignore how long it takes.
 */

import { hardenWith } from "belay-gpu/internal/runtime/hardenedDevice";
import type { Outputs, Prepared, VerifiableProgram } from "belay-gpu/internal/runtime/tuning/workload";
import { type OpenedGpu, openGpu } from "belay-node/internal/adapter";
import { newDevice } from "belay-node/internal/newDevice";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as fastWalshTransform from "../../workloads/samples/fastWalshTransform.ts";
import { measureCeilings } from "../measuring/ceilings.ts";
import { measuredConfigurations, usualOf } from "../measuring/configurations.ts";
import { TimedProgram } from "../measuring/timing.ts";
import { idleReplicaFlags, measureComponents, withIdleReplicas } from "./components.ts";
import type { ProgramResult } from "./program.ts";
import { isSound, measureRmt, type RmtOptions } from "./rmt.ts";
import { protectUncompared } from "./withoutComparison.ts";

let opened: OpenedGpu;
beforeAll(async () => {
  opened = await openGpu({ dawnFlags: idleReplicaFlags });
});
afterAll(() => opened.close());
const freshDevice = () => newDevice(opened);

const COUNT = 128;
/**
 * The kernel in which each invocation adds up the values of its workgroup, with a barrier and
 * workgroup memory.
 */
const SUM = /* wgsl */ `
@group(0) @binding(0) var<storage, read_write> sums: array<u32>;
var<workgroup> terms: array<u32, 32>;
@compute @workgroup_size(32)
fn sum(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) local: u32) {
  terms[local] = id.x;
  workgroupBarrier();
  var total = 0u;
  for (var i = 0u; i < 32u; i++) { total += terms[i]; }
  sums[id.x] = total;
}`;

function program(expected = 16): VerifiableProgram {
  const prepare = (device: GPUDevice): Prepared => {
    const module = device.createShaderModule({ code: SUM });
    const pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
    const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = GPUBufferUsage;
    const sums = device.createBuffer({ size: 4 * COUNT, usage: STORAGE | COPY_SRC });
    const layout = pipeline.getBindGroupLayout(0);
    const entries = [{ binding: 0, resource: { buffer: sums } }];
    const group = device.createBindGroup({ layout, entries });
    return {
      encode(encoder) {
        const pass = encoder.beginComputePass();
        pass.setPipeline(pipeline);
        pass.setBindGroup(0, group);
        pass.dispatchWorkgroups(COUNT / 32);
        pass.end();
      },
      async read() {
        const readable = device.createBuffer({ size: 4 * COUNT, usage: MAP_READ | COPY_DST });
        const encoder = device.createCommandEncoder();
        encoder.copyBufferToBuffer(sums, readable);
        device.queue.submit([encoder.finish()]);
        await readable.mapAsync(GPUMapMode.READ);
        const copy = new Uint32Array(readable.getMappedRange().slice(0));
        readable.destroy();
        return { sums: copy };
      },
      destroy() {
        sums.destroy();
      },
    };
  };
  const verify = ({ sums }: Outputs) => {
    const right = (sums as Uint32Array).every(
      (sum, i) => sum === 32 * (32 * Math.floor(i / 32)) + 31 * expected,
    );
    return { ok: right, message: right ? "right" : "wrong" };
  };
  return {
    prepare,
    verify,
    workload: () => Promise.reject(new Error("unused")),
    kernelSources: { sum: SUM },
    work: { bytes: 4 * COUNT, flops: 0 },
  };
}

const options = (changes: Partial<RmtOptions>): RmtOptions => ({
  newDevice: freshDevice,
  size: "small",
  programs: [{ name: "sum", create: program }],
  measure: [],
  flavors: ["intra+lds", "intra-lds"],
  runs: 1,
  faultFree: 0,
  powerTimeMs: 10,
  progress: () => {},
  save: async () => {},
  ...changes,
});

describe("a step of the components", () => {
  it.each(["intra+lds", "intra-lds", "inter"] as const)(
    "holds, or uses, the resources of %s, and computes the right result",
    async (redundancy) => {
      for (const rewrite of [withIdleReplicas, (code: string) => code]) {
        let compiled = "";
        const device = hardenWith(
          (wgsl, given) => {
            const pairing = redundancy !== "inter" && rewrite === withIdleReplicas ? "subgroups" : "adjacent";
            const result = protectUncompared(wgsl, { ...given, pairing });
            compiled = rewrite(result.code);
            return { ...result, code: compiled };
          },
          await freshDevice(),
          { redundancy, channel: "workgroup", onFault: "report" },
        );
        using step = new TimedProgram(program(), device);
        await step.run();
        expect(program().verify(await step.read())).toMatchObject({ ok: true });
        expect((await device.belay.report()).kernels).toMatchObject([{ redundancy }]);
        expect(compiled).not.toContain("agree");
        expect(compiled.includes("== 1u) {\n    return;")).toBe(rewrite === withIdleReplicas);
      }
    },
  );

  it("lets the first replica store alone where whoever comes last would", async () => {
    const transform: VerifiableProgram = fastWalshTransform.create({ length: 256 });
    const device = hardenWith(
      (wgsl, given) => {
        const result = protectUncompared(wgsl, given);
        return { ...result, code: withIdleReplicas(result.code) };
      },
      await freshDevice(),
      { redundancy: "inter", onFault: "report" },
    );
    using step = new TimedProgram(transform, device);
    await step.run();
    expect(transform.verify(await step.read())).toMatchObject({ ok: true });
  });

  it("is measured", async () => {
    using unprotected = new TimedProgram(program(), await freshDevice());
    const configuration = usualOf(measuredConfigurations(opened.adapter.features), "intra+lds", "signature")!;
    const components = await measureComponents(program(), freshDevice, unprotected, configuration, 1);
    expect(components).toEqual({
      redundancy: "intra+lds",
      reserved: expect.any(Number),
      computed: expect.any(Number),
    });
  });
});

it("measures every ceiling", async () => {
  const device = await freshDevice();
  const ceilings = await measureCeilings(device, "small", 1);
  device.destroy();
  for (const ceiling of Object.values(ceilings)) expect(ceiling).toBeGreaterThan(1e6);
  expect(Object.values(ceilings).every(Number.isFinite)).toBe(true);
});

describe("the configurations", () => {
  it("exchange registers only where there are subgroups", () => {
    const without = measuredConfigurations(new Set() as GPUSupportedFeatures);
    const withThem = measuredConfigurations(new Set(["subgroups"]) as GPUSupportedFeatures);
    expect(without.some(({ channel }) => channel === "subgroup")).toBe(false);
    expect(withThem.length).toBeGreaterThan(without.length);
    expect(usualOf(withThem, "intra-lds", "store")).toMatchObject({
      channel: "subgroup",
      pairing: "adjacent",
    });
    expect(usualOf(without, "intra-lds", "store")).toMatchObject({
      channel: "workgroup",
      pairing: "adjacent",
    });
  });
});

describe("the whole", () => {
  it("finds a right program sound", async () => {
    const { ok, programs } = await measureRmt(options({ measure: ["roofline", "components"], faultFree: 2 }));
    const sum = programs[0]!;
    expect(ok).toBe(true);
    expect(sum.overheads).toHaveLength(4);
    expect(sum.faultFree.length).toBeGreaterThan(4);
    expect(sum.components.map(({ redundancy }) => redundancy)).toEqual(["intra+lds", "intra-lds"]);
    expect(sum.roofline!.limit).toBeGreaterThan(0);
  });

  it("does not pass a wrong result", async () => {
    const wrong = { name: "sum", create: () => program(17) };
    const { ok, programs } = await measureRmt(options({ programs: [wrong] }));
    expect({ ok, verdict: programs[0]!.verdict.ok }).toEqual({ ok: false, verdict: false });
  });

  it("tells of a program that fails, and goes on", async () => {
    const broken = {
      name: "broken",
      create: () => {
        throw new Error("too large");
      },
    };
    const sum = { name: "sum", create: program };
    const saved: string[][] = [];
    const save: RmtOptions["save"] = async ({ programs }) => {
      saved.push(programs.map(({ name }) => name));
    };
    const { ok, programs } = await measureRmt(options({ programs: [broken, sum], save }));
    expect(ok).toBe(false);
    expect(programs.map(({ failures }) => failures)).toEqual([["unprotected: too large"], []]);
    expect(programs.map(isSound)).toEqual([false, true]);
    expect(saved).toEqual([["broken"], ["broken", "sum"]]);
  });

  it("goes on where an earlier run has ended", async () => {
    const some = options({ flavors: ["intra-lds"], faultFree: 1 });
    const cut = await measureRmt({ ...some, timeLimitMs: 0 });
    expect(cut).toMatchObject({ ok: false, programs: [{ left: ["unprotected"] }] });
    const whole = await measureRmt({ ...some, earlier: cut });
    expect(whole).toMatchObject({ ok: true, programs: [{ left: [], failures: [] }] });
    const again = { name: "sum", create: () => expect.unreachable("nothing is left to measure") };
    expect(await measureRmt({ ...some, programs: [again], earlier: whole })).toEqual(whole);
  });

  it("does not pass a false alarm, other bits or a failure", () => {
    const times = { median: 1, lower: 1, upper: 1 };
    const [configuration] = measuredConfigurations(new Set() as GPUSupportedFeatures);
    const overhead = { ...configuration!, unprotected: times, protected: times, ratio: 1 };
    const faultFree = { ...configuration!, runs: 1, detections: 0, unverified: 0, different: 0 };
    const sound: ProgramResult = {
      name: "sum",
      verdict: { ok: true, message: "" },
      overheads: [{ ...overhead, detections: 0, unverified: 0, identical: true }],
      components: [],
      power: [],
      faultFree: [faultFree],
      failures: [],
      left: [],
    };
    expect(isSound(sound)).toBe(true);
    for (const change of [
      { verdict: { ok: false, message: "" } },
      { overheads: [{ ...overhead, detections: 1, unverified: 0, identical: true }] },
      { overheads: [{ ...overhead, detections: 0, unverified: 1, identical: true }] },
      { overheads: [{ ...overhead, detections: 0, unverified: 0, identical: false }] },
      { faultFree: [{ ...faultFree, detections: 1 }] },
      { faultFree: [{ ...faultFree, unverified: 1 }] },
      { faultFree: [{ ...faultFree, different: 1 }] },
      { failures: ["the device is lost"] },
      { left: ["auto"] },
    ]) {
      expect(isSound({ ...sound, ...change })).toBe(false);
    }
  });
});
