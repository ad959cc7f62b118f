/** Runs kernels on the reference executor, and compares their results with those of a device. */

import {
  createReference,
  createReferenceBuffer,
  type ReferenceBuffer,
  type ReferenceKernel,
  type ReferenceOptions,
  type UndecidedResult,
} from "belay-gpu/reference";
import type { KernelInput } from "./kernelRunner.ts";

/** The outcome of a kernel on the executor. */
export interface ReferenceRun {
  readonly undecided?: UndecidedResult;
  readonly buffers: Readonly<Record<number, ReferenceBuffer>>;
}

/** Translates a kernel. Throws if the executor lacks something that it needs. */
export function translated(source: string, input: KernelInput, options?: ReferenceOptions): ReferenceKernel {
  const { entryPoint, constants } = input;
  const kernel = createReference(
    { source, ...(entryPoint !== undefined && { entryPoint }), ...(constants && { constants }) },
    options,
  );
  if ("construct" in kernel) throw new Error(`unsupported: ${kernel.construct} at ${kernel.span.start}`);
  return kernel;
}

/** Runs a kernel on buffers of group 0. */
export function runReference(
  kernel: ReferenceKernel,
  { buffers, workgroups }: KernelInput,
  subgroupSize = 4,
): ReferenceRun {
  const copies = Object.fromEntries(
    Object.entries(buffers).map(([binding, words]) => [binding, createReferenceBuffer(words)]),
  );
  const bound = Object.entries(copies).map(([binding, buffer]) => ({
    group: 0,
    binding: Number(binding),
    buffer,
  }));
  return { ...kernel.run({ workgroups, buffers: bound, subgroupSize }), buffers: copies };
}

/** Returns the words of a device that the executor's results do not allow. */
export function differences(buffer: ReferenceBuffer, words: Uint32Array): string[] {
  const expected = new Uint32Array(buffer.bytes.buffer);
  const floats = new Float32Array(words.buffer);
  return [...words].flatMap((word, i) => {
    if (buffer.allows(4 * i, word)) return [];
    const { low, high } = buffer.rangeAt(4 * i) ?? {};
    const allowed = low === undefined ? `${expected[i]}` : `in ${low} to ${high}`;
    return [`${i}: ${word} (${floats[i]}) is not ${allowed}`];
  });
}
