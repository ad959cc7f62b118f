import { expect, it } from "vitest";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import { resolvePolicy } from "./context/policy.ts";
import { harden } from "./harden.ts";

const { newDevice } = testDevices();

const copy = (type: string) => /* wgsl */ `
@group(0) @binding(0) var<storage, read> input: array<${type}>;
@group(0) @binding(1) var<storage, read_write> output: array<${type}>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) { output[id.x] = input[id.x]; }`;

it("chooses the memory code for the named kernels", () => {
  const chosenFor = (...memoryFor: string[]) => resolvePolicy({ memory: "auto", memoryFor }).memory;
  expect([chosenFor(), chosenFor(copy("vec4f")), chosenFor(copy("f32"))]).toEqual([
    "secded128",
    "secded128",
    "secded32",
  ]);
  expect(resolvePolicy({ memory: "secded64", memoryFor: [copy("f32")] }).memory).toBe("secded64");
});

it("chooses a code that only detects if that is requested and costs less", () => {
  const chosenFor = (type: string) =>
    resolvePolicy({ memory: "auto-detect", memoryFor: [copy(type)] }).memory;
  expect([chosenFor("vec4f"), chosenFor("f32")]).toEqual(["checksum", "secded32"]);
});

it.each(["auto", "auto-detect"] as const)("chooses a code for the device: %s", async (memory) => {
  const native = await newDevice();
  const report = await harden(native, { memory, memoryFor: [copy("f32")] }).belay.report();
  expect(report.memory?.scheme).toBe("secded32");
  native.destroy();
});

it("accepts only sources as kernels", () => {
  expect(() => resolvePolicy({ memoryFor: [1] as unknown as string[] })).toThrow(
    "it is a list of WGSL sources",
  );
});

it("refuses kernels that are no WGSL, and says where, if it chooses a code for them", () => {
  const untyped = copy("f32").replace("= input[id.x]", "= nothing");
  const make = (memory: "auto" | "auto-detect" | "secded32") =>
    resolvePolicy({ memory, memoryFor: [copy("f32"), untyped] });
  for (const memory of ["auto", "auto-detect"] as const)
    expect(() => make(memory)).toThrow(
      /^memoryFor\[1\] of the policy is no valid WGSL\n {2}4:97 BELAY\d+ [a-z-]+: .*nothing/,
    );
  expect(() => resolvePolicy({ memory: "auto", memoryFor: ["not wgsl"] })).toThrow(
    /^memoryFor\[0\] of the policy is no valid WGSL\n {2}1:1 BELAY\d+/,
  );
  expect(make("secded32").memory).toBe("secded32");
});
