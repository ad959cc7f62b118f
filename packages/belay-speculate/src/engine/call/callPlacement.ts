import { hasOpenRounding } from "../../loops/analysis/openRounding.ts";
import { costsOf } from "../device/costs.ts";
import type { Workspace } from "../device/workspace.ts";
import { CountedHandover, type Handover, TimedHandover } from "../policy/handover.ts";
import type { LoopProfile } from "../policy/loopProfile.ts";
import {
  afterCpu,
  afterCpuAlone,
  afterGpu,
  type BytesToMove,
  type Costs,
  type CpuPlacement,
  type GpuOverhead,
  handoverTime,
  isSmall,
  isSure,
  overheadOf,
  type PlacedCall,
  place,
  staysOnCpu,
} from "../policy/placement.ts";
import type { CallArrays } from "../transfer/callArrays.ts";
import type { SpeculateCall } from "./call.ts";
import { runInSlices } from "./slices.ts";

interface Reached {
  /** The first iteration that was not executed. */
  readonly next: number;
  readonly ended: boolean;
}

/** Executes iterations on the CPU: those from `from` to `to - 1`. */
type RunOnCpu = (from: number, to: number) => Reached;

/**
 * The placement of one call: carries out what the policy decides, and tells the loop's profile the
 * times that it took.
 */
export class CallPlacement {
  readonly #workspace: Workspace;
  readonly #profile: LoopProfile;
  readonly #arrays: CallArrays;
  readonly #count: number;
  readonly #bytes: BytesToMove;
  readonly #isSmall: boolean | null;
  /** Bytes of arrays to keep that the device has to be sent now. */
  #bytesToDevice: number;
  /** The device's costs, once it was asked. */
  #costs: Costs | null = null;
  /** Milliseconds that the CPU has worked on this call before the GPU. */
  #spent = 0;
  #reached: Reached = { next: 0, ended: false };
  /** Iterations before which the GPU was too slow. */
  #head: number | null = null;
  /** What the GPU was to take besides executing iterations when it began. */
  #overhead: GpuOverhead = { fixed: 0, sending: 0 };

  constructor(workspace: Workspace, { loop, count }: SpeculateCall, arrays: CallArrays) {
    this.#workspace = workspace;
    this.#profile = workspace.profileOf(loop);
    this.#arrays = arrays;
    this.#count = count;
    this.#bytes = arrays.bytesToMove(workspace);
    this.#bytesToDevice = this.#bytes.toDevice;
    this.#isSmall = hasOpenRounding(loop) ? isSmall(loop, count, arrays.lengths, arrays.keptBytes) : null;
  }

  /** Executes iterations on the CPU for as long as the policy says, which may be not at all. */
  async begin(run: RunOnCpu): Promise<Reached> {
    let placement = this.#place();
    if (placement.on === "cpu") await this.#onCpu(placement, run);
    if (!this.#isDone && this.#isSmall === null) {
      this.#costs = await costsOf(this.#workspace);
      placement = this.#place();
      if (placement.on === "cpu") await this.#onCpu(placement, run);
    }
    return this.#reached;
  }

  /** Why the call was executed where it was. */
  get reason(): string {
    if (this.#isSmall === null) return this.#isDone ? "the CPU is faster" : "the GPU promised to be faster";
    return this.#isDone ? "the loop is small" : "the loop is large";
  }

  /**
   * The milliseconds that decide how long calls like this one, which the CPU executed in so many,
   * may take if they are executed at once; null where each is to be decided about.
   */
  repeatTime(milliseconds: number): number | null {
    if (this.#isSmall !== null) return Infinity;
    return isSure(this.#profile.timings, this.#bytesToDevice, this.#costs) ? milliseconds : null;
  }

  /**
   * Returns what tells, while the GPU executes the loop from now on, whether the CPU should go on
   * with it.
   */
  handover(): Handover {
    if (!this.#costs) return new CountedHandover();
    const { timings } = this.#profile;
    this.#overhead = overheadOf(timings, this.#call, this.#costs);
    return new TimedHandover(handoverTime(this.#arrays.writtenBytes, this.#costs), timings.cpuRate);
  }

  /**
   * Tells that the CPU took over for a while and executed so many iterations in so many
   * milliseconds.
   */
  observeCpu(iterations: number, time: number): void {
    this.#learnCpu(iterations > 0 ? time / iterations : null, time);
  }

  /** Tells that the GPU, which was too slow, goes on at this iteration. */
  observeTurn(next: number): void {
    this.#head = next;
  }

  /**
   * Tells that the GPU got up to `next` in so many milliseconds, with all that had to be moved and
   * what it left to the CPU.
   */
  observeGpu(next: number, milliseconds: number): void {
    if (!this.#costs) return;
    this.#profile.timings = afterGpu(this.#profile.timings, {
      iterations: next,
      time: this.#spent + milliseconds,
      overhead: this.#overhead,
      head: this.#head,
    });
  }

  get #isDone(): boolean {
    return this.#reached.ended || this.#reached.next === this.#count;
  }

  get #call(): PlacedCall {
    return {
      count: this.#count,
      done: this.#reached.next,
      isOnHost: this.#arrays.areOnHost,
      bytes: { lent: this.#bytes.lent, toDevice: this.#bytesToDevice, toHost: this.#bytes.toHost },
      slowestCompile: this.#workspace.pipelines.slowest,
      isSmall: this.#isSmall,
    };
  }

  #place() {
    return place(this.#profile.timings, this.#call, { spent: this.#spent }, this.#costs);
  }

  async #onCpu(placement: CpuPlacement, run: RunOnCpu): Promise<void> {
    await this.#arrays.toHost();
    this.#bytesToDevice += this.#bytes.toHost.uploaded;
    let [longest, last, rate] = [0, Infinity, null as number | null];
    const { next } = this.#reached;
    this.#reached = runInSlices(run, next, placement.to, ({ iterations, time, next }) => {
      // The last slice may be too short to say anything, and something else may have held one up.
      if (iterations >= longest) rate = Math.min(time / iterations, last);
      [longest, last] = [Math.max(longest, iterations), time / iterations];
      this.#spent += time;
      this.#learnCpu(rate, time);
      const call = { count: this.#count, done: next };
      return staysOnCpu(placement, this.#profile.timings, call, { spent: this.#spent });
    });
    if (!this.#isDone) return;
    const { timings } = this.#profile;
    this.#profile.timings = afterCpuAlone(timings, this.#count, this.#spent, placement.overhead);
  }

  #learnCpu(rate: number | null, time: number): void {
    this.#profile.timings = afterCpu(this.#profile.timings, rate, time);
  }
}
