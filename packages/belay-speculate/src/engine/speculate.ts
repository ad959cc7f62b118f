import { aFunction, flag, longWork, oneOf, refuseUnknown } from "belay-gpu/internal/diagnostics/options";
import { speculationError } from "../diagnostics/speculation.ts";
import type { LoopData } from "../loops/javascript/sequential.ts";
import {
  beginStep,
  type ExecutionOptions,
  onCpuAlone,
  type SpeculateCall,
  type Speculated,
  type SpeculateOptions,
  speculatedFrom,
} from "./call/call.ts";
import { DeviceCall } from "./call/deviceCall.ts";
import { whyNot } from "./call/eligibility.ts";
import { executeAsBefore, joined, restOf } from "./call/repeatedCalls.ts";
import { Workspace } from "./device/workspace.ts";
import { deviceCopies } from "./transfer/deviceCopies.ts";
import { rescue } from "./transfer/downloads.ts";
import { combineUses, memoryOf, OrderedOperation } from "./transfer/operationOrder.ts";
import { ResidentArray, residentOf } from "./transfer/resident.ts";

/** The options of all loops that have none of their own. */
export type DeviceUse = Pick<SpeculateOptions, "onExecuted">;

const optionValues = {
  device: null,
  engine: null,
  fallback: oneOf(["measured", "never"]),
  timings: flag,
  onExecuted: aFunction,
  ...longWork,
};

let usedDevice: GPUDevice | null = null;
let use: DeviceUse = {};

/**
 * Makes `device`, which may be a hardened one, the default device of loops. With `null`, the CPU
 * executes loops. Throws a `SpeculationError` (BELAY543) for anything else, and a `TypeError` for
 * unknown options.
 */
export function useDevice(device: GPUDevice | null, options: DeviceUse = {}): void {
  if (device !== null) requireDevice(device);
  refuseUnknown(options, { onExecuted: aFunction });
  usedDevice = device;
  use = options;
}

/** Throws a `SpeculationError` if `device` lacks members that loops use. */
function requireDevice(device: Partial<GPUDevice> | undefined): void {
  const isDevice =
    typeof device === "object" &&
    typeof device.createComputePipelineAsync === "function" &&
    typeof device.queue?.submit === "function" &&
    typeof device.lost?.then === "function";
  if (!isDevice) throw speculationError.notDevice(device);
}

/**
 * Executes a loop with the effects that it has on the CPU. The CPU executes the loop if the device
 * cannot. Loops that use the same arrays take effect in the order of their calls. Loops on one
 * device are executed one after the other. Do not touch the arrays until the promise resolves.
 *
 * Rejects with an error that the loop itself throws. Rejects with a `SpeculationError` if the
 * device fails with data that only it had, or if an array changed its length meanwhile (BELAY540,
 * BELAY541). Rejects with one (BELAY543) if `options.device` is no device, and with a `TypeError`
 * for unknown options. Rejects with the signal's reason if it is aborted before the loop ends.
 */
export async function speculate(given: SpeculateCall, options: ExecutionOptions = {}): Promise<Speculated> {
  if (given.doubles) {
    const { call, doublesOf } = given.doubles(given);
    return doublesOf(await speculate(call, options));
  }
  refuseUnknown(options, optionValues);
  const { signal, onExecuted = use.onExecuted } = options;
  signal?.throwIfAborted();
  if (options.device !== undefined) requireDevice(options.device);
  const device = options.device ?? usedDevice;
  const arrays = Object.entries(given.arrays).map(([name, array]) => [name, residentOf(array)] as const);
  const call = { ...given, arrays: Object.fromEntries(arrays) };
  const turn = given.turn ?? new OrderedOperation(usesOf(call));
  let executed: Speculated;
  try {
    if (turn.comes) await unlessAborted(turn.comes, signal);
    executed = await executeInParts(call, device, options);
  } finally {
    if (!given.turn) turn.end();
  }
  const { name, span } = given.loop;
  onExecuted?.({ name, span: { start: span.start, end: span.end } }, executed.statistics);
  return executed;
}

