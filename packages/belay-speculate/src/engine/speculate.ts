import { speculationError } from "../diagnostics/speculation.ts";
import type { Loop } from "../loops/ir.ts";
import type { LoopData, SequentialLoop } from "../loops/sequential.ts";
import { DeviceCall } from "./deviceCall.ts";
import { rescue } from "./downloads.ts";
import { whyNot } from "./eligibility.ts";
import type { Engine } from "./execution.ts";
import { byHabit, joined, restOf } from "./habit.ts";
import type { PhaseTimes } from "./phaseTimer.ts";
import { Resident, residentOf } from "./resident.ts";
import { settle } from "./sharedMemory.ts";
import { onCpuAlone, speculatedFrom } from "./speculatedFrom.ts";
import { memoryOf, Turn, usesFrom } from "./turns.ts";
import { Workspace } from "./workspace.ts";

/** One execution of a loop: what the plugin writes in its place. */
export interface SpeculateCall {
  readonly loop: Loop;
  readonly sequential: SequentialLoop;
  /** The loop's arrays, by name; changed in place. */
  readonly arrays: Readonly<Record<string, LoopData | Resident>>;
  readonly inputs: Readonly<Record<string, number>>;
  /** Values before the loop. */
  readonly carried: Readonly<Record<string, number>>;
  readonly reductions: Readonly<Record<string, number>>;
  /** The index in the first iteration, and what it changes by from one to the next. */
  readonly first: number;
  readonly step: number;
  /** How many iterations there are, unless the loop ends itself. */
  readonly count: number;
  /** The turn of the call, if it has one already and has come; whoever took it ends it. */
  readonly turn?: Turn;
}

/** How a loop is executed; everything has a default. */
export interface SpeculateOptions {
  /** Default: that of `useDevice`; without any, the CPU executes the loop. */
  readonly device?: GPUDevice;
  /**
   * The engine that executes the loop; `default` unless given. `sequential` is the CPU. A function
   * is an engine of the program's own.
   */
  readonly engine?: "default" | "sequential" | Engine<SpeculateOptions>;
  /**
   * `measured` leaves a loop, or the rest of it, to the CPU where that is faster; `never` executes on the CPU only what the GPU cannot.
   * Default: `measured`. Where the CPU rounds in another way than a GPU may, with f32 arithmetic, no clock decides but the size of the loop and
   * the number of iterations executed in vain, so that the same program on the same device has the same result each time; unless the
   * device fails, or takes more than 0.2 s for a round, which has to become shorter.
   */
  readonly fallback?: "measured" | "never";
  /** Measures how long each phase takes on the GPU; needs the feature `timestamp-query`, and time. */
  readonly timings?: boolean;
}

/** What came of an execution. */
export interface Speculated {
  /** Values after the loop. */
  readonly carried: Record<string, number>;
  readonly reductions: Record<string, number>;
  /** Whether the loop ended itself with a `break`. */
  readonly ended: boolean;
  /** The first iteration that was not executed. */
  readonly next: number;
  readonly statistics: Statistics;
}

/** How a loop was executed. */
export interface Statistics {
  readonly engine: string;
  /** Why this engine. */
  readonly reason: string;
  /** How iterations were executed on the GPU. */
  readonly plans: readonly string[];
  /** Windows of iterations that the GPU was given. */
  readonly rounds: number;
  readonly committed: number;
  /** Iterations that a round looked at and left to a later one. */
  readonly misspeculated: number;
  /** Iterations that the CPU executed. */
  readonly onCpu: number;
  /** Milliseconds: all, and on the GPU by phase where that was asked for. */
  readonly time: number;
  readonly phases: PhaseTimes | null;
  readonly bytes: { readonly uploaded: number; readonly downloaded: number };
}

/** What a program that is translated wants to know of its loops. */
export interface DeviceUse {
  /** Is told of each loop how it was executed, and why there. What it throws rejects the loop's promise. */
  readonly onExecuted?: (loop: Pick<Loop, "name" | "span">, statistics: Statistics) => void;
}

let usedDevice: GPUDevice | null = null;
let use: DeviceUse = {};

/**
 * Makes `device`, which may be a hardened one, the one that loops are executed on unless told otherwise; `null`: the CPU executes
 * them. Throws a `SpeculationError` (BELAY543) for anything else.
 */
