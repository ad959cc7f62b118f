import type { Loop } from "../loops/ir.ts";
import type { BytesToMove, CallArrays } from "./callArrays.ts";
import { type Costs, costsOf } from "./costs.ts";
import type { Moved } from "./downloads.ts";
import { History, warm } from "./history.ts";
import { MeasuredPace, type Pace } from "./pace.ts";
import { runInSlices } from "./slices.ts";
import type { Workspace } from "./workspace.ts";

interface Reached {
  /** The first iteration that was not executed. */
  readonly next: number;
  readonly ended: boolean;
}

/** Executes iterations on the CPU: those from `from` to `to - 1`. */
type RunOnCpu = (from: number, to: number) => Reached;

const unasked: Costs = { launch: 0, uploadedByte: 0, downloadedByte: 0, compile: 0 };

/** Kernels that are compiled for a loop that meets no difficulties. */
const kernels = 4;
/** Launches that a loop without conflicts takes. */
const launches = 4;
/** The part of the GPU's time that may be spent on finding out that the CPU is slower. */
const trial = 1 / 4;
/** How much longer than the GPU a CPU that is not warm has to promise to take, to be slower all the same. */
const clear = 4;

/**
 * Where a loop is executed when that is to be measured: where it promises to be faster, moving included. While little is known of
 * it, first on the CPU, a quarter of the time at most that the GPU is expected to take. Arrays that stay on the GPU move when what
 * was lost by leaving them where they are adds up to what moving costs: not more than twice the least is lost.
 */
export class Choice {
  readonly #workspace: Workspace;
  readonly #count: number;
  readonly #arrays: CallArrays;
  readonly #history: History;
  readonly #ask: typeof costsOf;
  readonly #moves: BytesToMove;
  /** Bytes of arrays to keep that the device has to be sent now. */
  #toDevice: number;
  #costs = unasked;
  /** Milliseconds that the CPU has worked on this execution before the GPU. */
  #spent = 0;
  /** Iterations before which the GPU was too slow. */
  #head: number | null = null;
  /** Milliseconds that the GPU was to take besides executing iterations, and those to send it arrays to keep. */
  #fixed = { all: 0, sending: 0 };

  constructor(workspace: Workspace, loop: Loop, count: number, arrays: CallArrays, ask = costsOf) {
    this.#workspace = workspace;
    this.#count = count;
    this.#arrays = arrays;
    this.#history = History.of(loop);
    this.#ask = ask;
    this.#moves = arrays.bytesToMove(workspace);
    this.#toDevice = this.#moves.toDevice;
  }

