import type { ElementType, Loop } from "../loops/ir.ts";
import type { LoopData, SequentialLoop } from "../loops/sequential.ts";
import { runDefault } from "./defaultEngine.ts";
import type { Engine, Execution } from "./execution.ts";
import type { PhaseTimes } from "./phaseTimer.ts";
import { type PublishedOptions, runPublished } from "./published.ts";
import { download, Resident } from "./resident.ts";
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
}

export interface SpeculateOptions {
  readonly device?: GPUDevice;
  /**
   * The engine to use; `default` unless given. `published` is that of the paper, made sound; `sequential` is the CPU. A function is an
   * engine of one's own.
   */
  readonly engine?: "default" | "published" | "sequential" | Engine<SpeculateOptions>;
  /** What to leave out of the published engine. */
  readonly published?: Pick<PublishedOptions, "localization" | "copyOptimization" | "scheduling">;
  /**
   * `measured` leaves a loop, or the rest of it, to the CPU where that is faster; `never` executes on the CPU only what the GPU cannot.
   * Default: `measured`.
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

export interface Statistics {
  readonly engine: string;
  /** Why this engine. */
  readonly reason: string;
  /** How iterations were executed on the GPU. */
  readonly plans: readonly string[];
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

let usedDevice: GPUDevice | null = null;

/** Makes `device`, which may be a hardened one, the one that loops are executed on unless told otherwise. */
export function useDevice(device: GPUDevice | null): void {
  usedDevice = device;
}

/** Executes a loop with the effects that it has on the CPU. Loops on one device are executed one after the other. */
export async function speculate(call: SpeculateCall, options: SpeculateOptions = {}): Promise<Speculated> {
  const device = options.device ?? usedDevice;
  if (options.engine === "sequential" || !device) {
    return runSequential(call, device ? "the program asked for it" : "no device was given");
  }
  const workspace = Workspace.of(device);
  return workspace.exclusively(() => runOnDevice(workspace, call, options));
}

async function runOnDevice(
  workspace: Workspace,
  call: SpeculateCall,
  options: SpeculateOptions,
): Promise<Speculated> {
  const start = performance.now();
  const { loop } = call;
  const moved = { uploaded: 0, downloaded: 0 };
  const arrays = Object.entries(call.arrays).map(([name, given]) => {
    const { role } = loop.arrays.find((array) => array.name === name)!;
    return {
      name,
      written: role !== "read",
      isOwn: !(given instanceof Resident),
      resident: asResident(given),
    };
  });
  const written = arrays.filter((array) => array.written).map(({ resident }) => resident);
  const everything = arrays.map(({ resident }) => resident);
  const hosts = Object.fromEntries(arrays.map(({ name, resident }) => [name, resident.host]));
  const upload = () =>
    Object.fromEntries(arrays.map(({ name, resident }) => [name, resident.upload(workspace, moved)]));

  try {
    const carried = { ...call.carried };
    const reductions = { ...call.reductions };
    const buffers = upload();
    const execution: Execution = {
      ...call,
      carried,
      reductions,
      buffers,
      lengths: Object.fromEntries(arrays.map(({ name, resident }) => [name, resident.length])),
      async onCpu(from, to) {
        await download(everything, moved);
        const inputs = { ...call.inputs, $first: call.first, $step: call.step };
        const result = call.sequential(hosts, inputs, carried, reductions, from, to);
        for (const resident of written) resident.hostChanged();
        upload();
        for (const resident of written) resident.deviceChanged();
        return result;
      },
    };
    for (const resident of written) resident.deviceChanged();
    const engine = engineOf(options);
    const outcome = await engine(workspace, execution, options);
    await download(
      arrays.filter(({ isOwn }) => isOwn).map(({ resident }) => resident),
      moved,
    );
    const { executed, ended, rounds, misspeculated, onCpu, plans, phases } = outcome;
    const statistics: Statistics = {
      engine: typeof options.engine === "function" ? options.engine.name : (options.engine ?? "default"),
      reason: "the loop can be executed on the GPU",
      plans,
      rounds,
      committed: executed,
      misspeculated,
      onCpu,
      time: performance.now() - start,
      phases,
      bytes: moved,
    };
    return { carried, reductions, ended, next: executed, statistics };
  } finally {
    for (const { isOwn, resident } of arrays) if (isOwn) resident.giveBack();
  }
}

function engineOf({ engine }: SpeculateOptions): Engine<SpeculateOptions> {
  if (typeof engine === "function") return engine;
  if (engine !== "published") return runDefault;
  return (workspace, execution, { published, ...options }) =>
    runPublished(workspace, execution, { ...options, ...published });
}

function asResident(array: LoopData | Resident): Resident {
  return array instanceof Resident ? array : new Resident(array);
}

async function runSequential(call: SpeculateCall, reason: string): Promise<Speculated> {
  const start = performance.now();
  const residents = Object.values(call.arrays).filter((array) => array instanceof Resident);
  const moved = { uploaded: 0, downloaded: 0 };
  await download(residents, moved);
  const hosts = Object.fromEntries(
    Object.entries(call.arrays).map(([name, array]) => [
      name,
      array instanceof Resident ? array.host : array,
    ]),
  );
  const carried = { ...call.carried };
  const reductions = { ...call.reductions };
  const inputs = { ...call.inputs, $first: call.first, $step: call.step };
  const { next, ended } = call.sequential(hosts, inputs, carried, reductions, 0, call.count);
  for (const { name, role } of call.loop.arrays) {
    const array = call.arrays[name];
    if (role !== "read" && array instanceof Resident) array.hostChanged();
  }
  const statistics: Statistics = {
    engine: "sequential",
    reason,
    plans: [],
    rounds: 0,
    committed: next,
    misspeculated: 0,
    onCpu: next,
    time: performance.now() - start,
    phases: null,
    bytes: moved,
  };
  return { carried, reductions, ended, next, statistics };
}

/** The constructors of typed arrays by the element type that a loop has for them. */
export const constructors: Readonly<Record<ElementType, new (length: number) => LoopData>> = {
  i8: Int8Array,
  u8: Uint8Array,
  u8c: Uint8ClampedArray,
  i16: Int16Array,
  u16: Uint16Array,
  i32: Int32Array,
  u32: Uint32Array,
  f32: Float32Array,
};
