import { beforeAll, describe, expect, it } from "vitest";
import { testDevices } from "../../../../../test/support/devices/testDevices.ts";
import { type Flip, runCoded } from "../../../../../test/support/kernels/codedKernels.ts";
import { runKernel } from "../../../../../test/support/kernels/kernelRunner.ts";
import { protect } from "../../compiler/protect.ts";

const { newDevice } = testDevices();
let device: GPUDevice;
beforeAll(async () => {
  device = await newDevice();
});

const size = 8;
/**
 * Loads in branches, some of which are taken because of what was loaded, and in loops, one of them
 * as long as memory says.
 */
const code = /* wgsl */ `
@group(0) @binding(0) var<storage, read> numbers: array<f32>;
@group(0) @binding(1) var<storage, read> starts: array<u32>;
@group(0) @binding(2) var<storage, read> places: array<u32>;
@group(0) @binding(3) var<storage, read_write> out: array<vec4f>;
var<workgroup> tile: array<f32, ${size}>;
fn near(i: u32) -> f32 {
  if (i == 0u) { return numbers[0]; }
  return 0.5 * (numbers[i - 1u] + numbers[i]);
}
fn total(i: u32) -> f32 {
  var sum = 0.0;
  for (var k = 0u; k < 2u; k++) { sum += near(min(i + k, ${size - 1}u)); }
  return sum;
}
fn upTo(end: u32) -> f32 {
  var sum = 0.0;
  for (var k = 0u; k < end; k++) { sum += numbers[k]; }
  return sum;
}
@compute @workgroup_size(${size}) fn main(@builtin(local_invocation_index) i: u32) {
  var sum = 1.0;
  sum *= 2.0;
  var largest: f32;
  let first = numbers[i];
  var left = first;
  if (first > 4.0) { left += numbers[i - 1u]; largest = left; } else if (i == 0u) { left = numbers[7]; }
  for (var k = 0u; k < 4u; k++) {
    let number = numbers[(i + k) % ${size}u];
    if (number > largest) { largest = number; }
  }
  out[2u * i] = vec4f(first, left, largest, sum);
  let end = starts[i + 1u];
  for (var k = starts[i]; k < end; k++) { sum += numbers[places[k]]; }
  tile[i] = total(i);
  let mean = near(i);
  workgroupBarrier();
  out[2u * i + 1u] = vec4f(sum, tile[${size - 1}u - i], mean, upTo(places[i]));
}`;
const buffers = {
  0: new Uint32Array(Float32Array.of(3, 5, 2, 7, 1, 8, 4, 6).buffer),
  1: Uint32Array.of(0, 2, 3, 3, 6, 7, 8, 10, 12, 0, 0, 0),
  2: Uint32Array.of(5, 1, 7, 0, 3, 3, 2, 6, 4, 1, 0, 7),
  3: new Uint32Array(8 * size),
};
const input = { buffers, workgroups: [1, 1, 1] as const };

describe.each(["secded32", "secded128"] as const)(
  "statements that run before what they loaded is looked at, %s",
  (memory) => {
    const result = protect(code, { redundancy: "none", memory });
    const run = async (text: string, flip: Flip) => {
      const plain = await runKernel(device, code, input);
      const output = await runCoded(device, { ...result, code: text }, input, [flip]);
      expect(output.uncorrectable).toBe(0);
      return { same: output.buffers[3]!.join() === plain.buffers[3]!.join(), corrected: output.corrected };
    };

    it("run again, and set right all that they computed", async () => {
      expect(result.code.match(/if \(belay_bad != 0u\)/g)).toHaveLength(4);
      for (const [binding, words] of [
        [0, 8],
        [1, 9],
        [2, 12],
      ] as const)
        for (let word = 0; word < words; word++) {
          const { same, corrected } = await run(result.code, { binding, word, mask: 1 << ((5 * word) % 31) });
          expect([binding, word, same, corrected > 0]).toEqual([binding, word, true, true]);
        }
    });

    it("leave wrong values behind where they do not store again", async () => {
      const stores = /belay_value_2 = [^;]*;\s*(belay_store_\d\([^;]*belay_value_2\);)/;
      expect(result.code).toMatch(stores);
      const broken = result.code.replace(stores, (all, store) => all.replace(store, ""));
      expect(await run(broken, { binding: 0, word: 2, mask: 1 << 22 })).toMatchObject({ same: false });
    });

    it("leave wrong values behind where functions do not load again", async () => {
      expect(result.code).toContain("belay_repaired_total(");
      const broken = result.code.replaceAll("belay_repaired_total(i)", "belay_peeked_total(i)");
      expect(await run(broken, { binding: 0, word: 2, mask: 1 << 22 })).toMatchObject({ same: false });
    });

    it("leave wrong values behind where they do not begin with what variables were", async () => {
      const text = /\n\s*sum = belay_before_\d+;/;
      expect(result.code).toMatch(text);
      expect(await run(result.code.replace(text, ""), { binding: 2, word: 1, mask: 2 })).toMatchObject({
        same: false,
      });
    });
  },
);

/** Variables without initializer in loops may keep their values, as the driver has it. */
describe("variables without initializer", () => {
  const loop = (body: string) => /* wgsl */ `
  @group(0) @binding(0) var<storage, read> numbers: array<u32, 12>;
  @group(0) @binding(1) var<storage, read_write> out: array<u32, 8>;
  @compute @workgroup_size(4) fn main(@builtin(local_invocation_index) i: u32) {
    var all = 0u;
    var k = 0u;
    while (k < 3u) { ${body} k++; }
    out[i] = all;
    out[i + 4u] = all + numbers[8];
  }`;
  const bodies = [
    ["of the loop", "var sum: u32; sum += numbers[i + k]; if (sum > 3u) { sum += numbers[k]; } all += sum;"],
    ["in a branch", "if (numbers[i + k] > 2u) { var sum: u32; sum += numbers[k]; all += sum; }"],
    [
      "in a loop in the loop",
      "for (var j: u32; j < 2u; j++) { var sum: u32; sum += numbers[i + j]; all += sum; }",
    ],
  ] as const;

  it.each(bodies)("%s are right when statements run again", async (_, body) => {
    const kernel = loop(body);
    const input = {
      buffers: { 0: Uint32Array.of(1, 5, 2, 7, 4, 3, 9, 1, 6, 2, 8, 3), 1: new Uint32Array(8) },
      workgroups: [1, 1, 1],
    } as const;
    const plain = await runKernel(device, kernel, input);
    const result = protect(kernel, { redundancy: "none", memory: "secded32" });
    for (let word = 0; word < 4; word++) {
      const output = await runCoded(device, result, input, [{ binding: 0, word, mask: 1 << word }]);
      expect([word, [...output.buffers[1]!]]).toEqual([word, [...plain.buffers[1]!]]);
      expect(output.corrected).toBeGreaterThan(0);
    }
  });
});
