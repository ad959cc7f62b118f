/**
 * Speculation on the CPU, as a reference for the GPU: the same optimistic scheme on threads. In
 * each round every thread executes a block of iterations on private copies. Blocks before the first
 * one that read an earlier block's write are committed, and the last writer of each element wins.
 * The rest is executed again.
 */
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { builtModule } from "belay-cli/internal/shared/workloads/guard";
import { reduceValues } from "belay-speculate/internal/engine/rounds/scalarBits";
import type { LoopData } from "belay-speculate/internal/loops/javascript/sequential";
import { identityOf } from "belay-speculate/internal/loops/kernels/code/reduced";
import type { Loop } from "belay-speculate/internal/loops/tree/ir";
import { emitTrackedLoop } from "./trackedLoop.ts";
import type { SharedWords, ThreadArray, ThreadJob, ThreadResult } from "./worker.ts";

export interface LoopArguments {
  readonly arrays: Readonly<Record<string, LoopData>>;
  readonly inputs: Readonly<Record<string, number>>;
  readonly first: number;
  readonly step: number;
  readonly count: number;
  readonly carried: Record<string, number>;
  readonly reductions: Record<string, number>;
}

/**
 * Executes the loop on `threads` threads. It changes arrays, carried variables and reductions as
 * the loop in sequence does, except that sums of floats may round in another order. The time is
 * that of the slowest thread, without starting threads or copying to shared memory. Rejects when
 * the signal is aborted.
 */
export async function speculateOnThreads(
  loop: Loop,
  { arrays, inputs, first, step, count, carried, reductions }: LoopArguments,
  threads: number,
  signal?: AbortSignal,
): Promise<Omit<ThreadResult, "reduced">> {
  const shared: Record<string, LoopData> = {};
  for (const { name } of loop.arrays) shared[name] = toShared(arrays[name]!);
  const variables = loop.carried.map(({ name, type }) => {
    const Elements = { i32: Int32Array, u32: Uint32Array, f32: Float32Array, f64: Float64Array }[type];
    shared[name] = toShared(Elements.of(carried[name]!));
    return name;
  });
  const keys: Record<string, number> = {};
  let keyCount = 0;
  for (const name of [
    ...loop.arrays.filter(({ role }) => role !== "read").map((array) => array.name),
    ...variables,
  ]) {
    keys[name] = keyCount;
    keyCount += shared[name]!.length;
  }
  const words: SharedWords = {
    barrier: sharedWords(2),
    firstWriter: sharedWords(keyCount),
    lastWriter: sharedWords(keyCount),
    ended: sharedWords(threads),
    bad: sharedWords(2).fill(threads),
  };
  const job: Omit<ThreadJob, "thread"> = {
    source: emitTrackedLoop(loop),
    threads,
    arrays: shared as unknown as Record<string, ThreadArray>,
    inputs: { ...inputs, $first: first, $step: step },
    identities: Object.fromEntries(
      loop.reductions.map((reduction) => [reduction.name, identityOf(reduction)]),
    ),
    keys,
    keyCount,
    count,
    firstBlock: Math.max(1, Math.ceil(Math.min(count / threads, 1 << 14))),
    shared: words,
  };
  const workers = Array.from({ length: threads }, (_, thread) => startThread({ ...job, thread }));
  const end = () => Promise.all(workers.map((worker) => worker.terminate()));
  signal?.addEventListener("abort", end);
  try {
    await Promise.all(workers.map(nextMessage));
    for (const worker of workers) worker.postMessage("run");
    const results = (await Promise.all(workers.map(nextMessage))) as ThreadResult[];
    for (const { name } of loop.arrays.filter(({ role }) => role !== "read"))
      arrays[name]!.set(shared[name]!);
    for (const name of variables) carried[name] = shared[name]![0]!;
    for (const reduction of loop.reductions) {
      const parts = results.map(({ reduced }) => reduced[reduction.name]!);
      reductions[reduction.name] = parts.reduce(
        (a, b) => reduceValues(reduction, a, b),
        reductions[reduction.name]!,
      );
    }
    const { rounds, executed, ended, misspeculated } = results[0]!;
    return {
      milliseconds: Math.max(...results.map((each) => each.milliseconds)),
      rounds,
      executed,
      ended,
      misspeculated,
    };
  } finally {
    signal?.removeEventListener("abort", end);
    await end();
  }
}

function startThread(workerData: ThreadJob): Worker {
  const url = builtModule(new URL(`worker${extname(import.meta.url)}`, import.meta.url));
  return new Worker(url, { workerData, execArgv: [] });
}

function nextMessage(worker: Worker): Promise<unknown> {
  return new Promise((resolve, reject) => {
    worker.once("message", resolve);
    worker.once("error", reject);
    worker.once("exit", () => reject(new Error("a thread ended early")));
  });
}

const sharedWords = (length: number) => new Int32Array(new SharedArrayBuffer(Math.max(4, length * 4)));

function toShared(data: LoopData): LoopData {
  const Elements = data.constructor as new (
    buffer: SharedArrayBuffer,
    offset: number,
    length: number,
  ) => LoopData;
  const copy = new Elements(new SharedArrayBuffer(data.byteLength), 0, data.length);
  copy.set(data);
  return copy;
}