  /** Executes iterations on the CPU for as long as it promises to be faster, which it may not do at all. */
  async tryCpu(run: RunOnCpu): Promise<Reached> {
    const history = this.#history;
    const { toHost } = this.#moves;
    let reached: Reached = { next: 0, ended: false };
    let [longest, last, rate] = [0, Infinity, null as number | null];
    const go = (goesOn: (left: number) => boolean, to = this.#count) => {
      reached = runInSlices(run, reached.next, to, ({ iterations, time, next }) => {
        // The last slice may be too short to say anything, and something else may have held one up.
        if (iterations >= longest) rate = Math.min(time / iterations, last);
        [longest, last] = [Math.max(longest, iterations), time / iterations];
        this.#spent += time;
        history.observeCpu(rate, time);
        return goesOn(this.#count - next);
      });
    };
    const isDone = () => reached.ended || reached.next === this.#count;
    const isNew = !history.isKnownOnGpu && history.worked <= warm;
    if (isNew && this.#arrays.areOnHost && toHost.uploaded === 0) go(() => history.worked < warm);
    // A device that was not asked yet would not have been faster.
    if (isDone()) return this.#finish(reached, Infinity);

    this.#costs = await this.#ask(this.#workspace);
    const left = this.#count - reached.next;
    const moving = Math.max(0, this.#moving(toHost) - history.regretOf("gpu"));
    const fixed = this.#fixedTime();
    const onGpu = history.onGpu(left, fixed + this.#sending);
    const mayBeFaster = history.onCpu(left) < clear * onGpu;
    // Nothing that counts is moved on the chance alone.
    const isLight = moving <= trial * launches * this.#costs.launch;
    const isUnclear = history.isKnownOnCpu ? history.worked <= warm && mayBeFaster : isLight || mayBeFaster;
    const head = Math.floor(history.head * this.#count);
    if (moving + history.onCpu(left) < onGpu || (isUnclear && this.#spent + moving < trial * onGpu)) {
      await this.#toHost();
      const all = fixed + this.#sending;
      go((left) => {
        const onGpu = history.onGpu(left, all);
        return this.#spent + moving < trial * onGpu || history.onCpu(left) < onGpu;
      });
    } else if (moving < trial * Math.min(onGpu, history.onCpu(head))) {
      await this.#toHost();
      go(() => true, head);
    }
    return isDone() ? this.#finish(reached, history.onGpu(this.#count, fixed)) : reached;
  }

  /** Whether the device was asked, of a CPU that is as fast as it gets, and is not waiting for arrays that would be better there. */
  get isSure(): boolean {
    const isWarm = this.#costs !== unasked && this.#history.isKnownOnCpu && this.#history.worked > warm;
    return isWarm && (this.#toDevice === 0 || this.#history.regretOf("cpu") === 0);
  }

  /** The CPU has executed everything, and the GPU would have taken so long if it had had the arrays that are to stay there. */
  #finish(reached: Reached, onGpu: number): Reached {
    this.#history.addRegret("cpu", this.#spent - onGpu);
    return reached;
  }

  async #toHost(): Promise<void> {
    await this.#arrays.toHost();
    this.#toDevice += this.#moves.toHost.uploaded;
  }

  /** What tells, while the GPU executes the loop from now on, whether it should have been the CPU. */
  pace(): Pace {
    const { writtenBytes } = this.#arrays;
    this.#fixed = { sending: this.#sending, all: this.#fixedTime() + this.#sending };
    const written = { uploaded: writtenBytes, downloaded: writtenBytes };
    const cpu = this.#history.isKnownOnCpu ? this.#history.onCpu(1) : null;
    return new MeasuredPace(2 * this.#costs.launch + this.#moving(written), cpu);
  }

  /** The CPU took over for a while and executed so many iterations in so many milliseconds. */
  observeCpu(iterations: number, time: number): void {
    this.#history.observeCpu(iterations > 0 ? time / iterations : null, time);
  }

  /** The GPU, which was too slow, goes on at this iteration. */
  observeTurn(next: number): void {
    this.#head = next;
  }

  /** The GPU got up to `next` in so many milliseconds, with all that had to be moved and what it left to the CPU. */
  observeGpu(next: number, milliseconds: number): void {
    const history = this.#history;
    const { sending, all } = this.#fixed;
    const time = this.#spent + milliseconds;
    // Compiling takes most of the first execution.
    const isFirst = !history.compiledOn.has(this.#workspace);
    history.observeGpu(this.#workspace, { iterations: next, time, fixed: all, head: this.#head });
    // Of a CPU that nobody has tried, the chance is worth a part.
    const onCpu = history.isKnownOnCpu ? history.onCpu(next) : (1 - trial) * time;
    history.addRegret("gpu", isFirst ? 0 : time - sending - onCpu);
  }

  /** Milliseconds that the GPU takes besides executing iterations and for arrays that are to stay there. */
  #fixedTime(): number {
    const { compiledOn, worked } = this.#history;
    const { launch, compile } = this.#costs;
    // What has to be compiled pays off over the executions to come; those before have shown how long the loop may need.
    const compilation = Math.max(kernels * compile, this.#workspace.pipelines.slowest);
    const compiling = compiledOn.has(this.#workspace) ? 0 : Math.max(0, compilation - worked);
    return compiling + launches * launch + this.#moving(this.#moves.lent);
  }

  /** Milliseconds for arrays that are to stay on the GPU, less what was lost already as they are not there. */
  get #sending(): number {
    return Math.max(0, this.#toDevice * this.#costs.uploadedByte - this.#history.regretOf("cpu"));
  }

  #moving({ uploaded, downloaded }: Moved): number {
    const { launch, uploadedByte, downloadedByte } = this.#costs;
    return (downloaded > 0 ? launch : 0) + uploaded * uploadedByte + downloaded * downloadedByte;
  }
}
