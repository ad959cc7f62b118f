import { packParameters } from "../../loops/kernels/code/parameters.ts";
import { type ControlWord, controlWords, mostEpochs, none, states } from "../../loops/kernels/control.ts";
import { engineParameters } from "../../loops/kernels/marks.ts";
import { mostWindows } from "../../loops/kernels/scheduling.ts";
import type { Loop } from "../../loops/tree/ir.ts";
import type { PhaseTimer } from "../device/phaseTimer.ts";
import type { LoopPipeline } from "../device/pipelines.ts";
import { type Reading, readBuffers } from "../device/readBuffers.ts";
import type { Workspace } from "../device/workspace.ts";
import type { Plan } from "./plans.ts";

/** The control words of the kernels, and the bits of the carried variables. */
export interface ControlState extends Record<ControlWord, number> {
  readonly carried: Uint32Array;
}

/** Returns the control words before the first round. All others are zero. */
export function startOf(base: number, window: number, carried: Uint32Array): ControlState {
  const words = Object.fromEntries(controlWords.map((word) => [word, 0])) as Record<ControlWord, number>;
  return {
    ...words,
    state: states.running,
    base,
    window,
    slots: window,
    cut: none,
    end: none,
    changed: none,
    carried,
  };
}

/**
 * Commands after rounds, whose results are read together with the state of the rounds. The results
 * are of use only if the rounds were the last ones.
 */
export interface Ending {
  /** Encodes the commands, and returns the buffers to read. */
  encode(encoder: GPUCommandEncoder): readonly Reading[];
  /** Takes the bytes of a reading. */
  keep(place: number, bytes: Uint8Array): void;
}

/** An encoder of a plan's rounds, which submits them and reads their state. */
export class Rounds {
  readonly #workspace: Workspace;
  readonly #loop: Loop;
  readonly #plan: Plan;
  readonly #timer: PhaseTimer | null;
  readonly #groups: readonly GPUBindGroup[];
  readonly #pipelines: readonly LoopPipeline[];
  readonly #buffers: Readonly<Record<string, GPUBuffer>>;
  /** The number of iterations that the next round evaluates. */
  #slots = 0;

  /** Takes the buffers by their names in the kernels. */
  constructor(
    workspace: Workspace,
    loop: Loop,
    plan: Plan,
    pipelines: readonly LoopPipeline[],
    buffers: Readonly<Record<string, GPUBuffer>>,
    timer: PhaseTimer | null,
  ) {
    this.#workspace = workspace;
    this.#loop = loop;
    this.#plan = plan;
    this.#timer = timer;
    this.#pipelines = pipelines;
    this.#buffers = buffers;
    this.#groups = pipelines.map((pipeline) => pipeline.bind(buffers));
  }

