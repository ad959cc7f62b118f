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

/** Executes the iterations from `from` to `to - 1` on the CPU. */
type RunOnCpu = (from: number, to: number) => Reached;

/**
 * The placement of one call. It carries out the policy's decisions, and adds the measured times to
 * the loop's profile.
 */
export class CallPlacement {
  readonly #workspace: Workspace;
  readonly #profile: LoopProfile;
  readonly #arrays: CallArrays;
  readonly #count: number;
  readonly #bytes: BytesToMove;
  readonly #isSmall: boolean | null;
  /** The bytes of arrays to keep that must now be sent to the device. */
  #bytesToDevice: number;
  /** The device's costs. Null until the call needs them. */
  #costs: Costs | null = null;
  /** The milliseconds that the CPU worked on this call before the GPU. */
  #spent = 0;
  #reached: Reached = { next: 0, ended: false };
  /** The iteration at which the GPU went on after it was too slow. Null if it never was. */
  #head: number | null = null;
  /** The GPU's overhead besides the iterations, as predicted when the GPU began. */
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

  /** Executes iterations on the CPU for as long as the policy says. It may execute none. */
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

  /** The reason for the placement of the call. */
  get reason(): string {
    if (this.#isSmall === null) return this.#isDone ? "the CPU is faster" : "the GPU promised to be faster";
    return this.#isDone ? "the loop is small" : "the loop is large";
  }

  /**
   * Returns the time from which the limit of similar later calls follows, if they need no decision.
   * `milliseconds` is the CPU's time for this call. Returns Infinity if no clock may decide, and
   * null if each later call needs a decision.
   */
  repeatTime(milliseconds: number): number | null {
    if (this.#isSmall !== null) return Infinity;
    return isSure(this.#profile.timings, this.#bytesToDevice, this.#costs) ? milliseconds : null;
  }

  /**
   * Returns the handover, which decides during GPU execution if the CPU should continue the loop.
   */
  handover(): Handover {
    if (!this.#costs) return new CountedHandover();
    const { timings } = this.#profile;
    this.#overhead = overheadOf(timings, this.#call, this.#costs);
    return new TimedHandover(handoverTime(this.#arrays.writtenBytes, this.#costs), timings.cpuRate);
  }

  /** Records that the CPU took over and executed so many iterations in `time` milliseconds. */
  observeCpu(iterations: number, time: number): void {
    this.#learnCpu(iterations > 0 ? time / iterations : null, time);
  }

  /** Records that the GPU, which was too slow, continues at this iteration. */
  observeTurn(next: number): void {
    this.#head = next;
  }

  /**
   * Records that the GPU reached iteration `next` after so many milliseconds. The time includes all
   * transfers and the work that the GPU left to the CPU.
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
      // The last slice may be too short to measure, and other work may have delayed a slice.
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
