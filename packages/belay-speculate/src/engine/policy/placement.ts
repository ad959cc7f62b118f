/**
 * The placement policy: where a call of a loop is executed. Every function here is pure: the answer
 * follows from the loop's timings, the call, the time spent on it and the device's costs. Times are
 * milliseconds.
 *
 * A loop runs where it promises to be faster, moving included. While little is known of it, the CPU
 * begins, for a quarter of the time at most that the GPU is expected to take. Arrays that stay on
 * the GPU move once the time lost by leaving them where they are adds up to the cost of moving
 * them, as in the ski rental problem: not more than twice the least is lost.
 */
import type { Loop, LoopStatement } from "../../loops/tree/ir.ts";
import { oncePerLoop } from "../../loops/tree/oncePerLoop.ts";
import { everyStatement, expressionsOf, hasInnerLoops, withOperands } from "../../loops/tree/walk.ts";
import { placing, repeating } from "./tuning.ts";

/** The time that a device takes for things that the CPU does not have to do. */
export interface Costs {
  /** To start something and to see its result. */
  readonly launch: number;
  readonly uploadedByte: number;
  readonly downloadedByte: number;
  /** To compile a kernel. */
  readonly compile: number;
}

/** Bytes that move between the program and the device. */
interface Transfer {
  readonly uploaded: number;
  readonly downloaded: number;
}

/** Bytes that executing a loop moves. */
export interface BytesToMove {
  /** On the device: to lend it arrays for this call, and to have them back. */
  readonly lent: Transfer;
  /** On the device: of arrays that stay there. */
  readonly toDevice: number;
  /** On the host: of arrays that the device has, now and when the device is to have them again. */
  readonly toHost: Transfer;
}

/** The side that executes a loop. */
type Side = "cpu" | "gpu";

/** The times that executions of a loop took on either side; rates are for one iteration. */
export interface Timings {
  /**
   * The rate that the CPU has by its operations, until it is measured; infinite for inner loops of
   * unknown length.
   */
  readonly assumedCpuRate: number;
  readonly cpuRate: number | null;
  /** The time that the CPU has worked on the loop, in all and since the GPU last executed it. */
  readonly cpuTime: number;
  readonly cpuTimeSince: number;
  /**
   * The lower one of the last two rates: the next data is likely to have as many conflicts, but
   * something may have held one up.
   */
  readonly gpuRate: number | null;
  readonly lastGpuRate: number;
  /** The time that the GPU's last execution took longer than the CPU would have. */
  readonly gpuLoss: number;
  /** Whether kernels are compiled, which takes most of the first execution. */
  readonly isCompiled: boolean;
  /**
   * The part of the iterations before which the GPU was too slow: loops often begin with conflicts.
   */
  readonly head: number;
  /**
   * The time that the last executions, all on one side, would have been shorter on the other, but
   * for arrays to be moved.
   */
  readonly regret: { readonly of: Side; readonly time: number };
}

/** A call of a loop, as far as its placement depends on it. */
export interface PlacedCall {
  readonly count: number;
  /** Iterations that the CPU has executed. */
  readonly done: number;
  /** Whether the host has every array as it is. */
  readonly isOnHost: boolean;
  readonly bytes: BytesToMove;
  /** The time of the slowest compilation on the device. */
  readonly slowestCompile: number;
  /**
   * Where the result depends on the side, sizes decide alone: whether they call the loop small.
   * Null where a clock may decide.
   */
  readonly isSmall: boolean | null;
}

/** The time that the CPU has spent on the call. */
export interface Clock {
  readonly spent: number;
}

/**
 * The time that the GPU takes besides executing iterations: for arrays to be kept there
 * (`sending`), and for the rest (`fixed`).
 */
export interface GpuOverhead {
  readonly fixed: number;
  readonly sending: number;
}

/** A decision to let the CPU execute iterations up to `to`. */
export interface CpuPlacement {
  readonly on: "cpu";
  readonly to: number;
  /** The condition to stop before that; see {@link staysOnCpu}. */
  readonly until: "warm" | "slower" | "end";
  /** The time that it takes to bring the arrays to the host. */
  readonly moving: number;
  /** The overhead of a GPU that takes over afterwards. */
  readonly overhead: GpuOverhead;
}

/** Where the next iterations are executed; `unknown` while the device's costs are not known. */
export type Placement = CpuPlacement | { readonly on: "gpu" | "unknown" };

const noOverhead: GpuOverhead = { fixed: Infinity, sending: 0 };

/**
 * Decides where the next iterations of a call are executed. Without costs, only calls are placed
 * that cannot be worth asking for them.
 */
