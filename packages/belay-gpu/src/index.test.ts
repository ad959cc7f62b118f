import { expect, it } from "vitest";
import { type ProtectOptions, protect } from "./index.ts";

const KERNEL = `
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(1) fn main() { out[0] = 1u; }`;

it("protects kernels, and refuses the options that only the runtime and campaigns need", () => {
  expect(protect(KERNEL, { memory: "checksum" }).checks).not.toEqual([]);
  for (const name of ["injectFaults", "strikeMachinery", "copies", "room", "reportBinding", "memoryBindings"])
    expect(() => protect(KERNEL, { [name]: true } as ProtectOptions)).toThrow(
      `there is no option ${name}: the options are redundancy, cover, entryPoint, check, pairing, channel, ` +
        "diversity, memory, strict, features, subgroupSize, subgroupMaxSize, limits, constants",
    );
  expect(() => protect(KERNEL, { memory: {} } as never)).toThrow('it is one of "none", "secded32"');
});
