/** A kernel computes the same in the same order in access normal form and after protection. */

import { type CompilerOptions, reportWords } from "belay-gpu/internal/compiler/contract";
import { protect } from "belay-gpu/internal/compiler/protect";
import { desugarLoops } from "belay-gpu/internal/transforms/normalize/desugarLoops";
import { expandSwizzles } from "belay-gpu/internal/transforms/normalize/expandSwizzles";
import { normalizeAccesses } from "belay-gpu/internal/transforms/normalize/normalizeAccesses";
import { resolvePointers } from "belay-gpu/internal/transforms/normalize/resolvePointers";
import { uniqueNames } from "belay-gpu/internal/transforms/normalize/uniqueNames";
import { print } from "belay-gpu/internal/wgsl/printer";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";
import { kernel, kernelInput } from "../support/kernels/arbitraryKernels.ts";
import { runKernel, runTwins } from "../support/kernels/kernelRunner.ts";
import { everything } from "../support/sample.ts";
import { applySteps } from "../support/wgsl/goldens.ts";

const { newDevice } = testDevices({ full: true });
let device: GPUDevice;
beforeAll(async () => {
  device = await newDevice();
});

/** `t` records that it was called, and its argument. */
const prelude = `
  requires unrestricted_pointer_parameters;
  struct Part { at: vec4u, list: array<u32, 8> }
  @group(0) @binding(0) var<storage, read_write> trace: array<u32>;
  @group(0) @binding(1) var<storage, read_write> out: array<u32>;
  @group(0) @binding(2) var<storage, read_write> n: array<atomic<u32>>;
  @group(0) @binding(3) var<storage, read_write> parts: array<Part, 4>;
  var<private> calls: u32;
  fn t(x: u32) -> u32 { trace[calls] = x; calls++; return x; }
  fn yes(x: u32) -> bool { return t(x) > 0u; }
  fn bump(p: ptr<function, u32>) -> u32 { *p += 1u; return t(*p); }
  fn add(p: ptr<storage, u32, read_write>, x: u32) -> u32 { *p += x; return t(*p); }
`;
const main = (body: string) => `${prelude}
  @compute @workgroup_size(1) fn main() {
    trace[63] = atomicLoad(&n[0]) + parts[0].at.x; out[15] = 1u;
    ${body}
  }`;

