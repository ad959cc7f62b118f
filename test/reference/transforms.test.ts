/** Random kernels compute the same on the CPU before and after each transform. */
import { type CompilerOptions, reportWords } from "belay-gpu/internal/compiler/contract";
import { protect } from "belay-gpu/internal/compiler/protect";
import { desugarLoops } from "belay-gpu/internal/transforms/normalize/desugarLoops";
import { expandSwizzles } from "belay-gpu/internal/transforms/normalize/expandSwizzles";
import { normalizeAccesses } from "belay-gpu/internal/transforms/normalize/normalizeAccesses";
import { resolvePointers } from "belay-gpu/internal/transforms/normalize/resolvePointers";
import { uniqueNames } from "belay-gpu/internal/transforms/normalize/uniqueNames";
import { print } from "belay-gpu/internal/wgsl/printer";
import { createReferenceBuffer } from "belay-gpu/reference";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { kernelOnHalves } from "../../research/src/scripts/halfPrograms/asHalves.ts";
import { create as createNBody } from "../../research/src/workloads/samples/nBody.ts";
import { halfKernel, kernel, kernelInput } from "../support/kernels/arbitraryKernels.ts";
import type { KernelInput } from "../support/kernels/kernelRunner.ts";
import { runReference, translated } from "../support/kernels/reference.ts";
import { applySteps } from "../support/wgsl/goldens.ts";

/** The number can be raised beyond the time of a test run. */
const numRuns = Number(process.env.REFERENCE_KERNELS ?? 12);
const anyKernel = fc.oneof(kernel, halfKernel);
const nearest = { floats: "nearest" } as const;

/** Returns what a kernel leaves in its buffers. */
function original(code: string, input: KernelInput = kernelInput): Uint8Array[] {
  const run = runReference(translated(code, input, nearest), input);
  expect(run.undecided).toBeUndefined();
  return Object.values(run.buffers).map(({ bytes }) => bytes);
}

/** Runs a protected kernel, and expects the results of the plain one and an empty report. */
function expectOriginal(code: string, options: CompilerOptions, input: KernelInput = kernelInput): void {
  const { code: text, layout } = protect(code, options);
  const buffers = Object.entries(input.buffers).map(([binding, words]) => ({
    group: 0,
    binding: Number(binding),
    buffer: createReferenceBuffer(words),
  }));
  const report = createReferenceBuffer(new ArrayBuffer(layout!.bytes));
  const { group, binding } = layout!;
  const all = [...buffers, { group, binding, buffer: report }];
  const kernelOnCpu = translated(text, input, nearest);
  expect(kernelOnCpu.run({ workgroups: input.workgroups, buffers: all, subgroupSize: 4 })).toEqual({});
  expect(buffers.map(({ buffer }) => buffer.bytes)).toEqual(original(code, input));
  expect(new Uint32Array(report.bytes.buffer)[reportWords.detections]).toBe(0);
}

it("keeps what kernels compute in access normal form", () => {
  const steps = [
    (program, names) => uniqueNames(program, names).module,
    desugarLoops,
    resolvePointers,
    normalizeAccesses,
    expandSwizzles,
  ] satisfies Parameters<typeof applySteps>[1];
  fc.assert(
    fc.property(anyKernel, (code) => {
      const { after } = applySteps(code, steps);
      const run = runReference(translated(print(after.module), kernelInput, nearest), kernelInput);
      expect(run.undecided).toBeUndefined();
      expect(Object.values(run.buffers).map(({ bytes }) => bytes)).toEqual(original(code));
    }),
    { numRuns },
  );
});

const policies: readonly CompilerOptions[] = [
  { redundancy: "intra+lds", check: "signature", channel: "workgroup" },
  { redundancy: "intra+lds", check: "store", channel: "workgroup" },
  { redundancy: "intra-lds", check: "store", channel: "subgroup", features: ["subgroups"] },
];

describe("protection keeps what kernels compute, and reports nothing", () => {
  it.each(policies)("$redundancy $check $channel $pairing", (options) => {
    fc.assert(
      fc.property(anyKernel, (code) => expectOriginal(code, options)),
      { numRuns },
    );
  });
});

// A GPU rounds these kernels in another way than the plain one, which WGSL allows.
it("keeps each rounding of bodies on 16-bit floats", () => {
  const bodies = Uint32Array.from({ length: 256 }, (_, i) => 0x34003000 + 0x01110077 * (i % 7));
  const buffers = { 0: bodies, 1: bodies, 2: new Uint32Array(256), 3: new Uint32Array(256) };
  const code = kernelOnHalves(createNBody().kernelSources!.step!);
  for (const options of policies) expectOriginal(code, options, { buffers, workgroups: [2, 1, 1] });
});