export function place(timings: Timings, call: PlacedCall, clock: Clock, costs: Costs | null): Placement {
  const { count, done, bytes, isSmall } = call;
  const onCpu = { on: "cpu", to: count, moving: 0, overhead: noOverhead } as const;
  if (isSmall !== null) return isSmall ? { ...onCpu, until: "end" } : { on: "gpu" };
  if (!costs) {
    const isNew = timings.gpuRate === null && !isWarm(timings);
    const isFree = call.isOnHost && bytes.toHost.uploaded === 0;
    return isNew && isFree ? { ...onCpu, until: "warm" } : { on: "unknown" };
  }
  const left = count - done;
  const moving = Math.max(0, movingTime(bytes.toHost, costs) - regretOf(timings, "gpu"));
  const onGpu = gpuTime(timings, left, overheadOf(timings, call, costs));
  const { uploaded } = bytes.toHost;
  const later = overheadOf(
    timings,
    { ...call, bytes: { ...bytes, toDevice: bytes.toDevice + uploaded } },
    costs,
  );
  const mayBeFaster = cpuTime(timings, left) < placing.clearlySlower * onGpu;
  // No large array moves on the chance alone.
  const isLight = moving <= placing.trial * placing.launches * costs.launch;
  const isUnclear = timings.cpuRate === null ? isLight || mayBeFaster : !isWarm(timings) && mayBeFaster;
  const isFaster = moving + cpuTime(timings, left) < onGpu;
  if (isFaster || (isUnclear && clock.spent + moving < placing.trial * onGpu))
    return { on: "cpu", to: count, until: "slower", moving, overhead: later };
  const head = Math.floor(timings.head * count);
  if (head > done && moving < placing.trial * Math.min(onGpu, cpuTime(timings, head)))
    return { on: "cpu", to: head, until: "end", moving, overhead: later };
  return { on: "gpu" };
}

/** Decides whether the CPU goes on with a call after some of the iterations that it was given. */
export function staysOnCpu(
  { until, moving, overhead }: CpuPlacement,
  timings: Timings,
  { count, done }: Pick<PlacedCall, "count" | "done">,
  { spent }: Clock,
): boolean {
  if (until === "end") return true;
  if (until === "warm") return !isWarm(timings);
  const onGpu = gpuTime(timings, count - done, overhead);
  return spent + moving < placing.trial * onGpu || cpuTime(timings, count - done) < onGpu;
}

/**
 * Computes the time that it takes to hand arrays over to the CPU, which changes so many bytes of
 * them, and back.
 */
export function handoverTime(writtenBytes: number, costs: Costs): number {
  return 2 * costs.launch + movingTime({ uploaded: writtenBytes, downloaded: writtenBytes }, costs);
}

/** Computes the overhead of the GPU for a call. */
export function overheadOf(
  timings: Timings,
  { bytes, slowestCompile }: PlacedCall,
  costs: Costs,
): GpuOverhead {
  // What has to be compiled pays off over the executions to come; those before have shown how long
  // the loop may need.
  const compilation = Math.max(placing.kernels * costs.compile, slowestCompile);
  const compiling = timings.isCompiled ? 0 : Math.max(0, compilation - timings.cpuTime);
  return {
    fixed: compiling + placing.launches * costs.launch + movingTime(bytes.lent, costs),
    // What was lost already as the arrays are not there counts against sending them.
    sending: Math.max(0, bytes.toDevice * costs.uploadedByte - regretOf(timings, "cpu")),
  };
}

/**
 * Tells whether the CPU is known to be best for calls like one that it executed, and no array waits
 * to move to the device.
 */
export function isSure(timings: Timings, bytesToDevice: number, costs: Costs | null): boolean {
  const isKnown = costs !== null && timings.cpuRate !== null && isWarm(timings);
  return isKnown && (bytesToDevice === 0 || regretOf(timings, "cpu") === 0);
}

const isWarm = ({ cpuTime }: Timings): boolean => cpuTime > placing.warmUp;
const regretOf = ({ regret }: Timings, side: Side): number => (regret.of === side ? regret.time : 0);

function withRegret(timings: Timings, side: Side, time: number): Timings {
  return { ...timings, regret: { of: side, time: regretOf(timings, side) + Math.max(0, time) } };
}

/** Computes the time that the CPU should take for so many iterations. */
function cpuTime({ cpuRate, assumedCpuRate }: Timings, iterations: number): number {
  return (cpuRate ?? assumedCpuRate) * iterations;
}

/** Computes the time that the GPU should take for so many iterations. */
function gpuTime(timings: Timings, iterations: number, { fixed, sending }: GpuOverhead): number {
  const { gpuRate, gpuLoss, cpuTimeSince } = timings;
  const all = fixed + sending;
  const isOpen = gpuRate === null || cpuTimeSince > placing.retryAfterLoss * gpuLoss;
  return isOpen ? placing.assumedConflicts * all : all + gpuRate * iterations;
}

function movingTime({ uploaded, downloaded }: Transfer, costs: Costs): number {
  const launch = downloaded > 0 ? costs.launch : 0;
  return launch + uploaded * costs.uploadedByte + downloaded * costs.downloadedByte;
}

/** Returns the timings of a loop that nobody has executed. */
export function unmeasured(loop: Loop): Timings {
  return {
    assumedCpuRate: hasInnerLoops(loop) ? Infinity : placing.assumedOperation * operationsOf(loop),
    cpuRate: null,
    cpuTime: 0,
    cpuTimeSince: 0,
    gpuRate: null,
    lastGpuRate: Infinity,
    gpuLoss: 0,
    isCompiled: false,
    head: 0,
    regret: { of: "cpu", time: 0 },
  };
}

