import { expect, it } from "vitest";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import { rememberPipelines } from "./rememberPipelines.ts";

const { newDevice } = testDevices();

it("what is compiled again is what was compiled before, and anything else is not", async () => {
  const native = await newDevice();
  const device = rememberPipelines(native);
  const code =
    "override size = 1u; @compute @workgroup_size(1) fn one() { _ = size; } @compute @workgroup_size(2) fn two() {}";
  const make = (entryPoint: string, constants?: Record<string, number>, from = code) => {
    const module = device.createShaderModule({ code: from });
    return device.createComputePipeline({
      layout: "auto",
      compute: { module, entryPoint, ...(constants && { constants }) },
    });
  };
  expect(make("one")).toBe(make("one"));
  const all = [
    make("one"),
    make("two"),
    make("one", { size: 2 }),
    make("one", { size: 3 }),
    make("one", {}, `${code} `),
  ];
  expect(new Set(all).size).toBe(5);
  const layout = device.createPipelineLayout({ bindGroupLayouts: [] });
  const compute = { module: device.createShaderModule({ code }), entryPoint: "two" };
  expect(device.createComputePipeline({ layout, compute })).not.toBe(make("two"));
  expect(await device.createComputePipelineAsync({ layout: "auto", compute })).toBe(make("two"));
});
