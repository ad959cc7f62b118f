import type { Loop } from "../loops/ir.ts";
import { hasInnerLoops } from "../loops/kernels/walk.ts";
import { operationsOf } from "./operations.ts";
import type { Workspace } from "./workspace.ts";

/** Where a loop is executed. */
export type Side = "cpu" | "gpu";

/** Milliseconds that the CPU has to have worked on a loop before it is as fast as it gets; a device takes as long to be asked what it costs. */
export const warm = 5;
/** Milliseconds that an operation takes on a CPU, until that is measured. */
const assumed = 5e-7;
/** How much longer than a launch without iterations the CPU has to take before a GPU is tried that may meet conflicts. */
const doubt = 2;
/** How much longer than the GPU's last loss the CPU works before the GPU is given another chance: its data may have become easier. */
const patience = 16;
/** The part of a head that the CPU still takes when the GPU was fast enough behind it. */
const shorter = 7 / 8;

const histories = new WeakMap<Loop, History>();

/** What is known of a loop from its earlier executions; rates are milliseconds for an iteration. */
export class History {
  readonly compiledOn = new WeakSet<Workspace>();
  #cpu: number | null = null;
  /** In the last execution there, as the next one's data is likely to have as many conflicts; or before, if something held that up. */
  #gpu: number | null = null;
  #lastGpu = Infinity;
  /** Milliseconds that the GPU took longer than the CPU would have. */
  #loss = 0;
  /** Milliseconds that the CPU has worked on the loop since then. */
  #since = 0;
  #worked = 0;
  #head = 0;
  #side: Side = "cpu";
  #regret = 0;
  readonly #assumed: number;

  static of(loop: Loop): History {
    const history = histories.get(loop) ?? new History(loop);
    histories.set(loop, history);
    return history;
  }

  private constructor(loop: Loop) {
    // How long inner loops are is not known before.
    this.#assumed = hasInnerLoops(loop) ? Infinity : assumed * operationsOf(loop);
  }

  /** Milliseconds that the CPU has worked on the loop so far. */
  get worked(): number {
    return this.#worked;
  }

  /** The part of the iterations before which the GPU was too slow when it executed the loop: loops often begin with conflicts. */
  get head(): number {
    return this.#head;
  }

  get isKnownOnCpu(): boolean {
    return this.#cpu !== null;
  }

  get isKnownOnGpu(): boolean {
    return this.#gpu !== null;
  }

  /** Milliseconds that the CPU should take. */
  onCpu(iterations: number): number {
    return (this.#cpu ?? this.#assumed) * iterations;
  }

  /** Milliseconds that the GPU should take, which takes `fixed` whatever it executes. */
  onGpu(iterations: number, fixed: number): number {
    const isOpen = this.#gpu === null || this.#since > patience * this.#loss;
    return isOpen ? doubt * fixed : fixed + this.#gpu! * iterations;
  }

  /** The CPU executed iterations, at this rate as far as one can tell, in so many milliseconds. */
  observeCpu(rate: number | null, milliseconds: number): void {
    this.#cpu = rate ?? this.#cpu;
    this.#worked += milliseconds;
    this.#since += milliseconds;
  }

  /**
   * An execution on the GPU had so many iterations, took so many milliseconds, of them so many whatever it executes, and left the first
   * `head` of them, if any, to the CPU.
   */
  observeGpu(
    workspace: Workspace,
    {
      iterations,
      time,
      fixed,
      head,
    }: { iterations: number; time: number; fixed: number; head: number | null },
  ): void {
    this.#head = head === null ? shorter * this.#head : head / iterations;
    this.#since = 0;
    this.#loss = Math.max(0, time - this.onCpu(iterations));
    // Compiling takes most of the first execution.
    if (this.compiledOn.has(workspace)) {
      const rate = Math.max(0, time - fixed) / iterations;
      this.#gpu = Math.min(rate, this.#lastGpu);
      this.#lastGpu = rate;
    }
    this.compiledOn.add(workspace);
  }

  /** Milliseconds that the executions on this side since the last one on the other would have been shorter there. */
  regretOf(side: Side): number {
    return this.#side === side ? this.#regret : 0;
  }

  /** The last execution was on this side, and would have been so much shorter on the other one, were it not for arrays to be moved. */
  addRegret(side: Side, milliseconds: number): void {
    this.#regret = this.regretOf(side) + Math.max(0, milliseconds);
    this.#side = side;
  }
}
