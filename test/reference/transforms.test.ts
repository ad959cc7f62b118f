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
import { halfKernel, kernel, kernelInput } from "../support/kernels/arbitraryKernels.ts";
import { runReference, translated } from "../support/kernels/reference.ts";
import { applySteps } from "../support/wgsl/goldens.ts";

/** The number can be raised beyond the time of a test run. */
const numRuns = Number(process.env.REFERENCE_KERNELS ?? 12);
const anyKernel = fc.oneof(kernel, halfKernel);
const nearest = { floats: "nearest" } as const;

function original(code: string): Uint8Array[] {
  const run = runReference(translated(code, kernelInput, nearest), kernelInput);
  expect(run.undecided).toBeUndefined();
  return Object.values(run.buffers).map(({ bytes }) => bytes);
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
      fc.property(anyKernel, (code) => {
        const { code: text, layout } = protect(code, options);
        const kernelOnCpu = translated(text, kernelInput, nearest);
        const buffers = Object.entries(kernelInput.buffers).map(([binding, words]) => ({
          group: 0,
          binding: Number(binding),
          buffer: createReferenceBuffer(words),
        }));
        const report = createReferenceBuffer(new ArrayBuffer(layout!.bytes));
        const { group, binding } = layout!;
        const all = [...buffers, { group, binding, buffer: report }];
        const outcome = kernelOnCpu.run({ workgroups: [1, 1, 1], buffers: all, subgroupSize: 4 });
        expect(outcome).toEqual({});
        expect(buffers.map(({ buffer }) => buffer.bytes)).toEqual(original(code));
        expect(new Uint32Array(report.bytes.buffer)[reportWords.detections]).toBe(0);
      }),
      { numRuns },
    );
  });
});
