import { TriedDevice } from "belay-gpu/internal/qualify/deviceRun";
import { examine } from "belay-gpu/internal/qualify/examine";
import { builtInCandidates } from "belay-gpu/internal/qualify/qualify";
import { describe, expect, it } from "vitest";
import { testDevices } from "../../../test/support/devices/testDevices.ts";
import { lyingDevice, miscompile, shapesIn } from "./lyingDevice.ts";
import { mistakes } from "./mistakes.ts";

const devices = testDevices({ full: true });

/** The shape of each mistake that is made on a device, and the kernel that must find it. */
const found: Readonly<Record<string, readonly [shape: string, kernel: string]>> = {
  "shift by an amount without mask": [">> i32", "shifts and bits"],
  "shift by one more": ["<< u32", "shifts and bits"],
  "division not truncated": ["/ i32", "signed integers"],
  "remainder with the sign of the divisor": ["% i32", "signed integers"],
  "product in 16 bits": ["* f32", "floats"],
  "sum in 16 bits": ["+ f32", "floats"],
  "comparison with the wrong limit": ["<= i32", "signed integers"],
  "comparison with the wrong sign": ["< u32", "unsigned integers"],
  "min, max and clamp with the wrong sign": ["max f32", "floats"],
  "clamp without the lower limit": ["clamp i32", "signed integers"],
  "select with swapped values": ["select u32", "unsigned integers"],
  "extractBits with the wrong sign": ["extractBits i32", "shifts and bits"],
  "value of the wrong lane": ["subgroupShuffleXor u32", "operations of subgroups, 128"],
  "wrong subgroup size": ["subgroup_size", "lanes of subgroups, 32×1×1"],
  "one lane is always wrong": ["+ u32", "unsigned integers"],
  "barrier dropped": ["workgroupBarrier", "workgroup memory and barriers, 256"],
  "early return dropped": ["of a kernel", "branches and loops"],
  "stale word": ["storage", "loads after stores"],
};

describe("a lying device", () => {
  it("makes each of its mistakes", () => {
    expect(Object.keys(found)).toEqual(mistakes.map(({ name }) => name));
  });

  it("is found by built-in kernels", async () => {
    const device = await devices.newDevice();
    const candidates = builtInCandidates(device);
    const outcomes = await Promise.all(
      mistakes.map(async (mistake) => {
        const [shape, name] = found[mistake.name]!;
        const candidate = candidates.find((each) => each.name === name);
        const tried = new TriedDevice(lyingDevice(device, mistake, shape), undefined);
        return [mistake.name, candidate ? (await examine(tried, candidate)).outcome : "differs"];
      }),
    );
    expect(outcomes.filter(([, outcome]) => outcome !== "differs")).toEqual([]);
  });

  it("compiles places of other shapes right", () => {
    const source = `@group(0) @binding(0) var<storage, read_write> x: array<i32>;
      @compute @workgroup_size(1) fn main() { x[0] = x[1] >> 3u; x[2] >>= u32(x[3]); }`;
    const [mistake] = mistakes.filter(({ name }) => name === "shift by one more");
    expect(shapesIn([source], mistake!)).toEqual([">> i32", ">> i32 by a constant"]);
    expect(miscompile(source, mistake!, "<< i32")).toBe(source);
    expect(miscompile(source, mistake!, ">> i32")).toContain("x[2] = x[2] >> (u32(x[3]) + 1u);");
    expect(miscompile(source, mistake!, ">> i32")).toContain("x[0] = x[1] >> 3u;");
  });
});
