/**
 * The placement policy, which decides where a call of a loop is executed. Every function here is
 * pure: the answer follows from the loop's timings, the call, the time spent on it and the device's
 * costs. Times are milliseconds.
 *
 * A loop runs where it promises to be faster, including transfers. While little is known, the CPU
 * begins, for at most a quarter of the GPU's expected time. Arrays that stay on the GPU move once
 * the time lost by leaving them adds up to the cost of moving them. As in the ski rental problem,
 * the loss is at most twice the least possible.
 */
import type { BodyStatement, Loop } from "../../loops/tree/ir.ts";
import { oncePerLoop } from "../../loops/tree/oncePerLoop.ts";
import { everyStatement, expressionsOf, hasInnerLoops, withOperands } from "../../loops/tree/walk.ts";
import { placing, repeating } from "./tuning.ts";

/** The device's times for work that the CPU does not have. */
export interface Costs {
  /** The time to start a command and to see its result. */
  readonly launch: number;
  readonly uploadedByte: number;
  readonly downloadedByte: number;
  /** The time to compile a kernel. */
  readonly compile: number;
}

/** The bytes that move between the program and the device. */
interface Transfer {
  readonly uploaded: number;
  readonly downloaded: number;
}

/** The bytes that executing a loop moves. */
export interface BytesToMove {
  /** For an execution on the device: arrays lent for this call, in both directions. */
  readonly lent: Transfer;
  /** For an execution on the device: arrays that stay there. */
  readonly toDevice: number;
  /**
   * For an execution on the host: arrays that the device has, now and when they move back to the
   * device.
   */
  readonly toHost: Transfer;
}

/** The side that executes a loop. */
type Side = "cpu" | "gpu";

/** The times of a loop's executions on either side. Rates are for one iteration. */
export interface Timings {
  /**
   * The CPU's rate by its operations, until it is measured; infinite for inner loops of unknown
   * length.
   */
  readonly assumedCpuRate: number;
  readonly cpuRate: number | null;
  /** The time that the CPU has worked on the loop, in total and since the GPU last executed it. */
  readonly cpuTime: number;
  readonly cpuTimeSince: number;
  /**
   * The lower one of the last two rates. The next data likely has as many conflicts, but one
   * measurement may have been disturbed.
   */
  readonly gpuRate: number | null;
  readonly lastGpuRate: number;
  /** The time by which the GPU's last execution exceeded the CPU's expected time. */
  readonly gpuLoss: number;
  /** True if the kernels are compiled, which takes most of the first execution. */
  readonly isCompiled: boolean;
  /**
   * The part of the iterations before which the GPU was too slow. Loops often begin with conflicts.
   */
  readonly head: number;
  /**
   * The time that the last executions, all on one side, lost because the arrays were there and not
   * on the other side.
   */
  readonly regret: { readonly of: Side; readonly time: number };
}

/** The properties of a call that decide its placement. */
export interface PlacedCall {
  readonly count: number;
  /** The number of iterations that the CPU has executed. */
  readonly done: number;
  /** True if the host's copy of every array is up to date. */
  readonly isOnHost: boolean;
  readonly bytes: BytesToMove;
  /** The time of the slowest compilation on the device. */
  readonly slowestCompile: number;
  /**
   * True if the loop is small. If the result depends on the side, sizes alone decide. Null if a
   * clock may decide.
   */
  readonly isSmall: boolean | null;
}

/** The time that the CPU has spent on the call. */
export interface Clock {
  readonly spent: number;
}

/**
 * The GPU's time besides executing iterations: `sending` for arrays to be kept there, and `fixed`
 * for the rest.
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
  /** The time to bring the arrays to the host. */
  readonly moving: number;
  /** The overhead of a GPU that takes over afterwards. */
  readonly overhead: GpuOverhead;
}

/** The side that executes the next iterations; `unknown` while the device's costs are not known. */
export type Placement = CpuPlacement | { readonly on: "gpu" | "unknown" };

const noOverhead: GpuOverhead = { fixed: Infinity, sending: 0 };

/**
 * Decides which side executes the next iterations of a call. Without costs it places only calls
 * that are too short to justify measuring them.
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
  // A large array does not move for a trial.
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

/** Returns true if the CPU continues a call after some of the iterations that it was given. */
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
 * Returns the time to hand arrays over to the CPU and back, of which the CPU changes so many bytes.
 */
export function handoverTime(writtenBytes: number, costs: Costs): number {
  return 2 * costs.launch + movingTime({ uploaded: writtenBytes, downloaded: writtenBytes }, costs);
}

