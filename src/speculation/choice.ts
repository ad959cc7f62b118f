import type { Loop } from "../loops/ir.ts";
import { hasInnerLoops } from "../loops/kernels/walk.ts";
import type { CallArrays } from "./callArrays.ts";
import { type Costs, costsOf } from "./costs.ts";
import type { Moved } from "./downloads.ts";
import { operationsOf } from "./operations.ts";
import { MeasuredPace, type Pace } from "./pace.ts";
import { runInSlices } from "./slices.ts";
import type { Workspace } from "./workspace.ts";

/** What is known of a loop from its earlier executions; rates are milliseconds for an iteration. */
interface History {
  cpu: number | null;
  /** In the last execution there, as the next one's data is likely to have as many conflicts; or before, if something held that up. */
  gpu: number | null;
  lastGpu: number;
  /** Milliseconds that it took longer than the CPU would have. */
  loss: number;
  /** Milliseconds that the CPU has worked on the loop since then. */
  since: number;
  /** Milliseconds that the CPU has worked on the loop so far. */
  worked: number;
  /** The part of the iterations before which the GPU was too slow when it executed the loop: loops often begin with conflicts. */
  head: number;
  /** Where the last executions were. */
  side: "cpu" | "gpu";
  /** Milliseconds that they would have been shorter on the other side, had the kept arrays been there. */
  regret: number;
  readonly compiledOn: WeakSet<Workspace>;
}

interface Reached {
  /** The first iteration that was not executed. */
  readonly next: number;
  readonly ended: boolean;
}

/** Executes iterations on the CPU: those from `from` to `to - 1`. */
type RunOnCpu = (from: number, to: number) => Reached;

const histories = new WeakMap<Loop, History>();

const newHistory = (): History => ({
  cpu: null,
  gpu: null,
  lastGpu: Infinity,
  loss: 0,
  since: 0,
  worked: 0,
  head: 0,
  side: "cpu",
  regret: 0,
  compiledOn: new WeakSet(),
});

const unasked: Costs = { launch: 0, uploadedByte: 0, downloadedByte: 0, compile: 0 };

/** Kernels that are compiled for a loop that meets no difficulties. */
const kernels = 4;
/** Launches that a loop without conflicts takes. */
const launches = 4;
/** Milliseconds that the CPU has to have worked on a loop before it is as fast as it gets; a device takes as long to be asked what it costs. */
const warm = 5;
/** How much longer the CPU has to promise to take to be slower although it is not warm. */
const clear = 4;
/** How much longer than a launch without iterations the CPU has to take before a GPU is tried that may meet conflicts. */
const doubt = 2;
/** Milliseconds that an operation takes on a CPU, until that is measured. */
const assumed = 5e-7;
/** How much longer than the GPU's last loss the CPU works before the GPU is given another chance: its data may have become easier. */
const patience = 16;
/** The part of a head that the CPU still takes when the GPU was fast enough behind it. */
const shorter = 7 / 8;
/** The part of the GPU's time that may be spent on finding out that the CPU is slower. */
const trial = 1 / 4;

/**
 * Where a loop is executed when that is to be measured: where it promises to be faster, moving included. While little is known of
 * it, first on the CPU, a quarter of the time at most that the GPU is expected to take. Arrays that stay on the GPU move when what
 * was lost by leaving them where they are adds up to what moving costs: not more than twice the least is lost.
 */
export class Choice {
  readonly #workspace: Workspace;
  readonly #loop: Loop;
  readonly #count: number;
  readonly #arrays: CallArrays;
  readonly #history: History;
  readonly #ask: typeof costsOf;
  /** Milliseconds that the CPU has worked on this execution before the GPU. */
  #spent = 0;
  #head: number | null = null;
  #costs: Costs = unasked;
  /** Milliseconds that the GPU was to take besides executing iterations, and those to send it arrays to keep. */
  #fixed = { all: 0, sending: 0 };

  constructor(workspace: Workspace, loop: Loop, count: number, arrays: CallArrays, ask = costsOf) {
    const history = histories.get(loop) ?? newHistory();
    histories.set(loop, history);
    this.#workspace = workspace;
    this.#loop = loop;
    this.#count = count;
    this.#arrays = arrays;
    this.#history = history;
    this.#ask = ask;
  }