  /** Writes the parameters and the control words for the next rounds. */
  begin(parameters: Readonly<Record<string, number>>, state: ControlState): void {
    const { queue } = this.#workspace.device;
    const { params, control } = this.#buffers;
    this.#makeRoom(1);
    this.#workspace.update(params!, packParameters(engineParameters(this.#loop), parameters));
    const { continues } = this.#plan;
    // A round that continues another one starts with zero slots if there is none yet.
    const first = { ...state, epoch: this.#workspace.epoch + 1, slots: continues ? 0 : state.slots };
    const words = controlWords.map((word) => first[word]);
    queue.writeBuffer(control!, 0, Uint32Array.of(...words, ...state.carried, ...state.carried));
    this.#slots = state.slots;
  }

  /** Writes the windows that the next rounds execute without a check. */
  take(windows: readonly number[]): void {
    const words = new Uint32Array(mostWindows);
    words.set(windows);
    this.#workspace.device.queue.writeBuffer(this.#buffers.windows!, 0, words);
  }

  /**
   * Runs at most `count` rounds, with windows of at most `longest` iterations, and then `endings`.
   * Resolves to the control words after them.
   */
  async run(count: number, longest: number, endings: readonly Ending[]): Promise<ControlState> {
    const place = [...engineParameters(this.#loop).keys()].indexOf("longest");
    this.#workspace.update(this.#buffers.params!, Uint32Array.of(longest), place);
    const encoder = this.#workspace.device.createCommandEncoder();
    this.#encode(encoder, this.#makeRoom(count), longest);
    const { control } = this.#buffers;
    const readings: Reading[] = [{ buffer: control!, bytes: control!.size }];
    const takers: ((bytes: Uint8Array<ArrayBuffer>) => void)[] = [];
    for (const ending of endings) {
      for (const [place, reading] of ending.encode(encoder).entries()) {
        readings.push(reading);
        takers.push((bytes) => ending.keep(place, bytes));
      }
    }
    if (this.#timer) {
      this.#timer.resolve(encoder);
      readings.push(this.#timer.reading);
      takers.push((bytes) => this.#timer!.add(bytes));
    }
    const read = await readBuffers(this.#workspace, readings, encoder);
    let state: ControlState | undefined;
    read((bytes, place) => {
      if (place === 0) state = controlState(bytes);
      else takers[place - 1]!(bytes);
    });
    this.#workspace.epoch = this.#plan.continues ? state!.epoch : state!.epoch - 1;
    this.#slots = state!.slots;
    return state!;
  }

  #encode(encoder: GPUCommandEncoder, rounds: number, longest: number): void {
    // The waiting iterations of a longer window become fewer with each round.
    const later = Math.max(this.#slots, longest);
    const most = [this.#plan.continues ? later : this.#slots, later];
    const [first, others] = most.map((invocations) =>
      this.#workspace.pipelines.gridFor(this.#loop, invocations),
    );
    let pass: GPUComputePassEncoder | undefined;
    for (let round = 0; round < rounds; round++) {
      if (this.#plan.name === "write bitmap") {
        pass?.end();
        pass = undefined;
        encoder.clearBuffer(this.#buffers.bitmap!);
      }
      for (const [place, { isSingle, phase }] of this.#plan.phases.entries()) {
        if (this.#timer) {
          pass?.end();
          pass = undefined;
        }
        pass ??= encoder.beginComputePass(this.#timer?.pass(phase));
        pass.setPipeline(this.#pipelines[place]!.pipeline);
        pass.setBindGroup(0, this.#groups[place]!);
        if (isSingle) pass.dispatchWorkgroups(1);
        else pass.dispatchWorkgroups(...(round === 0 ? first! : others!));
      }
    }
    pass?.end();
  }

  #write(word: ControlWord, value: number): void {
    const { queue } = this.#workspace.device;
    queue.writeBuffer(this.#buffers.control!, 4 * controlWords.indexOf(word), Uint32Array.of(value));
  }

  /**
   * Clears the marks when their epochs run out. Returns the number of rounds that may run before
   * the next clearing.
   */
  #makeRoom(rounds: number): number {
    const { epochs } = this.#plan;
    const left = () => Math.floor((mostEpochs - this.#workspace.epoch - 1) / epochs);
    if (left() < 1) {
      const { device } = this.#workspace;
      const encoder = device.createCommandEncoder();
      encoder.clearBuffer(this.#buffers.marks!);
      device.queue.submit([encoder.finish()]);
      this.#workspace.epoch = 0;
      this.#write("epoch", 1);
      // The stores of the last round are lost with its marks. Nothing has used them yet.
      if (this.#plan.continues) this.#write("slots", 0);
    }
    return Math.min(rounds, left());
  }
}

function controlState(bytes: Uint8Array<ArrayBuffer>): ControlState {
  const words = new Uint32Array(bytes.slice().buffer);
  const named = Object.fromEntries(controlWords.map((word, place) => [word, words[place]!]));
  return { ...(named as Record<ControlWord, number>), carried: words.slice(controlWords.length) };
}
