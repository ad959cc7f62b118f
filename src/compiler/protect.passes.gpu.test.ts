import { beforeAll, describe, expect, it } from "vitest";
import { type KernelInput, runKernel } from "../../test/kernelRunner.ts";
import { testDevices } from "../../test/testDevices.ts";
import { type ProtectResult, reportWords } from "./contract.ts";
import { protect } from "./protect.ts";

const { newDevice } = testDevices({ full: true });
let device: GPUDevice;
beforeAll(async () => {
  device = await newDevice();
});

const inPasses = (code: string, channel: "subgroup" | "workgroup") => {
  const result = protect(code, { pairing: "passes", channel, features: ["subgroups"] });
  expect(result.entryPoints.map(({ redundancy }) => redundancy)).toEqual(["intra+lds"]);
  return result;
};

/** Runs a kernel protected and not; the number of detections, and whether the bits are the same. */
async function compared(code: string, kernel: ProtectResult, input: KernelInput) {
  const plain = await runKernel(device, code, input);
  const { buffers, report } = await runKernel(device, kernel, input);
  const outputs = Object.keys(input.buffers).map(Number);
  return {
    detections: report[reportWords.detections]!,
    identical: outputs.every((binding) =>
      buffers[binding]!.every((word, i) => word === plain.buffers[binding]![i]),
    ),
    changed: outputs.some((binding) =>
      plain.buffers[binding]!.some((word, i) => word !== input.buffers[binding]![i]),
    ),
  };
}

const works = { detections: 0, identical: true, changed: true };
const words = (count: number) => Uint32Array.from({ length: count }, (_, i) => Math.imul(i + 1, 0x85ebca6b));

/** Relies on what memory starts with. */
const startingValues = `
  struct Bins { total: atomic<u32>, sum: vec3f, rows: array<array<u32, 5>, 7> }
  struct Part { bits: array<atomic<i32>, 2> }
  @group(0) @binding(0) var<storage, read_write> out: array<u32>;
  var<workgroup> bins: Bins;
  var<workgroup> parts: array<Part, 3>;
  var<workgroup> flags: array<array<bool, 5>, 4>;
  var<workgroup> most: u32;
  var<private> seen: array<u32, 2> = array(3u, 4u);
  var<private> count: u32;
  @compute @workgroup_size(8, 3) fn main(@builtin(local_invocation_index) l: u32, @builtin(workgroup_id) w: vec3u) {
    count += l;
    seen[l % 2u] += count;
    atomicAdd(&bins.total, l + w.x);
    atomicXor(&parts[l % 3u].bits[l % 2u], i32(l));
    if (l == 7u) { bins.rows[2][3] += 9u; flags[3][w.x] = !flags[3][w.x]; most += 5u; bins.sum.y += 1.0; }
    workgroupBarrier();
    var sum = 100u * count + seen[0] + 10u * seen[1] + bins.rows[2][l % 5u] + most + u32(bins.sum.y);
    sum += 1000u * (atomicLoad(&bins.total) + u32(atomicLoad(&parts[l % 3u].bits[0])));
    out[w.x * 24u + l] = sum + u32(flags[3][w.x]);
  }`;

/** Loads what its neighbour stores. */
const inPlace = `
  @group(0) @binding(0) var<storage, read_write> a: array<u32>;
  @group(0) @binding(1) var<storage, read_write> sum: atomic<u32>;
  @compute @workgroup_size(32) fn main(@builtin(global_invocation_id) id: vec3u) {
    let v = a[id.x] * 3u + a[id.x ^ 7u];
    storageBarrier();
    if (v % 2u == 1u) { a[id.x] = v; }
    atomicAdd(&sum, v);
  }`;

const fresh = { buffers: { 0: new Uint32Array(48) }, workgroups: [2, 1, 1] } as const;

describe.each(["subgroup", "workgroup"] as const)("passes, over the %s", (channel) => {
  it("each start with memory as it is at the start", async () => {
    const kernel = inPasses(startingValues, channel);
    expect(await compared(startingValues, kernel, fresh)).toEqual(works);
  });

  it("change in place what was loaded before", async () => {
    const input = { buffers: { 0: words(64), 1: new Uint32Array(1) }, workgroups: [2, 1, 1] } as const;
    expect(await compared(inPlace, inPasses(inPlace, channel), input)).toEqual(works);
  });

  it.each(["1", "3", "5, 3", "1, 4", "2, 2, 2", "1, 1, 7", "6, 3"])(
    "run workgroups of size %s",
    async (size) => {
      const code = `
      @group(0) @binding(0) var<storage, read_write> out: array<array<u32, 8>>;
      @compute @workgroup_size(${size})
      fn main(@builtin(local_invocation_id) l: vec3u, @builtin(global_invocation_id) g: vec3u, @builtin(workgroup_id) w: vec3u,
              @builtin(local_invocation_index) index: u32, @builtin(num_workgroups) n: vec3u) {
        out[(w.x + n.x * w.y) * 20u + index] = array(l.x, l.y, l.z, g.x, g.y, g.z, index, 1u);
      }`;
      const input = { buffers: { 0: new Uint32Array(6 * 20 * 8) }, workgroups: [3, 2, 1] } as const;
      expect(await compared(code, inPasses(code, channel), input)).toEqual(works);
    },
  );
});

describe("passes would differ if the second found the values of the first in", () => {
  it.each([
    ["atomics", /atomicStore\(&bins.total, 0\);/],
    ["arrays of atomics", /atomicStore\(&parts[^;]+, 0\);/],
    ["arrays", /flags(\[[^\]]+\])+ = bool\(\);/],
    ["members", /bins.rows = [^;]+;/],
    ["scalars", /most = u32\(\);/],
    ["private variables", /count = u32\(\);/],
    ["private variables with an initializer", /seen = array\(3u, 4u\);/],
  ])("%s", async (_, reset) => {
    const kernel = inPasses(startingValues, "subgroup");
    const code = kernel.code.replace(reset, "");
    expect(code).not.toBe(kernel.code);
    expect((await compared(startingValues, { ...kernel, code }, fresh)).detections).toBeGreaterThan(0);
  });
});