/** Returns the overhead of the GPU for a call. */
export function overheadOf(
  timings: Timings,
  { bytes, slowestCompile }: PlacedCall,
  costs: Costs,
): GpuOverhead {
  // Compilation pays off over later executions. The CPU's time so far shows how long the loop may
  // need.
  const compilation = Math.max(placing.kernels * costs.compile, slowestCompile);
  const compiling = timings.isCompiled ? 0 : Math.max(0, compilation - timings.cpuTime);
  return {
    fixed: compiling + placing.launches * costs.launch + movingTime(bytes.lent, costs),
    // The time already lost by the arrays' absence counts against sending them.
    sending: Math.max(0, bytes.toDevice * costs.uploadedByte - regretOf(timings, "cpu")),
  };
}

/**
 * Returns true if the CPU is known to be best for calls like the last one, and no array waits to
 * move to the device.
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

/** Returns the expected time of the CPU for so many iterations. */
function cpuTime({ cpuRate, assumedCpuRate }: Timings, iterations: number): number {
  return (cpuRate ?? assumedCpuRate) * iterations;
}

/** Returns the expected time of the GPU for so many iterations. */
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

/** Returns the timings of a loop before its first execution. */
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
 * Returns the timings after the CPU executed iterations in `time`. The rate is null if it is
 * unknown.
 */
export function afterCpu(timings: Timings, rate: number | null, time: number): Timings {
  return {
    ...timings,
    cpuRate: rate ?? timings.cpuRate,
    cpuTime: timings.cpuTime + time,
    cpuTimeSince: timings.cpuTimeSince + time,
  };
}

/**
 * Returns the timings after the CPU executed a complete call that the GPU could have executed with
 * this overhead.
 */
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
 * A call that the GPU executed. `head` is the number of iterations at its beginning that it left to
 * the CPU, or null.
 */
export interface GpuExecution {
  readonly iterations: number;
  readonly time: number;
  readonly overhead: GpuOverhead;
  readonly head: number | null;
}

/** Returns the timings after a call that the GPU executed. */
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
  // The chance that an untried CPU is faster counts for a part of the time.
  const onCpu = cpuRate === null ? (1 - placing.trial) * time : cpuTime(timings, iterations);
  return withRegret(observed, "gpu", isCompiled ? time - overhead.sending - onCpu : 0);
}

/**
 * Returns true if a loop is too small for a GPU that keeps `keptBytes` of its arrays. The answer
 * follows from the loop's text and the numbers of its iterations and elements. Neither a clock nor
 * the place of the arrays changes it.
 */
export function isSmall(
  loop: Loop,
  count: number,
  lengths: Readonly<Record<string, number>>,
  keptBytes: number,
): boolean {
  // Inner loops may visit all elements.
  const elements = hasInnerLoops(loop) ? Object.values(lengths).reduce((sum, length) => sum + length, 0) : 0;
  return count * operationsOf(loop) + elements + keptBytes < placing.smallLoop;
}

/** The number of operations of an iteration, as far as the loop's text tells. */
const operationsOf = oncePerLoop(({ body }) => operationsIn(body));

function operationsIn(body: readonly BodyStatement[]): number {
  let operations = 0;
  for (const statement of everyStatement(body)) {
    for (const expression of expressionsOf(statement)) operations += [...withOperands(expression)].length;
    // An inner loop's statements are already counted once.
    if (statement.kind === "loop")
      operations += (placing.assumedIterations - 1) * operationsIn([...statement.body, ...statement.update]);
  }
  return operations;
}

/** An array of a call. `isKept` is true if it stays on the device between loops. */
export interface GivenArray {
  readonly length: number;
  readonly isKept: boolean;
}

/** Calls that the CPU executes at once, as it executed the call before them. */
export interface RepeatedCall {
  readonly count: number;
  readonly arrays: readonly GivenArray[];
  readonly reason: string;
  /** The time after which the rest of a call is placed again; infinite if no clock may decide. */
  readonly limit: number;
  /** The number of such calls before the next decision. */
  readonly left: number;
}

/**
 * Returns the state that lets calls like one that the CPU executed in `time` run at once. An
 * infinite time sets no limit.
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

/** Returns true if a call is like those that the CPU executes at once. */
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
 * Returns the state after a call that was executed at once; null if the next call must be decided.
 */
export function afterRepeat(known: RepeatedCall, isDone: boolean): RepeatedCall | null {
  return isDone && known.left > 1 ? { ...known, left: known.left - 1 } : null;
}
