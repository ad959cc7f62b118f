/**
 * One thread of `speculateOnThreads`. It executes its block of each round, checks it against the
 * others' and commits it.
 */
import { parentPort, workerData } from "node:worker_threads";
import { Barrier } from "./barrier.ts";
import type { FirstKeys, Track } from "./trackedLoop.ts";

// Any typed array over shared memory; the loop's code keeps them apart.
export type ThreadArray = Int32Array;

export interface ThreadJob {
  readonly source: string;
  readonly thread: number;
  readonly threads: number;
  readonly arrays: Readonly<Record<string, ThreadArray>>;
  readonly inputs: Readonly<Record<string, number>>;
  readonly identities: Readonly<Record<string, number>>;
  readonly keys: FirstKeys;
  readonly keyCount: number;
  readonly count: number;
  readonly firstBlock: number;
  readonly shared: SharedWords;
}

/** The words that all threads share. Marks grow with the rounds, so none is ever cleared. */
export interface SharedWords {
  readonly barrier: Int32Array;
  /**
   * The first thread of the latest round that wrote each key; below, the last one that committed
   * it.
   */
  readonly firstWriter: Int32Array;
  readonly lastWriter: Int32Array;
  /** The words of each thread: 1 when its block ended the loop, else 0. */
  readonly ended: Int32Array;
  /** The first thread whose block is wrong, in this round and the next. */
  readonly bad: Int32Array;
}

export interface ThreadResult {
  readonly milliseconds: number;
  readonly rounds: number;
  readonly executed: number;
  readonly ended: boolean;
  /** The iterations of discarded blocks, of all threads. */
  readonly misspeculated: number;
  readonly reduced: Record<string, number>;
}

/** The loop turns that a possibly wrong block may take. */
const fuel = 1e8;
const smallestBlock = 64;

const port = parentPort!;
const job = workerData as ThreadJob;
const { thread, threads, arrays, inputs, keys, count, shared } = job;
const execute = new Function("arrays", "inputs", "keys", "track", "reduced", "from", "to", job.source) as (
  a: typeof arrays,
  i: typeof inputs,
  k: FirstKeys,
  t: Track,
  reduced: Record<string, number>,
  from: number,
  to: number,
) => boolean;

const barrier = new Barrier(shared.barrier, threads);
const tracked = Object.keys(keys).sort((a, b) => keys[a]! - keys[b]!);
const values = Object.fromEntries(
  tracked.map((name) => {
    const Elements = arrays[name]!.constructor as new (length: number) => ThreadArray;
    return [name, new Elements(arrays[name]!.length)];
  }),
);
const written = new Int32Array(job.keyCount).fill(-1);
const reduced: Record<string, number> = { ...job.identities };
let [reads, writes] = [new Int32Array(1 << 16), new Int32Array(1 << 16)];

port.on("message", () => {
  port.postMessage(run());
});
port.postMessage("ready");

function run(): ThreadResult {
  const begin = performance.now();
  let [from, round, block, streak, misspeculated] = [0, 1, job.firstBlock, 0, 0];
  let over = false;
  while (from < count && !over) {
    const blocks = Math.min(threads, Math.ceil((count - from) / block));
    const [start, end] = [from + thread * block, Math.min(from + (thread + 1) * block, count)];
    const part = { ...reduced };
    const track = executeBlock(start, end, round, part);
    shared.ended[thread] = track.ended ? 1 : 0;
    for (let n = 0; n < track.writeCount; n++) {
      raise(shared.firstWriter, writes[n]!, round * threads + (threads - 1 - thread));
    }
    if (thread === 0) Atomics.store(shared.bad, (round + 1) & 1, threads);
    barrier.wait();
    if (track.failed || isWrong(track, round)) lower(shared.bad, round & 1, thread);
    barrier.wait();
    const good = Math.min(Atomics.load(shared.bad, round & 1), blocks);
    const ending = shared.ended.subarray(0, good).indexOf(1);
    const commits = thread < good && (ending < 0 || thread <= ending);
    if (commits) {
      for (let n = 0; n < track.writeCount; n++)
        raise(shared.lastWriter, writes[n]!, round * threads + thread);
    }
    barrier.wait();
    if (commits) commit(track, round, part);
    over = ending >= 0;
    misspeculated += Math.min(count, from + blocks * block) - Math.min(count, from + good * block);
    from = Math.min(count, from + good * block);
    streak = good === blocks ? streak + 1 : 0;
    if (good < blocks && block > smallestBlock) block >>= 1;
    if (streak === 2) {
      block *= 2;
      streak = 0;
    }
    round++;
    barrier.wait();
  }
  return {
    milliseconds: performance.now() - begin,
    rounds: round - 1,
    executed: from,
    ended: over,
    misspeculated,
    reduced,
  };
}

type BlockTrack = Track & { ended: boolean; failed: boolean };

function executeBlock(start: number, end: number, round: number, part: Record<string, number>): BlockTrack {
  for (;;) {
    const track: BlockTrack = {
      written,
      round,
      reads,
      writes,
      values,
      readCount: 0,
      writeCount: 0,
      fuel: thread === 0 ? Infinity : fuel,
      ended: false,
      failed: false,
    };
    if (start >= end) return track;
    try {
      track.ended = execute(arrays, inputs, keys, track, part, start, end);
    } catch {
      track.failed = true;
    }
    if (track.readCount <= reads.length && track.writeCount <= writes.length) return track;
    // Accesses that do not fit into a list are only counted: the block runs again with longer
    // lists.
    reads = new Int32Array(2 * track.readCount);
    writes = new Int32Array(2 * track.writeCount);
    written.fill(-1);
    Object.assign(part, reduced);
  }
}

/** Returns true if the block read an element that an earlier block of this round wrote. */
function isWrong({ readCount }: Track, round: number): boolean {
  const own = round * threads + (threads - 1 - thread);
  for (let n = 0; n < readCount; n++) if (Atomics.load(shared.firstWriter, reads[n]!) > own) return true;
  return false;
}

/**
 * Copies the writes of the block that no later committing block repeats, and adds to the
 * reductions.
 */
function commit({ writeCount }: Track, round: number, part: Record<string, number>): void {
  const own = round * threads + thread;
  for (let n = 0; n < writeCount; n++) {
    const key = writes[n]!;
    if (shared.lastWriter[key] !== own) continue;
    const name = arrayOf(key);
    arrays[name]![key - keys[name]!] = values[name]![key - keys[name]!]!;
  }
  Object.assign(reduced, part);
}

function arrayOf(key: number): string {
  let name = tracked[0]!;
  for (const each of tracked) if (keys[each]! <= key) name = each;
  return name;
}

function raise(words: Int32Array, at: number, value: number): void {
  let old = Atomics.load(words, at);
  while (old < value) {
    const seen = Atomics.compareExchange(words, at, old, value);
    if (seen === old) return;
    old = seen;
  }
}

function lower(words: Int32Array, at: number, value: number): void {
  let old = Atomics.load(words, at);
  while (old > value) {
    const seen = Atomics.compareExchange(words, at, old, value);
    if (seen === old) return;
    old = seen;
  }
}
