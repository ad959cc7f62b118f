import { setImmediate } from "node:timers/promises";
import { twoTexts } from "belay-gpu/diversity";
import { BelayError } from "belay-gpu/internal/diagnostics/belayError";
import { isA } from "belay-gpu/internal/diagnostics/isA";
import { messageOf } from "belay-gpu/internal/diagnostics/messageOf";
import type { KernelReport, Report } from "belay-gpu/internal/runtime/belay";
import { type DetectedFault, FaultError } from "belay-gpu/internal/runtime/context/detectedFault";
import { MemoryFaultError } from "belay-gpu/internal/runtime/context/memoryFault";
import type { Policy } from "belay-gpu/internal/runtime/context/policy";
import { harden } from "belay-gpu/internal/runtime/harden";
import { describeDifference, findDifference } from "belay-gpu/internal/runtime/tuning/outputDifference";
import type { Outputs, Workload } from "belay-gpu/internal/runtime/tuning/workload";
import { referenceDevice } from "belay-gpu/reference";
import { type AdapterChoice, openGpu } from "belay-node/internal/adapter";
import { newDevice } from "belay-node/internal/newDevice";
import { CommandFailure } from "../terminal/failure.ts";

/**
 * Runs a workload once. Every failure, also a GPU error that nobody asked for, is thrown as one
 * `CommandFailure` with its cause.
 */
export async function runWorkload(workload: Workload, device: GPUDevice): Promise<Outputs> {
  let gpuError: GPUError | undefined;
  let lost: GPUDeviceLostInfo | undefined;
  void device.lost.then((info) => {
    lost = info;
  });
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
    if (isA(error, CommandFailure)) throw error;
    // A lost device reports its loss a moment later than the calls that fail because of it.
    await setImmediate();
    const why = lost ? describeLoss(lost) : messageOf(gpuError ?? error);
    const help = isA(error, BelayError) ? error.help : undefined;
    throw new CommandFailure("workload-failed", `the workload failed: ${why}`, { cause: error, help });
  } finally {
    device.removeEventListener("uncapturederror", listen);
  }
}

/**
 * Runs a workload on a hardened device. Returns undefined if a detected fault kept its results from
 * being released.
 */
export async function runUnlessRefused(workload: Workload, device: GPUDevice): Promise<Outputs | undefined> {
  try {
    return await runWorkload(workload, device);
  } catch (error) {
    const cause = error instanceof CommandFailure ? error.cause : undefined;
    if (isA(cause, FaultError) || isA(cause, MemoryFaultError)) return undefined;
    throw error;
  }
}

function describeLoss({ reason, message }: GPUDeviceLostInfo): string {
  if (reason === "destroyed") return "the device was destroyed while the workload used it";
  return `the device was lost: ${message || "the driver gives no reason"}`;
}

/**
 * Returns copies of the results, because a workload may reuse their memory in its next run. Throws
 * a `CommandFailure` for results that are no typed arrays or have lost their memory.
 */
function checkedOutputs(outputs: unknown): Outputs {
  const entries = typeof outputs === "object" && outputs !== null ? Object.entries(outputs) : [];
  const wrong = entries.find(([, value]) => !ArrayBuffer.isView(value));
  const detached = entries.find(([, value]) => !wrong && isDetached(value as ArrayBufferView));
  if (detached) {
    throw new CommandFailure(
      "workload-failed",
      `the workload failed: result "${detached[0]}" has lost its memory`,
      {
        help: "copy what a buffer is mapped to, by `slice()`, before it is unmapped or destroyed",
      },
    );
  }
  if (entries.length === 0 || wrong) {
    const what = wrong ? `result "${wrong[0]}" is no typed array` : "it gave no results";
    throw new CommandFailure("workload-failed", `the workload failed: ${what}`, {
      help: "a workload resolves to an object of typed arrays, such as { sum: new Float32Array(…) }",
    });
  }
  return Object.fromEntries(entries.map(([name, view]) => [name, copyOf(view as ArrayBufferView)]));
}

function isDetached({ buffer }: ArrayBufferView): boolean {
  try {
    return new Uint8Array(buffer).length < 0;
  } catch {
    return true;
  }
}

function copyOf(view: ArrayBufferView): ArrayBufferView {
  const { buffer, byteOffset, byteLength } = view;
  const bytes = new Uint8Array(buffer, byteOffset, byteLength).slice().buffer;
  return view instanceof DataView ? new DataView(bytes) : (view as Uint8Array).slice();
}

/** A policy as JSON: its diversity is a flag. */
export type SentPolicy = Omit<Policy, "diversity"> & { readonly diversity: boolean };

/** Returns the policy for `harden`. */
export const policyFrom = ({ diversity, ...policy }: SentPolicy): Policy => ({
  ...policy,
  diversity: diversity && twoTexts,
});

