import type { Loop } from "../loops/ir.ts";
import type { CallArrays } from "./callArrays.ts";
import { type Costs, costsOf } from "./costs.ts";
import { MeasuredPace, type Pace } from "./pace.ts";
import { runInSlices } from "./slices.ts";
import type { Workspace } from "./workspace.ts";

/** What is known of a loop from its earlier executions; rates are milliseconds for an iteration. */
interface History {
  cpu: number | null;
  /** In the last execution there: the next one's data is likely to have as many conflicts. */
  gpu: number | null;
  /** Executions since then. */
  stays: number;
  /** Milliseconds that the CPU has worked on the loop so far. */
  worked: number;
  readonly compiledOn: WeakSet<Workspace>;
}

const histories = new WeakMap<Loop, History>();

/** Kernels that are compiled for a loop that meets no difficulties. */
const kernels = 4;
/** Launches that a loop without conflicts takes. */
const launches = 4;
/** Milliseconds that the CPU has to have worked on a loop before it is as fast as it gets. */
const warm = 5;
/** Executions on the CPU after which the GPU is given another chance: its data may have become easier. */
const period = 16;
/** The part of the GPU's time that may be spent on finding out that the CPU is slower. */
const trial = 1 / 4;

/**
 * Where a loop is executed when that is to be measured: first on the CPU, a quarter of the time at most that the GPU is expected to
 * take; there to the end, if that is faster by then.
 */
export class Choice {
  readonly #history: History;
  readonly #workspace: Workspace;
  readonly #costs: Costs;
  readonly #count: number;
  /** Milliseconds that the GPU takes besides executing iterations. */
  readonly #fixed: number;
  readonly #handOver: number;

  static async of(workspace: Workspace, loop: Loop, count: number, arrays: CallArrays): Promise<Choice> {
    return new Choice(workspace, await costsOf(workspace), loop, count, arrays);
  }

  private constructor(workspace: Workspace, costs: Costs, loop: Loop, count: number, arrays: CallArrays) {
    const nothing: History = { cpu: null, gpu: null, stays: 0, worked: 0, compiledOn: new WeakSet() };
    const history = histories.get(loop) ?? nothing;
    histories.set(loop, history);
    this.#history = history;
    this.#workspace = workspace;
    this.#costs = costs;
    this.#count = count;
    const { uploaded, downloaded } = arrays.bytesToMove(workspace);
    // What has to be compiled pays off over the executions to come; those before have shown how long the loop may need.
    const compile = history.compiledOn.has(workspace)
      ? 0
      : Math.max(0, kernels * costs.compile - history.worked);
    this.#fixed = compile + launches * costs.launch + this.#moving(uploaded, downloaded);
    this.#handOver = 2 * costs.launch + this.#moving(arrays.writtenBytes, arrays.writtenBytes);
  }

  /** Executes iterations on the CPU, until it is clear that the GPU is faster. */
  tryCpu(run: (from: number, to: number) => { next: number; ended: boolean }): {
    next: number;
    ended: boolean;
  } {
    const { cpu, worked } = this.#history;
    if (cpu !== null && worked > warm && cpu * this.#count > 2 * this.#onGpu(this.#count))
      return { next: 0, ended: false };
    let [spent, longest] = [0, 0];
    const result = runInSlices(run, 0, this.#count, (slice) => {
      spent += slice.time;
      this.#history.worked += slice.time;
      // The last slice may be too short to say anything.
      if (slice.iterations >= longest) this.#history.cpu = slice.time / slice.iterations;
      longest = slice.iterations;
      const left = this.#count - slice.next;
      const gpu = this.#onGpu(left);
      return spent < trial * gpu || this.#history.cpu! * left < gpu;
    });
    if (result.ended || result.next === this.#count) this.#history.stays++;
    return result;
  }

  /** What tells, while the GPU executes the loop, whether it should have been the CPU. */
  pace(): Pace {
    return new MeasuredPace(this.#handOver, this.#history.cpu);
  }

  /** The GPU executed so many iterations in so many milliseconds, with all that had to be moved. */
  observeGpu(iterations: number, time: number): void {
    const { compiledOn } = this.#history;
    this.#history.stays = 0;
    // Compiling takes most of the first execution.
    if (iterations > 0 && compiledOn.has(this.#workspace))
      this.#history.gpu = Math.max(0, time - this.#fixed) / iterations;
    compiledOn.add(this.#workspace);
  }

  #onGpu(iterations: number): number {
    const { gpu, stays } = this.#history;
    return this.#fixed + (stays % period === period - 1 ? 0 : (gpu ?? 0)) * iterations;
  }

  #moving(uploaded: number, downloaded: number): number {
    return uploaded * this.#costs.uploadedByte + downloaded * this.#costs.downloadedByte;
  }
}