/** Waits for a promise. Rejects with the signal's reason as soon as the signal is aborted. */
async function unlessAborted(waiting: Promise<unknown>, signal: AbortSignal | undefined): Promise<void> {
  if (!signal) return void (await waiting);
  let abort!: () => void;
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort);
  });
  try {
    await Promise.race([waiting, aborted]);
    signal.throwIfAborted();
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/**
 * Returns the memory of the arrays, with true for memory that the loop needs alone. Other loops may
 * read memory at the same time if this loop only reads it and no device keeps it.
 */
function usesOf({ loop, arrays }: SpeculateCall): ReadonlyMap<object, boolean> {
  const isRead = (name: string) => loop.arrays.some((one) => one.name === name && one.role === "read");
  return combineUses(
    Object.entries(arrays).map(([name, array]) =>
      array instanceof ResidentArray ? [memoryOf(array.host), true] : [memoryOf(array), !isRead(name)],
    ),
  );
}

/** The least number of iterations that are worth a round on the GPU of their own. */
const leastPart = 2 ** 16;

/**
 * Executes a call in parts, in each of which a double surely holds all sums. If that takes short
 * parts, the CPU executes the rest, which rounds sums as the program does.
 */
async function executeInParts(
  call: SpeculateCall,
  device: GPUDevice | null,
  options: ExecutionOptions,
): Promise<Speculated> {
  const most = device && options.engine !== "sequential" ? exactIterations(call) : call.count;
  if (most >= call.count) return execute(call, device, options);
  if (most < leastPart) return execute(call, null, options, "a double may not hold a sum");
  const part = await execute({ ...call, count: most }, device, inPart(options, call.count));
  if (part.ended) return part;
  return joined(part, await executeInParts(restOf(call, part), device, afterBegin(options, part)));
}

/** Returns the number of iterations after which a double still holds all sums of a call. */
function exactIterations({ loop, reductions }: SpeculateCall): number {
  const counts = loop.reductions.map(({ name, largestChange }) =>
    largestChange === undefined ? Infinity : (2 ** 53 - Math.abs(reductions[name]!)) / largestChange,
  );
  return Math.max(0, Math.floor(Math.min(...counts)));
}

async function execute(
  call: SpeculateCall,
  device: GPUDevice | null,
  options: ExecutionOptions,
  whyNoDevice = "no device was given",
): Promise<Speculated> {
  const { engine = "default", fallback = "measured" } = options;
  if (device && engine === "default" && fallback === "measured") {
    const begun = executeAsBefore(Workspace.of(device), call, () => beginCpu(call, options));
    if (begun?.next === call.count || begun?.ended) return begun;
    if (begun) return joined(begun, await execute(restOf(call, begun), device, afterBegin(options, begun)));
  }
  const hosts = Object.fromEntries(
    Object.entries(call.arrays).map(([name, array]) => [
      name,
      array instanceof ResidentArray ? array.host : array,
    ]),
  );
  const inOrder = (reason: string) => runSequential(call, hosts, reason, options);
  if (options.engine === "sequential") return inOrder("the program asked for it");
  if (!device) return inOrder(whyNoDevice);
  const workspace = Workspace.of(device);
  return workspace.exclusively(() => {
    options.signal?.throwIfAborted();
    const reason = workspace.isLost ? "the device is lost" : whyNot(call, hosts, device.limits);
    return reason === null ? new DeviceCall(workspace, call, options).run() : inOrder(reason);
  });
}

/** Begins the iterations of a call on the CPU. */
const beginCpu = ({ count }: SpeculateCall, options: ExecutionOptions) =>
  beginStep(options, { done: 0, total: count, processor: "CPU" });

/** Returns the options for a part of a call with so many iterations in all. */
function inPart(options: ExecutionOptions, total: number): ExecutionOptions {
  const { onProgress } = options;
  return onProgress ? { ...options, onProgress: (step) => onProgress({ ...step, total }) } : options;
}

/** Returns the options for the rest of a call, whose progress counts the iterations before it. */
function afterBegin(options: ExecutionOptions, { next }: Speculated): ExecutionOptions {
  const { onProgress } = options;
  if (!onProgress) return options;
  return {
    ...options,
    onProgress: ({ done, total, doing }) => onProgress({ done: next + done, total: next + total, doing }),
  };
}

/** Executes the whole loop on the CPU. */
async function runSequential(
  call: SpeculateCall,
  hosts: Readonly<Record<string, LoopData>>,
  reason: string,
  options: ExecutionOptions,
): Promise<Speculated> {
  const start = performance.now();
  const moved = { uploaded: 0, downloaded: 0 };
  for (const { name, role } of call.loop.arrays) {
    const array = call.arrays[name];
    const own = array instanceof ResidentArray ? array : null;
    if (hosts[name]) await deviceCopies.settle(hosts[name], own, role !== "read");
    await rescue(own ? [own] : [], moved);
    if (role !== "read") own?.hostChanged();
  }
  beginCpu(call, options);
  const carried = { ...call.carried };
  const reductions = { ...call.reductions };
  const inputs = { ...call.inputs, $first: call.first, $step: call.step };
  const reached = call.sequential(hosts, inputs, carried, reductions, 0, call.count);
  const about = { engine: "sequential", reason, start, moved };
  return speculatedFrom(onCpuAlone(reached), { carried, reductions }, about);
}
