import type { Workspace } from "belay-speculate/internal/engine/device/workspace";
import { contributionBytes } from "belay-speculate/internal/engine/rounds/contributions";
import type { LoopExecution } from "belay-speculate/internal/engine/rounds/execution";
import { wgslName } from "belay-speculate/internal/loops/kernels/code/names";
import { parametersOf } from "belay-speculate/internal/loops/kernels/code/parameters";
import { controlSize } from "belay-speculate/internal/loops/kernels/control";
import { addedParameters, keysOf, logRows, ownedStores, stateSize, tableWords } from "./kernels/layout.ts";
import { mostUndone } from "./kernels/recovery.ts";

/**
 * Returns the accesses that an iteration may log when the loop gives no limit: many for few
 * iterations, few for many.
 */
const assumedAccesses = (count: number) => Math.min(1024, Math.max(16, Math.floor(2 ** 22 / count)));
/** The loop turns that an iteration may take on the GPU. */
const fuel = 1 << 14;
/** The most iterations that one round runs again: one invocation executes them in order. */
const mostAgain = 1024;

/** Returns true if a buffer of the device can hold the state of all elements. */
export function tablesFit({ limits }: GPUDevice, { loop, lengths, count }: LoopExecution): boolean {
  const { tracked } = keysOf(loop, (name) => lengths[name]!);
  const most = Math.min(limits.maxStorageBufferBindingSize, limits.maxBufferSize);
  return 4 * tableWords(tracked, count).all <= most;
}

/** The memory of the published engine's kernels besides the arrays. */
export interface PublishedMemory {
  readonly trackedKeys: number;
  /** The most stores of an iteration to tracked elements. */
  readonly mostStores: number;
  /** The most iterations of a round that fit. */
  readonly longest: number;
  /** The buffers, by their names in kernels. */
  readonly buffers: Readonly<Record<string, GPUBuffer>>;
  readonly parameters: Readonly<Record<string, number>>;
  /** The place of the marks in the tables, in bytes. */
  readonly marks: number;
}

/** Creates the buffers of an execution. The tables are its own, to be destroyed after it. */
export function publishedMemory(workspace: Workspace, execution: LoopExecution): PublishedMemory {
  const { loop, lengths, buffers, inputs, first, step, count } = execution;
  const { device } = workspace;
  const keys = keysOf(loop, (name) => lengths[name]!);
  const assumed = assumedAccesses(count);
  const mostLoads = loop.mostLoads ?? assumed;
  const mostStores = loop.mostStores ?? assumed;
  const loggedStores = mostStores + (ownedStores(loop) ?? assumed);

  const rows = logRows(mostLoads, loggedStores);
  const { maxStorageBufferBindingSize, maxBufferSize } = device.limits;
  const words = Math.floor(Math.min(maxStorageBufferBindingSize, maxBufferSize, 2 ** 31) / 4);
  const longest = Math.max(1, Math.min(count, Math.floor((words - 2 * mostUndone) / rows)));
  const tables = tableWords(keys.tracked, longest);

  const { STORAGE, COPY_SRC, COPY_DST, UNIFORM } = GPUBufferUsage;
  const buffer = (name: string, words: number, usage: number) =>
    workspace.buffer(name, 4 * words, usage | COPY_DST);
  const named = {
    params: buffer("published params", parametersOf(loop, addedParameters(loop)).size, UNIFORM),
    control: buffer("control", controlSize(loop.carried.length), STORAGE | COPY_SRC),
    state: buffer("published state", stateSize(loop), STORAGE | COPY_SRC),
    tables: device.createBuffer({
      label: "tables",
      size: Math.max(16, 4 * tables.all),
      usage: STORAGE | COPY_DST,
    }),
    log_words: buffer("published log", longest * rows + 2 * mostUndone, STORAGE),
    contributions: buffer("contributions", contributionBytes(loop, count) / 4, STORAGE | COPY_SRC),
    ...Object.fromEntries(loop.arrays.map(({ name }) => [`array_${wgslName(name)}`, buffers[name]!])),
  };
  const parameters = {
    first,
    step,
    count,
    fuel,
    most_again: mostAgain,
    most_loads: mostLoads,
    most_stores: loggedStores,
    tracked_keys: keys.tracked,
    key_carried: keys.carried,
    ...Object.fromEntries(loop.arrays.map(({ name }) => [`length_${wgslName(name)}`, lengths[name]!])),
    ...Object.fromEntries(loop.inputs.map(({ name }) => [`input_${wgslName(name)}`, inputs[name]!])),
    ...Object.fromEntries([...keys.firstOf].map(([name, key]) => [`key_${wgslName(name)}`, key])),
  };
  const marks = 4 * tables.marks;
  return { trackedKeys: keys.tracked, mostStores, longest, buffers: named, parameters, marks };
}