/** The result of `belay run`, which `--json` prints. */
export interface RunResult {
  /** True if the protected run gave the same bytes and no fault was detected. */
  readonly ok: boolean;
  readonly adapter: AdapterChoice;
  readonly policy: SentPolicy;
  /** The sizes of the unprotected results in bytes, by name. */
  readonly outputs: Readonly<Record<string, number>>;
  /**
   * The first difference between the runs; absent if there is none, or if the results were refused.
   */
  readonly difference?: string;
  /** True if results were not released, because a detected fault may have reached them. */
  readonly refused: boolean;
  readonly faults: readonly DetectedFault[];
  /** The report on protected memory; absent if no memory is protected. */
  readonly memory?: Report["memory"];
  readonly memoryFaults: Report["memoryFaults"];
  readonly kernels: readonly KernelReport[];
}

/** Runs a workload plain and hardened, and compares the results. */
export async function runTwice(workload: Workload, policy: SentPolicy): Promise<RunResult> {
  using opened = await openGpu();
  const plain = await newDevice(opened);
  const expected = await runWorkload(workload, plain);
  plain.destroy();

  const native = await newDevice(opened);
  const device = await harden(native, policyFrom(policy));
  const actual = await runUnlessRefused(workload, device);
  const { kernels, faults, memory, memoryFaults } = await device.belay.report();
  native.destroy();

  const difference = actual && findDifference(expected, actual);
  return {
    ok: actual !== undefined && difference === undefined && faults.length + memoryFaults.length === 0,
    adapter: opened.choice,
    policy,
    outputs: Object.fromEntries(Object.entries(expected).map(([name, view]) => [name, view.byteLength])),
    ...(difference && { difference: describeDifference(difference) }),
    refused: actual === undefined,
    faults,
    ...(memory && { memory }),
    memoryFaults,
    kernels,
  };
}

/** The result of `belay run --reference`, which `--json` prints. */
export interface ReferenceResult {
  /** True if integers are the same, and floats within the tolerance. */
  readonly ok: boolean;
  readonly adapter: AdapterChoice;
  readonly tolerance: number;
  /** The comparison of each result, by name. */
  readonly outputs: Readonly<Record<string, OutputComparison>>;
}

/** The comparison of a result on the device with that of the reference executor. */
export interface OutputComparison {
  readonly bytes: number;
  /** The number of elements with other bits. */
  readonly different: number;
  /** The largest difference of floats, relative to the largest magnitude; absent for integers. */
  readonly largest?: number;
  /** The first element beyond the tolerance; absent if there is none. */
  readonly difference?: string;
}

/** Runs a workload on the device, and with its kernels on the reference executor. */
export async function runOnReference(workload: Workload, tolerance: number): Promise<ReferenceResult> {
  using opened = await openGpu();
  const plain = await newDevice(opened);
  const actual = await runWorkload(workload, plain);
  plain.destroy();
  const native = await newDevice(opened);
  const expected = await runWorkload(workload, referenceDevice(native));
  native.destroy();
  const outputs = Object.fromEntries(
    Object.keys(expected).map((name) => [
      name,
      compareOutput(name, expected[name]!, actual[name], tolerance),
    ]),
  );
  const ok = Object.values(outputs).every(({ difference }) => difference === undefined);
  return { ok, adapter: opened.choice, tolerance, outputs };
}

/** Compares a result on the device with the one of the executor. */
export function compareOutput(
  name: string,
  expected: ArrayBufferView,
  actual: ArrayBufferView | undefined,
  tolerance: number,
): OutputComparison {
  const bytes = expected.byteLength;
  const found = findDifference({ [name]: expected }, actual ? { [name]: actual } : {});
  const isFloat = expected instanceof Float32Array || expected instanceof Float64Array;
  const different = found?.count ?? 0;
  if (!isFloat || actual?.byteLength !== bytes || actual.constructor !== expected.constructor)
    return { bytes, different, ...(found && { difference: describeDifference(found) }) };
  const [a, b] = [[...expected], [...(actual as typeof expected)]];
  const magnitude = a.reduce((most, x) => (Number.isFinite(x) ? Math.max(most, Math.abs(x)) : most), 0);
  const distances = a.map((x, i) => {
    const y = b[i]!;
    if (x === y || (Number.isNaN(x) && Number.isNaN(y))) return 0;
    const distance = Math.abs(x - y) / magnitude;
    return Number.isNaN(distance) ? Number.POSITIVE_INFINITY : distance;
  });
  const at = distances.findIndex((distance) => distance > tolerance);
  return {
    bytes,
    different,
    largest: distances.reduce((most, distance) => Math.max(most, distance), 0),
    ...(at >= 0 && { difference: `${name}[${at}] is ${b[at]} instead of ${a[at]}` }),
  };
}