export function useDevice(device: GPUDevice | null, options: DeviceUse = {}): void {
  if (device !== null) requireDevice(device);
  usedDevice = device;
  use = options;
}

/** Refuses what has not what loops use of a device. */
function requireDevice(device: Partial<GPUDevice> | undefined): void {
  const isDevice =
    typeof device === "object" &&
    typeof device.createComputePipelineAsync === "function" &&
    typeof device.queue?.submit === "function" &&
    typeof device.lost?.then === "function";
  if (!isDevice) throw speculationError.notDevice(device);
}

/**
 * Executes a loop with the effects that it has on the CPU; on the CPU where the device cannot. Loops that use the same arrays take effect in
 * the order of their calls, and loops on one device are executed one after the other. Leave the arrays alone until it resolves.
 *
 * Rejects with what the loop itself throws, and with a `SpeculationError` (BELAY540, BELAY541) when the device fails with data that
 * only it had, or an array got another length meanwhile.
 */
export async function speculate(given: SpeculateCall, options: SpeculateOptions = {}): Promise<Speculated> {
  if (options.device !== undefined) requireDevice(options.device);
  const device = options.device ?? usedDevice;
  const arrays = Object.entries(given.arrays).map(([name, array]) => [name, residentOf(array)] as const);
  const call = { ...given, arrays: Object.fromEntries(arrays) };
  const turn = given.turn ?? new Turn(usesOf(call));
  let executed: Speculated;
  try {
    if (turn.comes) await turn.comes;
    executed = await execute(call, device, options);
  } finally {
    if (!given.turn) turn.end();
  }
  use.onExecuted?.(given.loop, executed.statistics);
  return executed;
}

/** The memory of the arrays: others may read it at the same time where the loop only reads it, and no device keeps it. */
function usesOf({ loop, arrays }: SpeculateCall): ReadonlyMap<object, boolean> {
  const isRead = (name: string) => loop.arrays.some((one) => one.name === name && one.role === "read");
  return usesFrom(
    Object.entries(arrays).map(([name, array]) =>
      array instanceof Resident ? [memoryOf(array.host), true] : [memoryOf(array), !isRead(name)],
    ),
  );
}

async function execute(
  call: SpeculateCall,
  device: GPUDevice | null,
  options: SpeculateOptions,
): Promise<Speculated> {
  const { engine = "default", fallback = "measured" } = options;
  if (device && engine === "default" && fallback === "measured") {
    const begun = byHabit(Workspace.of(device), call);
    if (begun?.next === call.count || begun?.ended) return begun;
    if (begun) return joined(begun, await execute(restOf(call, begun), device, options));
  }
  const hosts = Object.fromEntries(
    Object.entries(call.arrays).map(([name, array]) => [
      name,
      array instanceof Resident ? array.host : array,
    ]),
  );
  const inOrder = (reason: string) => runSequential(call, hosts, reason);
  if (options.engine === "sequential") return inOrder("the program asked for it");
  if (!device) return inOrder("no device was given");
  const workspace = Workspace.of(device);
  return workspace.exclusively(() => {
    const reason = workspace.isLost ? "the device is lost" : whyNot(call, hosts, device.limits);
    return reason === null ? new DeviceCall(workspace, call, options).run() : inOrder(reason);
  });
}

/** Executes the whole loop on the CPU. */
async function runSequential(
  call: SpeculateCall,
  hosts: Readonly<Record<string, LoopData>>,
  reason: string,
): Promise<Speculated> {
  const start = performance.now();
  const moved = { uploaded: 0, downloaded: 0 };
  for (const { name, role } of call.loop.arrays) {
    const array = call.arrays[name];
    const own = array instanceof Resident ? array : null;
    if (hosts[name]) await settle(hosts[name], own, role !== "read");
    await rescue(own ? [own] : [], moved);
    if (role !== "read") own?.hostChanged();
  }
  const carried = { ...call.carried };
  const reductions = { ...call.reductions };
  const inputs = { ...call.inputs, $first: call.first, $step: call.step };
  const reached = call.sequential(hosts, inputs, carried, reductions, 0, call.count);
  const about = { engine: "sequential", reason, start, moved };
  return speculatedFrom(onCpuAlone(reached), { carried, reductions }, about);
}