const bodies: Record<string, string> = {
  "indices, operands and values": `
    out[t(1)] += t(2) * atomicAdd(&n[t(3)], t(4)) + t(5);
    out[t(6)] = t(7) + out[t(1)] * (t(8) - atomicOr(&n[t(1)], t(9))) - t(10);
    out[bump_index()] -= atomicAdd(&n[0], out[2]) + t(11);`,
  "variables that calls change": `
    var i = 1u;
    out[i] = bump(&i) + i * atomicAdd(&n[i], bump(&i)) + bump(&i) * i;
    out[i] += bump(&i) + atomicLoad(&n[2]) + i;
    let x = vec3u(i, atomicAdd(&n[0], bump(&i)), i)[bump(&i) % 3u];
    out[8] = x + i;`,
  "short circuits": `
    if (yes(1) && atomicAdd(&n[0], t(2)) > 5u && yes(3)) { out[0] = t(4); }
    else if (yes(0) || (yes(5) && atomicAdd(&n[1], 1u) == 2u) || yes(6)) { out[1] = t(7); }
    else if (atomicAdd(&n[2], t(8)) > 0u) { out[2] = t(9); }
    let b = (yes(0) & (yes(1) || atomicAdd(&n[3], t(10)) > 1u)) | !(yes(11) && atomicLoad(&n[3]) > 0u);
    out[3] = select(t(12), t(13), b);`,
  "headers of loops": `
    for (var i = atomicAdd(&n[0], t(1)); t(i) < 4u && atomicAdd(&n[1], 1u) < 9u; i += atomicLoad(&n[0]) - t(1)) { if (i == 2u) { continue; } out[i] += t(20 + i); }
    while (atomicSub(&n[1], 1u) > 2u && yes(30)) { if (atomicLoad(&n[1]) == 4u) { continue; } out[9] += 1u; }
    var k = 0u;
    loop { k++; if (k == 2u) { continue; } out[k] += t(k); continuing { out[10] += t(40); break if atomicAdd(&n[2], t(2)) > 5u || yes(0); } }
    for (out[11] = t(50); out[11] < 53u; out[11] += t(1)) { let i = k; out[12] += i; }`,
  "selectors and returns": `
    switch (atomicAdd(&n[0], t(1)) + t(2)) { case 2, 3: { out[0] = t(3); } case 4, default: { out[1] = t(5); } }
    for (var i = 0u; i < 3u; i++) { switch i { case 1: { continue; } default: { out[2 + i] = atomicAdd(&n[1], t(i)); } } if (atomicLoad(&n[1]) > 1u) { return; } }
    out[7] = t(99);`,
  "pointers whose index changes afterwards": `
    var i = 0u;
    let p = &out[i];
    i++;
    let q = &out[bump(&i)];
    *p = t(5); i++;
    *q += *p + i;
    let part = &parts[i % 4u];
    i++;
    (*part).list[i] = add(p, t(3)) + add(q, (*part).list[bump(&i)]) + add(&(*part).list[i], t(4));
    for (let r = &out[i]; *r < 3u; *r += 1u) { i++; }`,
  "parts of composite values": `
    var i = 1u;
    parts[bump(&i) % 4u].at.zx = vec2u(t(3), bump(&i));
    parts[2].at.wy += parts[2].at.xz * t(2);
    parts[i].at[bump(&i) % 4u]++;
    parts[0].list = array(t(1), t(2), atomicAdd(&n[0], t(3)), t(4), i, bump(&i), i, 0u);
    parts[1] = parts[0];
    parts[1].list[t(1)] <<= t(2);
    parts[3].at = parts[1].at.wzyx + vec4u(atomicLoad(&n[0]));`,
  "names that hide others": `
    var out_ = 1u;
    { let n = t(2); var t = n; t += 1u; { let n = t; trace[40] = n; } out[t] = n; var min = out_; out[min] = bump(&min); trace[41] = min; }
    out_ += out[out_];`,
};
const functions = "fn bump_index() -> u32 { calls++; return t(2) * 2u; }";

describe("access normal form", () => {
  it.each(Object.entries(bodies))("keeps the order of %s", async (_, body) => {
    const code = `${main(body)} ${functions}`;
    const { after } = applySteps(code, [
      (program, names) => uniqueNames(program, names).module,
      desugarLoops,
      resolvePointers,
      normalizeAccesses,
      expandSwizzles,
    ]);
    const words = (length: number) => Uint32Array.from({ length }, (_, i) => (i * 7) % 5);
    const input = {
      buffers: { 0: new Uint32Array(64), 1: words(16), 2: new Uint32Array(4), 3: words(48) },
      workgroups: [1, 1, 1] as const,
    };
    const original = await runKernel(device, code, input);
    const normal = await runKernel(device, print(after.module), input);
    expect(normal.buffers).toEqual(original.buffers);
    expect(original.buffers[0]!.filter((word) => word !== 0).length).toBeGreaterThan(3);
  });
});

describe("a random kernel", () => {
  const options = [
    ["intra-lds", "store", Number.POSITIVE_INFINITY],
    ["intra-lds", "signature", Number.POSITIVE_INFINITY],
    // The software adapter takes long to compile the loops in which twins wait.
    ["inter", "signature", 2000],
  ] as const;

  it.each(options)("computes the same after protection: %s, %s", async (redundancy, check, longest) => {
    const options: CompilerOptions = { redundancy, check, channel: "subgroup", features: ["subgroups"] };
    const kernels = kernel.filter((code) => code.length < longest);
    await fc.assert(
      fc.asyncProperty(kernels, async (code) => {
        const original = await runKernel(device, code, kernelInput);
        const guarded = await runTwins(device, protect(code, options), kernelInput);
        expect(guarded.buffers).toEqual(original.buffers);
        expect(guarded.report[reportWords.detections]).toBe(0);
        expect(guarded.cells.every((cell) => cell === 0)).toBe(true);
      }),
      { seed: 1, numRuns: everything ? 8 : 2, endOnFailure: true },
    );
  });
});
