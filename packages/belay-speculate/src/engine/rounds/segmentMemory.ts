import { addressLoop } from "../../loops/analysis/addressLoop.ts";
import { type LogSize, logBytes, logSize } from "../../loops/analysis/logSize.ts";
import { wgslName } from "../../loops/kernels/code/names.ts";
import { controlSize, longestWindow } from "../../loops/kernels/control.ts";
import { engineParameters, markedElements, offsetsOf } from "../../loops/kernels/marks.ts";
import { mostWindows, shortestWindow } from "../../loops/kernels/scheduling.ts";
import { bitmapShift } from "../../loops/kernels/writeBitmap.ts";
import { mayReorder } from "../../loops/tree/walk.ts";
import type { Workspace } from "../device/workspace.ts";
import type { PlanName, Possible } from "../policy/planChoice.ts";
import { rounds } from "../policy/tuning.ts";
import { contributionBytes } from "./contributions.ts";
import type { Part } from "./execution.ts";
import { storedBytes } from "./findings.ts";
import type { Plan } from "./plans.ts";
import type { SharedState } from "./sharedState.ts";

/** The memory of a segment's kernels besides the arrays, and the window lengths that it allows. */
export class SegmentMemory {
  readonly #workspace: Workspace;
  readonly #execution: Part;
  readonly #shared: SharedState;
  readonly #marked: number;

  constructor(workspace: Workspace, execution: Part, shared: SharedState) {
    this.#workspace = workspace;
    this.#execution = execution;
    this.#shared = shared;
    this.#marked = markedElements(execution.loop, execution.lengths);
  }

  /** The plans that the memory allows, as far as the loop does. */
  get possible(): Possible {
    const addresses = addressLoop(this.#execution.loop);
    return {
      reserve: this.#hasMarks(2) && addresses?.isPredicted === false && mayReorder(this.#execution.loop),
      isExact: addresses?.isExact === true,
      version: this.#versions > 0,
    };
  }

  /**
   * The number of versions that elements can have, each with a mark for two rounds; 0 if there is
   * no memory for them.
   */
  get #versions(): number {
    return [4, 2, 1].find((versions) => this.#hasMarks(2 * versions)) ?? 0;
  }

  /** Returns true if there is memory for so many marks per element. */
  #hasMarks(marks: number): boolean {
    return 4 * marks * this.#marked <= this.#workspace.device.limits.maxStorageBufferBindingSize;
  }

  get logSize(): LogSize {
    return logSize(this.#execution.loop, this.#shared.accesses);
  }

  /**
   * Makes room for a larger log of each iteration. Returns false if windows would become too short.
   */
  growLog(): boolean {
    const { loop, count } = this.#execution;
    const accesses = 4 * this.#shared.accesses;
    const [before, size] = [this.logSize, logSize(loop, accesses)];
    const grows = size.mostLoads + size.mostStores > before.mostLoads + before.mostStores;
    if (!grows || this.#roomFor(logBytes(size)) < Math.min(shortestWindow, count)) return false;
    this.#shared.accesses = accesses;
    return true;
  }

  /** Returns the largest number of iterations of a window for which there is memory. */
  capacity({ bytesPerSlot }: Plan): number {
    return this.#roomFor(bytesPerSlot);
  }

  #roomFor(bytesPerSlot: number): number {
    const { maxStorageBufferBindingSize } = this.#workspace.device.limits;
    const bytes = Math.min(maxStorageBufferBindingSize, rounds.mostWindowBytes);
    const room = Math.floor(bytes / Math.max(1, bytesPerSlot));
    return Math.min(longestWindow, this.#execution.count, room);
  }

  /** Returns the buffers of a plan's kernels, by their names in the kernels. */
  buffers(plan: Plan): Record<string, GPUBuffer> {
    const { loop, buffers, lengths, count } = this.#execution;
    const { UNIFORM, STORAGE, COPY_SRC, COPY_DST } = GPUBufferUsage;
    const named = (name: string, bytes: number, usage: number) =>
      this.#workspace.buffer(name, bytes, usage | COPY_DST);
    const slots = (name: PlanName) => (plan.name === name ? this.capacity(plan) * plan.bytesPerSlot : 0);
    return {
      params: named("params", 4 * engineParameters(loop).size, UNIFORM),
      control: named("control", 4 * controlSize(loop.carried.length), STORAGE | COPY_SRC),
      marks: named("marks", 4 * this.#marked * this.#marksOf(plan), STORAGE),
      windows: named("windows", 4 * mostWindows, STORAGE | COPY_SRC),
      stored_bits: named(
        "stored_bits",
        plan.recordsStores ? storedBytes(loop, lengths) : 0,
        STORAGE | COPY_SRC,
      ),
      bitmap: named("bitmap", plan.name === "write bitmap" ? 4 << bitmapShift(this.#marked) : 0, STORAGE),
      lists: named("lists", slots("by reservation"), STORAGE | COPY_SRC),
      log_words: named("log_words", slots("logged") + slots("multi-version"), STORAGE),
      contributions: named("contributions", contributionBytes(loop, count), STORAGE | COPY_SRC),
      ...Object.fromEntries(loop.arrays.map(({ name }) => [`array_${wgslName(name)}`, buffers[name]!])),
    };
  }

  #marksOf({ marksPerElement, continues }: Plan): number {
    return continues ? marksPerElement * this.#versions : marksPerElement;
  }

  /** Returns the parameters of a plan's kernels, by name. */
  parameters(plan: Plan, longest: number): Record<string, number> {
    const { loop, lengths, inputs, first, step, count } = this.#execution;
    const values: Record<string, number> = { first, step, count, fuel: rounds.fuel, longest };
    for (const { name } of loop.inputs) values[`input_${wgslName(name)}`] = inputs[name]!;
    for (const { name } of loop.arrays) values[`length_${wgslName(name)}`] = lengths[name]!;
    for (const [name, offset] of offsetsOf(loop, lengths)) values[`offset_${wgslName(name)}`] = offset;
    values.marked = this.#marked;
    values.bitmap_shift = bitmapShift(this.#marked);
    values.most_loads = this.logSize.mostLoads;
    values.most_stores = this.logSize.mostStores;
    values.versions = this.#versions;
    values.capacity = this.capacity(plan);
    values.window = loop.schedule.iterationsPerRound ?? 0;
    return values;
  }
}
