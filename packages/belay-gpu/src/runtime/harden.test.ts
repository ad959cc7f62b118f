import { expect, it, vi } from "vitest";
import { encodeDispatch } from "../../../../test/support/devices/encodeDispatch.ts";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import { BelayError } from "../diagnostics/belayError.ts";
import type { CampaignPolicy, Policy } from "./context/policy.ts";
import { harden } from "./harden.ts";

const { newDevice } = testDevices();

const SCALE = `
@group(0) @binding(0) var<storage, read> input: array<f32>;
@group(0) @binding(1) var<storage, read_write> output: array<f32>;
@compute @workgroup_size(4)
fn scale(@builtin(global_invocation_id) id: vec3u) {
  let scaled = input[id.x] * 2.5;
  output[id.x] = scaled + 1;
}`;

async function run(device: GPUDevice): Promise<number[]> {
  const buffer = (usage: number) => device.createBuffer({ size: 64, usage });
  const input = buffer(GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST);
  const output = buffer(GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC);
  const readBack = buffer(GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST);
  device.queue.writeBuffer(
    input,
    0,
    Float32Array.from({ length: 16 }, (_, i) => i),
  );
  const module = device.createShaderModule({ code: SCALE });
  const pipeline = await device.createComputePipelineAsync({ layout: "auto", compute: { module } });
  const entries = [input, output].map((each, binding) => ({ binding, resource: { buffer: each } }));
  const encoder = device.createCommandEncoder();
  encodeDispatch(
    encoder,
    pipeline,
    device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }),
    4,
  );
  encoder.copyBufferToBuffer(output, 0, readBack, 0, 64);
  device.queue.submit([encoder.finish()]);
  await readBack.mapAsync(GPUMapMode.READ);
  return [...new Float32Array(readBack.getMappedRange())];
}

const expected = Array.from({ length: 16 }, (_, i) => i * 2.5 + 1);

/**
 * A hardened device with a bit flip armed in the product that invocation (1, 0, 0) of workgroup 2
 * computes.
 */
async function struck(policy: Policy, replica: 0 | 1 = 1) {
  const device = await harden(await newDevice(), { redundancy: "intra+lds", injectFaults: true, ...policy });
  expect(await run(device)).toEqual(expected);
  const { kernel, sites } = device.belay.faultSites()[0]!;
  const site = sites.find(({ span }) => SCALE.slice(span.start, span.end) === "input[id.x] * 2.5")!;
  device.belay.arm({
    kernel,
    site: site.id,
    replica,
    effect: { xor: 1 << 22 },
    workgroup: [2, 0, 0],
    localIndex: 1,
  });
  return device;
}

it("does not change the given device", async () => {
  const plain = await newDevice();
  const device = await harden(plain);
  expect(device).not.toBe(plain);
  expect(await run(plain)).toEqual(expected);
  expect((await device.belay.report()).kernels).toEqual([]);
  plain.destroy();
});

it("destroys the device, and ends scrubbing, where its scope ends", async () => {
  const plain = await newDevice();
  const ended = vi.spyOn(globalThis, "clearInterval");
  {
    using _ = harden(plain, { memory: "secded64", scrubIntervalMs: 3_600_000 });
    expect(ended).not.toHaveBeenCalled();
  }
  expect((await plain.lost).reason).toBe("destroyed");
  expect(ended).toHaveBeenCalledOnce();
  ended.mockRestore();
});

it("rejects an invalid policy", async () => {
  const plain = await newDevice();
  expect(() => harden(plain, { onFault: "ignore" as never })).toThrow('"recover", "throw", "report"');
  expect(() => harden(plain, { retries: -1 })).toThrow("the option retries of the policy cannot be -1");
  expect(() => harden(plain, { redundant: true } as Policy)).toThrow(
    "there is no option redundant of the policy: the options are redundancy,",
  );
  const campaign: CampaignPolicy[] = [
    { strikeMachinery: true },
    { comparesStores: false },
    { injectFaults: "profile" },
  ];
  for (const policy of campaign) expect(() => harden(plain, policy as Policy)).toThrow(TypeError);
  expect(() => harden(plain, null as never)).toThrow("the options of the policy are no object");
  expect(() => harden({} as never)).toThrow("only a GPUDevice can be hardened");
  const twice = expect.objectContaining({ constructor: BelayError, code: "BELAY339" });
  expect(() => harden(harden(plain))).toThrow(twice);
  expect(() => harden(Object.create(harden(plain)))).toThrow(twice);
  plain.destroy();
});

it.each(["intra+lds", "intra-lds"] as const)("recovers from a bit flip under %s", async (redundancy) => {
  for (const check of ["signature", "store"] as const) {
    const device = await struck({ redundancy, check });
    expect(await run(device)).toEqual(expected);
    expect(await device.belay.strikes()).toBe(1);
    expect((await device.belay.report()).faults).toMatchObject([{ outcome: "recovered" }]);
    device.destroy();
  }
});

it("names the place, the invocation and both values of a fault", async () => {
  const device = await struck({ check: "store", onFault: "throw" });
  await expect(run(device)).rejects.toThrow(
    'replicas of kernel "scale" disagree at output, line 7, column 3: ' +
      "workgroup (2, 0, 0), local index 1 computed 23.5 and ",
  );
  device.destroy();
});

it("misses a fault without redundancy, which shows that the injected faults are real", async () => {
  const device = await struck({ redundancy: "none" }, 0);
  const result = await run(device);
  expect(result.filter((value, i) => value !== expected[i])).toHaveLength(1);
  expect(await device.belay.strikes()).toBe(1);
  device.destroy();
});
