import { messageOf } from "../diagnostics/messageOf.ts";
import { BelayFaultError } from "../runtime/fault.ts";
import { BelayMemoryError } from "../runtime/memory/memoryFault.ts";
import type { Outputs, Workload } from "../runtime/workload.ts";
import { CommandFailure } from "./failure.ts";

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
