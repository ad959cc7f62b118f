import { beforeAll, describe, expect, it } from "vitest";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import { type KernelInput, runKernel } from "../../../../test/support/kernels/kernelRunner.ts";
import { differences, runReference, translated } from "../../../../test/support/kernels/reference.ts";
import { type CompilerResult, reportWords } from "./contract.ts";
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
async function compared(code: string, kernel: CompilerResult, input: KernelInput) {
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

/**
 * Relies on what variables of functions start with; those in a loop may keep their values, as the
 * driver has it.
 */
const startingLocals = (inLoop: string) => `
  struct Part { at: vec3f, rows: array<mat2x2f, 2>, on: bool }
  @group(0) @binding(0) var<storage, read_write> out: array<u32>;
  fn called(l: u32) -> u32 { var sum: u32; sum += l + 1u; return sum; }
  @compute @workgroup_size(8, 3) fn main(@builtin(local_invocation_index) l: u32, @builtin(workgroup_id) w: vec3u) {
    var scalar: u32;
    var vector: vec3u;
    var matrix: mat3x2f;
    var list: array<u32, 4>;
    var part: Part;
    scalar += l;
    vector.y += scalar;
    matrix[1].x += f32(l);
    list[l / 2u % 4u] += vector.y;
    part.at.z += 1.0;
    part.rows[1][0].y += matrix[1].x;
    part.on = !part.on;
    { var nested: u32; nested += l; scalar += nested; }
    if (l > 2u) { var branch: i32; branch += 3; scalar += u32(branch); }
    switch (l / 2u) { case 1: { var chosen: u32; chosen++; scalar += chosen; } default: {} }
    for (var k: u32; k < 3u; k++) { ${inLoop} scalar += called(k); }
    let floats = u32(matrix[1].x + part.at.z + part.rows[1][0].y) + u32(part.on);
    out[w.x * 24u + l] = scalar + 100u * (vector.y + list[l / 2u % 4u]) + 10000u * floats;
  }`;
const keepingLocals = startingLocals(`
  var inner: u32;
  inner += l + k;
  var i = 0u;
  while (i < 2u) { var innermost: array<u32, 2>; innermost[i] += k + 1u; scalar += innermost[0] + inner; i++; }`);

/**
 * A product of two 8 by 8 matrices, as libraries for neural networks compute it: sums without an
 * initializer around loops with barriers, over tiles in workgroup memory.
 */
const tiledProduct = `
  var<workgroup> leftTile: array<array<vec4f, 1>, 8>;
  var<workgroup> rightTile: array<array<vec4f, 2>, 4>;
  @group(0) @binding(0) var<storage, read_write> product: array<vec4f>;
  @group(0) @binding(1) var<storage, read_write> left: array<vec4f>;
  @group(0) @binding(2) var<storage, read_write> right: array<vec4f>;
  @compute @workgroup_size(2, 2) fn main(@builtin(local_invocation_id) local: vec3u) {
    let row = local.y * 4;
    var acc: array<vec4f, 4>;
    for (var tile = 0u; tile < 2; tile++) {
      for (var i = 0u; i < 4; i++) { if (local.x == 0) { leftTile[row + i][0] = left[(row + i) * 2 + tile]; } }
      for (var i = 0u; i < 2; i++) {
        rightTile[local.y * 2 + i][local.x] = right[(tile * 4 + local.y * 2 + i) * 2 + local.x];
      }
      workgroupBarrier();
      for (var k = 0u; k < 4; k++) {
        let factors = rightTile[k][local.x];
        for (var i = 0u; i < 4; i++) { acc[i] = factors * leftTile[row + i][0][k] + acc[i]; }
      }
      workgroupBarrier();
    }
    for (var i = 0u; i < 4; i++) { product[(row + i) * 2 + local.x] = acc[i]; }
  }`;
const factors = () => {
  const numbers = new Uint32Array(Float32Array.from({ length: 64 }, (_, i) => (i % 7) - 3).buffer);
  return {
    buffers: { 0: new Uint32Array(64), 1: numbers, 2: numbers.toReversed() },
    workgroups: [1, 1, 1],
  } as const;
};

/** Loads what its neighbor stores. */
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

  it.each([
    ["without a loop around them", startingLocals("")],
    ["in loops", keepingLocals],
  ])("each start with variables of functions as they are at the start, %s", async (_, code) => {
    expect(await compared(code, inPasses(code, channel), fresh)).toEqual(works);
  });

  it("each start with the sums of a tiled product as they are at the start", async () => {
    expect(await compared(tiledProduct, inPasses(tiledProduct, channel), factors())).toEqual(works);
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

  it.each(["scalar", "vector", "matrix", "list", "part", "nested", "chosen", "k"])(
    "the local %s",
    async (local) => {
      const kernel = inPasses(startingLocals(""), "subgroup");
      const code = kernel.code.replace(new RegExp(`(var ${local}: [^=;]+) = [^;]+;`), "$1;");
      expect(code).not.toBe(kernel.code);
      expect((await compared(startingLocals(""), { ...kernel, code }, fresh)).detections).toBeGreaterThan(0);
    },
  );

  it("the sums of a tiled product", async () => {
    const kernel = inPasses(tiledProduct, "subgroup");
    const code = kernel.code.replace(/(var acc: [^=;]+) = [^;]+;/, "$1;");
    expect(code).not.toBe(kernel.code);
    expect((await compared(tiledProduct, { ...kernel, code }, factors())).detections).toBeGreaterThan(0);
  });
});

describe("passes with subgroup operations", () => {
  const kernel = (body: string, parameters = "") => `
    enable subgroups;
    diagnostic(off, subgroup_uniformity);
    @group(0) @binding(0) var<storage, read_write> out: array<u32>;
    @group(0) @binding(1) var<storage, read> a: array<u32>;
    var<workgroup> sums: array<u32, 32>;
    @compute @workgroup_size(8, 4) fn main(@builtin(global_invocation_id) g: vec3u, @builtin(workgroup_id) w: vec3u,
        @builtin(local_invocation_index) l: u32${parameters}) {
      let i = w.x * 32u + l; let v = a[i]; ${body}
    }`;
  const lanes = ", @builtin(subgroup_invocation_id) lane: u32, @builtin(subgroup_size) size: u32";
  const kernels: Record<string, string> = {
    scans: kernel("out[i] = subgroupInclusiveAdd(v) ^ subgroupExclusiveMul(v | 1u) ^ subgroupMax(v);"),
    exchanges: kernel(
      "out[i] = subgroupShuffleXor(v, 1u) ^ subgroupBroadcast(v, 2u) ^ quadSwapDiagonal(v) ^ subgroupBallot(v % 3u == 0u).x;",
    ),
    "a sum over the workgroup": kernel(
      `let sum = subgroupAdd(v);
      if (lane == 0u) { sums[l / size] = sum; }
      workgroupBarrier();
      if (l == 0u) { var all = 0u; for (var s = 0u; s < 32u / size; s++) { all += sums[s]; } out[i] = all; }
      else if (subgroupElect()) { out[i] = lane + g.y; }`,
      lanes,
    ),
    "lanes that end early": kernel("if (v % 5u == 0u) { return; } out[i] = subgroupAdd(v) + lane;", lanes),
    "lanes without operations": kernel("out[i] = v * size + lane;", lanes),
  };
  const input = { buffers: { 0: new Uint32Array(64), 1: words(64) }, workgroups: [2, 1, 1] } as const;

  it.each(Object.entries(kernels))("compute what the executor computes: %s", async (_, code) => {
    const { buffers } = runReference(translated(code, input), input, device.adapterInfo.subgroupMinSize);
    for (const channel of ["subgroup", "workgroup"] as const) {
      const protectedKernel = inPasses(code, channel);
      expect(protectedKernel.diagnostics.map(({ code }) => code)).toEqual(["BELAY210"]);
      const { buffers: results, report } = await runKernel(device, protectedKernel, input);
      expect(report[reportWords.detections]).toBe(0);
      expect(differences(buffers[0]!, results[0]!)).toEqual([]);
    }
  });

  const drawing = kernel(
    `let sum = subgroupAdd(v);
    var place = 0u;
    if (lane == 0u) { place = atomicAdd(&next, 1u); }
    place = subgroupBroadcastFirst(place);
    let old = atomicCompareExchangeWeak(&first, 0u, sum | 1u);
    if (old.exchanged) { atomicAdd(&next, 100u); }
    if (lane == 0u) { out[place % 32u] = sum; }`,
    lanes,
  ).replace(
    "var<workgroup>",
    `@group(0) @binding(2) var<storage, read_write> next: atomic<u32>;
    @group(0) @binding(3) var<storage, read_write> first: atomic<u32>;
    var<workgroup>`,
  );
  const drawingTwice = drawing
    .replace("place = atomicAdd(&next, 1u);", "draw(sum); draw(sum);")
    .replace(
      "@compute",
      "fn draw(sum: u32) { let place = atomicAdd(&next, 1u); out[place % 64u] = sum; }\n@compute",
    )
    .replace("if (lane == 0u) { out[place % 32u] = sum; }", "")
    .replace("100u", "64u");
  /** Runs a kernel whose lanes draw places. Returns what does not depend on their order. */
  const drawn = async (code: string | CompilerResult) => {
    const counters = { 2: new Uint32Array(1), 3: new Uint32Array(1) };
    const { buffers, report } = await runKernel(device, code, {
      ...input,
      buffers: { ...input.buffers, ...counters },
    });
    const sums = [...buffers[0]!].toSorted();
    const isKnown = sums.includes(buffers[3]![0]!) || sums.includes(buffers[3]![0]! - 1);
    return { sums, next: buffers[2]![0], isKnown, detections: report?.[reportWords.detections] ?? 0 };
  };

  it.each([
    ["once", "subgroup", drawing],
    ["once", "workgroup", drawing],
    ["in a function that is called twice", "subgroup", drawingTwice],
    ["in a function that is called twice", "workgroup", drawingTwice],
  ] as const)("keep the results of atomic operations %s, over the %s", async (_, channel, code) => {
    expect(await drawn(inPasses(code, channel))).toEqual({ ...(await drawn(code)), detections: 0 });
  });

  it("would disagree if the second pass took another result of a function that is called twice", async () => {
    const keeping = inPasses(drawingTwice, "workgroup");
    const code = keeping.code.replace(
      /= min\((belay_met_1\[belay_replica\])/,
      "= min($1 ^ (1u - belay_replica)",
    );
    expect(code).not.toBe(keeping.code);
    expect((await drawn({ ...keeping, code })).detections).toBeGreaterThan(0);
  });

  it.each([
    ["once", drawing],
    ["in a function that is called twice", drawingTwice],
  ])("would disagree if the second pass executed atomic operations %s, too", async (_, source) => {
    const keeping = inPasses(source, "workgroup");
    const code = keeping.code.replaceAll("if (belay_replica == 1u) {", "{");
    expect(code).not.toBe(keeping.code);
    expect((await drawn({ ...keeping, code })).detections).toBeGreaterThan(0);
  });

  it("show operands of atomic operations that differ", async () => {
    const keeping = inPasses(drawing, "workgroup");
    const code = keeping.code.replace("sum | 1u", "(sum | 1u) ^ (belay_replica << 4u)");
    expect(code).not.toBe(keeping.code);
    expect((await drawn({ ...keeping, code })).detections).toBeGreaterThan(0);
  });

  it("would disagree on lanes that swap", async () => {
    const swapping = inPasses(kernels.scans!, "subgroup");
    const code = swapping.code.replaceAll("belay_pass * belay_zero", "belay_replica");
    expect(code).not.toBe(swapping.code);
    const { detections } = await compared(kernels.scans!, { ...swapping, code }, input);
    expect(detections).toBeGreaterThan(0);
  });

  it("show an operation that is wrong in one pass", async () => {
    const { code, ...others } = inPasses(kernels.scans!, "workgroup");
    const struck = code.replace("subgroupMax(v)", "(subgroupMax(v) ^ belay_replica)");
    expect(struck).not.toBe(code);
    const { detections, identical } = await compared(kernels.scans!, { ...others, code: struck }, input);
    expect({ isDetected: detections > 0, identical }).toEqual({ isDetected: true, identical: true });
  });
});
