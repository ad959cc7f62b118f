import { BelayFaultError } from "../runtime/fault.ts";
import { BelayMemoryError } from "../runtime/memory/memoryFault.ts";
import type { Workload } from "../runtime/workload.ts";
import { CommandFailure, messageOf } from "./failure.ts";

/** Results by name, as the bytes and the type they came in. */
export type Outputs = Readonly<Record<string, ArrayBufferView>>;

/**
 * Runs a workload once. Whatever goes wrong in it, GPU errors nobody asked for included, is thrown as one failure that
 * carries the cause.
 */
export async function runWorkload(workload: Workload, device: GPUDevice): Promise<Outputs> {
  let gpuError: GPUError | undefined;
  const listen = (event: GPUUncapturedErrorEvent) => {
    event.preventDefault();
    gpuError ??= event.error;
  };
  device.addEventListener("uncapturederror", listen);
  try {
    const outputs: unknown = await workload(device);
    await device.queue.onSubmittedWorkDone();
    if (gpuError) throw new Error(gpuError.message);
    return checkedOutputs(outputs);
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    throw new CommandFailure("BELAY408", `the workload failed: ${messageOf(gpuError ?? error)}`, {
      cause: error,
    });
  } finally {
    device.removeEventListener("uncapturederror", listen);
  }
}

/** Runs a workload on a hardened device; undefined when a detected fault kept its results from being released. */
export async function runUnlessRefused(workload: Workload, device: GPUDevice): Promise<Outputs | undefined> {
  try {
    return await runWorkload(workload, device);
  } catch (error) {
    const cause = error instanceof CommandFailure ? error.cause : undefined;
    if (cause instanceof BelayFaultError || cause instanceof BelayMemoryError) return undefined;
    throw error;
  }
}

function checkedOutputs(outputs: unknown): Outputs {
  const entries = typeof outputs === "object" && outputs !== null ? Object.entries(outputs) : [];
  const wrong = entries.find(([, value]) => !ArrayBuffer.isView(value));
  if (entries.length === 0 || wrong) {
    const what = wrong ? `result "${wrong[0]}" is no typed array` : "it gave no results";
    throw new CommandFailure("BELAY408", `the workload failed: ${what}`, {
      help: "a workload resolves to an object of typed arrays, such as { sum: new Float32Array(…) }",
    });
  }
  return outputs as Outputs;
}

/** The first place where two runs' outputs differ, in words; undefined when every byte is the same. */
export function findDifference(expected: Outputs, actual: Outputs): string | undefined {
  for (const name of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
    const [before, after] = [expected[name], actual[name]];
    if (!before || !after) return `only one run gave "${name}"`;
    if (before.byteLength !== after.byteLength) {
      return `"${name}" has ${after.byteLength} bytes instead of ${before.byteLength}`;
    }
    const index = firstDifferentByte(before, after);
    if (index !== undefined) return describeDifference(name, index, before, after);
  }
  return undefined;
}

function firstDifferentByte(before: ArrayBufferView, after: ArrayBufferView): number | undefined {
  const [a, b] = [before, after].map((view) =>
    Buffer.from(view.buffer, view.byteOffset, view.byteLength),
  ) as [Buffer, Buffer];
  // Comparing whole buffers is native and quick; the search starts only when it pays.
  return a.equals(b) ? undefined : a.findIndex((byte, i) => byte !== b[i]);
}

function describeDifference(
  name: string,
  byte: number,
  before: ArrayBufferView,
  after: ArrayBufferView,
): string {
  const [a, b] = [before, after] as unknown as [Uint32Array, Uint32Array];
  const index = Math.floor(byte / (a.BYTES_PER_ELEMENT ?? 1));
  return a.BYTES_PER_ELEMENT === undefined
    ? `byte ${byte} of "${name}" differs`
    : `${name}[${index}] is ${b[index]} instead of ${a[index]}`;
}