/**
 * Adds iterations that the CPU executed in `time`, at a rate that is null where it cannot be told.
 */
export function afterCpu(timings: Timings, rate: number | null, time: number): Timings {
  return {
    ...timings,
    cpuRate: rate ?? timings.cpuRate,
    cpuTime: timings.cpuTime + time,
    cpuTimeSince: timings.cpuTimeSince + time,
  };
}

/** Adds a call that the CPU executed completely, and the GPU with this overhead could have. */
export function afterCpuAlone(
  timings: Timings,
  count: number,
  spent: number,
  { fixed }: GpuOverhead,
): Timings {
  const onGpu = gpuTime(timings, count, { fixed, sending: 0 });
  return withRegret(timings, "cpu", spent - onGpu);
}

/**
 * A call that the GPU executed, with the iterations at its beginning (`head`) that it left to the
 * CPU, if any.
 */
export interface GpuExecution {
  readonly iterations: number;
  readonly time: number;
  readonly overhead: GpuOverhead;
  readonly head: number | null;
}

/** Adds a call that the GPU executed. */
export function afterGpu(timings: Timings, { iterations, time, overhead, head }: GpuExecution): Timings {
  const { isCompiled, cpuRate } = timings;
  const rate = Math.max(0, time - overhead.fixed - overhead.sending) / iterations;
  const observed: Timings = {
    ...timings,
    head: head === null ? placing.shorterHead * timings.head : head / iterations,
    cpuTimeSince: 0,
    gpuLoss: Math.max(0, time - cpuTime(timings, iterations)),
    gpuRate: isCompiled ? Math.min(rate, timings.lastGpuRate) : timings.gpuRate,
    lastGpuRate: isCompiled ? rate : timings.lastGpuRate,
    isCompiled: true,
  };
  // Of a CPU that nobody has tried, the chance is worth a part.
  const onCpu = cpuRate === null ? (1 - placing.trial) * time : cpuTime(timings, iterations);
  return withRegret(observed, "gpu", isCompiled ? time - overhead.sending - onCpu : 0);
}

/**
 * Tells whether a loop is too small for a GPU that keeps `keptBytes` of its arrays, by its text and
 * the number of its iterations and elements alone: neither a clock nor where the arrays are changes
 * the answer.
 */
export function isSmall(
  loop: Loop,
  count: number,
  lengths: Readonly<Record<string, number>>,
  keptBytes: number,
): boolean {
  // Inner loops may go over all elements.
  const elements = hasInnerLoops(loop) ? Object.values(lengths).reduce((sum, length) => sum + length, 0) : 0;
  return count * operationsOf(loop) + elements + keptBytes < placing.smallLoop;
}

/** Counts the operations of an iteration of a loop, as far as its text tells. */
const operationsOf = oncePerLoop(({ body }) => operationsIn(body));

function operationsIn(body: readonly LoopStatement[]): number {
  let operations = 0;
  for (const statement of everyStatement(body)) {
    for (const expression of expressionsOf(statement)) operations += [...withOperands(expression)].length;
    // What is in an inner loop is counted once by itself.
    if (statement.kind === "loop")
      operations += (placing.assumedTurns - 1) * operationsIn([...statement.body, ...statement.update]);
  }
  return operations;
}

/** An array of a call: its length, and whether it stays on the device between loops. */
export interface GivenArray {
  readonly length: number;
  readonly isKept: boolean;
}

/** Calls that the CPU executes at once, as it executed the one before them. */
export interface RepeatedCall {
  readonly count: number;
  readonly arrays: readonly GivenArray[];
  readonly reason: string;
  /**
   * The time after which it is decided again where the rest is executed; infinite where no clock
   * may decide.
   */
  readonly limit: number;
  /** Calls that are executed so before one is decided about. */
  readonly left: number;
}

/**
 * Lets calls like one that the CPU executed in `time` be executed at once; an infinite time decides
 * nothing.
 */
export function repeatedCall(
  count: number,
  arrays: readonly GivenArray[],
  reason: string,
  time: number,
): RepeatedCall {
  const limit = repeating.times * time + repeating.pause;
  return { count, arrays, reason, limit, left: repeating.calls };
}

/** Tells whether a call is like those that the CPU executes at once. */
export function repeats(known: RepeatedCall, count: number, arrays: readonly GivenArray[]): boolean {
  return (
    known.count === count &&
    arrays.every(({ length, isKept }, place) => {
      const before = known.arrays[place]!;
      return length === before.length && isKept === before.isKept;
    })
  );
}

/**
 * Counts a call that was executed at once, up to its end or not; null when the next one is decided
 * about.
 */
export function afterRepeat(known: RepeatedCall, isDone: boolean): RepeatedCall | null {
  return isDone && known.left > 1 ? { ...known, left: known.left - 1 } : null;
}