  /** Executes iterations on the CPU for as long as it promises to be faster, which it may not do at all. */
  async tryCpu(run: RunOnCpu): Promise<Reached> {
    const history = this.#history;
    const { toHost } = this.#arrays.bytesToMove(this.#workspace);
    let reached: Reached = { next: 0, ended: false };
    let [longest, last] = [0, Infinity];
    const go = (goesOn: (left: number) => boolean, to = this.#count) => {
      reached = runInSlices(run, reached.next, to, ({ iterations, time, next }) => {
        this.#spent += time;
        const rate = time / iterations;
        // The last slice may be too short to say anything, and something else may have held one up.
        if (iterations >= longest) history.cpu = Math.min(rate, last);
        [longest, last] = [Math.max(longest, iterations), rate];
        return goesOn(this.#count - next);
      });
    };
    const isDone = () => reached.ended || reached.next === this.#count;
    const isNew = history.gpu === null && history.worked <= warm;
    if (isNew && this.#arrays.areOnHost && toHost.uploaded === 0)
      go(() => history.worked + this.#spent < warm);
    if (!isDone()) {
      this.#costs = await this.#ask(this.#workspace);
      const left = this.#count - reached.next;
      const moving = Math.max(0, this.#moving(toHost) - this.#regretOf("gpu"));
      const onGpu = this.#onGpu(left, this.#fixedTime());
      const isUnclear = history.cpu === null || (history.worked <= warm && this.#onCpu(left) < clear * onGpu);
      if (moving + this.#onCpu(left) < onGpu || (isUnclear && this.#spent + moving < trial * onGpu)) {
        await this.#arrays.toHost();
        const fixed = this.#fixedTime() + toHost.uploaded * this.#costs.uploadedByte;
        go((left) => {
          const onGpu = this.#onGpu(left, fixed);
          return this.#spent + moving < trial * onGpu || this.#onCpu(left) < onGpu;
        });
      } else {
        const head = Math.floor(history.head * this.#count);
        if (moving < trial * Math.min(onGpu, this.#onCpu(head))) {
          await this.#arrays.toHost();
          go(() => true, head);
        }
      }
    }
    history.worked += this.#spent;
    history.since += this.#spent;
    if (isDone()) {
      // A device that was not asked yet would not have been faster.
      const kept = this.#onGpu(this.#count, this.#fixedTime() - this.#sending);
      this.#regret("cpu", this.#costs === unasked ? 0 : this.#spent - kept);
    }
    return reached;
  }

  /** The CPU took over for a while, and the GPU goes on at this iteration. */
  observeTurn(next: number): void {
    this.#head = next / this.#count;
  }

  /** What tells, while the GPU executes the loop from now on, whether it should have been the CPU. */
  pace(): Pace {
    const { writtenBytes } = this.#arrays;
    this.#fixed = { sending: this.#sending, all: this.#fixedTime() };
    const written = { uploaded: writtenBytes, downloaded: writtenBytes };
    return new MeasuredPace(2 * this.#costs.launch + this.#moving(written), this.#history.cpu);
  }

  /** The CPU executed so many iterations, while arrays were lent to it, in so many milliseconds. */
  observeCpu(iterations: number, time: number): void {
    if (iterations > 0) this.#history.cpu = time / iterations;
    this.#history.worked += time;
    this.#history.since += time;
  }

  /** The GPU got up to `next` in so many milliseconds, with all that had to be moved and what it left to the CPU. */
  observeGpu(next: number, milliseconds: number): void {
    const history = this.#history;
    const { sending, all } = this.#fixed;
    const time = this.#spent + milliseconds;
    history.head = this.#head ?? shorter * history.head;
    history.since = 0;
    history.loss = Math.max(0, time - this.#onCpu(this.#count));
    // Compiling takes most of the first execution.
    if (history.compiledOn.has(this.#workspace)) {
      const rate = Math.max(0, time - all) / next;
      history.gpu = Math.min(rate, history.lastGpu);
      history.lastGpu = rate;
      this.#regret("gpu", time - sending - this.#onCpu(this.#count));
    }
    history.compiledOn.add(this.#workspace);
  }

  #onCpu(iterations: number): number {
    // How long inner loops are is not known before.
    const rate = hasInnerLoops(this.#loop) ? Infinity : assumed * operationsOf(this.#loop);
    return (this.#history.cpu ?? rate) * iterations;
  }

  #onGpu(iterations: number, fixed: number): number {
    const { gpu, loss, since } = this.#history;
    return gpu === null || since > patience * loss ? doubt * fixed : fixed + gpu * iterations;
  }

  /** Milliseconds that the GPU takes besides executing iterations. */
  #fixedTime(): number {
    const { compiledOn, worked } = this.#history;
    const { launch, compile } = this.#costs;
    const { lent } = this.#arrays.bytesToMove(this.#workspace);
    // What has to be compiled pays off over the executions to come; those before have shown how long the loop may need.
    const compiling = compiledOn.has(this.#workspace) ? 0 : Math.max(0, kernels * compile - worked);
    return compiling + launches * launch + this.#moving(lent) + this.#sending;
  }

  /** Milliseconds for arrays that are to stay on the GPU, less what was lost already as they are not there. */
  get #sending(): number {
    const { toDevice } = this.#arrays.bytesToMove(this.#workspace);
    return Math.max(0, toDevice * this.#costs.uploadedByte - this.#regretOf("cpu"));
  }

  #moving({ uploaded, downloaded }: Moved): number {
    const { launch, uploadedByte, downloadedByte } = this.#costs;
    return (downloaded > 0 ? launch : 0) + uploaded * uploadedByte + downloaded * downloadedByte;
  }

  /** What staying on a side has cost so far. */
  #regretOf(side: History["side"]): number {
    return this.#history.side === side ? this.#history.regret : 0;
  }

  #regret(side: History["side"], milliseconds: number): void {
    this.#history.regret = this.#regretOf(side) + Math.max(0, milliseconds);
    this.#history.side = side;
  }
}
