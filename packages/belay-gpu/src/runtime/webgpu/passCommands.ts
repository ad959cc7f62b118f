import { overlaidMembersOf } from "./overlaidMembers.ts";
import type { RecordedCopy } from "./recordedCopy.ts";
import { type AnyMethod, copyArguments, noOffsets, type ReplayStep } from "./replayStep.ts";

/** A bind group as it is set, with dynamic offsets in one of the forms that WebGPU accepts. */
export interface SetGroup {
  readonly group: GPUBindGroup | null;
  readonly offsets: readonly unknown[];
}

/** The bind groups that are set, by index. An index has no entry until it was set. */
export type SetGroups = readonly (SetGroup | undefined)[];

/** No device has a bind group with a larger index. It rejects a pass with one. */
export const LARGEST_INDEX = 31;

/** The state of an index that has no bind group. */
export const noGroup: SetGroup = { group: null, offsets: noOffsets };

/** Encodes the commands of later executions of the same work, and sets all that these need. */
type LaterCommands = (commands: PassCommands) => void;

const noArguments: readonly unknown[] = [];

/** The commands of a compute pass. It keeps no native pass alive. */
export class RecordedPass {
  readonly #descriptor: GPUComputePassDescriptor | undefined;
  /** The commands in their order: each is a name, the number of its arguments, and these. */
  #commands: unknown[] = [];

  /** `descriptor` must not change any more. */
  constructor(descriptor: GPUComputePassDescriptor | undefined) {
    this.#descriptor = descriptor;
  }

  /** True if the device accepts the pass with dispatches that it has accepted: it has no query. */
  get isFamiliar(): boolean {
    return !this.#descriptor?.timestampWrites;
  }

  push(name: keyof GPUComputePassEncoder, args: readonly unknown[]): void {
    this.#commands.push(name, args.length);
    for (let i = 0; i < args.length; i++) this.#commands.push(args[i]);
  }

  /** Records a command with one argument, without an array. */
  pushOne(name: keyof GPUComputePassEncoder, arg: unknown): void {
    this.#commands.push(name, 1, arg);
  }

  /** Records a command with two arguments, without an array. */
  pushTwo(name: keyof GPUComputePassEncoder, first: unknown, second: unknown): void {
    this.#commands.push(name, 2, first, second);
  }

  /** Records commands that are not encoded before the pass is executed again. */
  pushLater(encode: LaterCommands): void {
    this.#commands.push("later", 1, encode);
  }

  /** Frees the memory that is kept for more commands. */
  trim(): void {
    this.#commands = this.#commands.slice();
  }

  /** Returns whether another pass has the same commands, with the same objects. */
  equals(other: RecordedPass): boolean {
    const [own, others] = [this.#commands, other.#commands];
    if (own.length !== others.length) return false;
    for (let i = 0; i < own.length; i++) if (own[i] !== others[i]) return false;
    return true;
  }

  /** Encodes the pass in another encoder. */
  encodeAgain(encoder: GPUCommandEncoder): void {
    this.encodeIn(encoder.beginComputePass(this.#descriptor));
  }

  /** Encodes the commands in another pass. */
  encodeIn(again: GPUComputePassEncoder): void {
    const commands = this.#commands;
    /** The places of the latest commands that set the pipeline, and each bind group. */
    const settings = new Map<unknown, number>();
    const encode = (at: number) => {
      const [name, count] = commands.slice(at, at + 2) as [keyof GPUComputePassEncoder | "later", number];
      const args = commands.slice(at + 2, at + 2 + count);
      if (name === "setPipeline") settings.set(name, at);
      if (name === "setBindGroup") settings.set(args[0], at);
      if (name !== "later") {
        (again[name] as AnyMethod)(...args);
        return;
      }
      (args[0] as LaterCommands)(new PassCommands(again));
      for (const setting of settings.values()) encode(setting);
    };
    for (let at = 0; at < commands.length; at += 2 + (commands[at + 1] as number)) encode(at);
  }
}

/** A compute pass, a copy, or a function that encodes another command again. */
export type RecordedStep = RecordedPass | RecordedCopy | ReplayStep<GPUCommandEncoder>;

/**
 * Encodes commands into a compute pass, tracks the pass's state, and records each command to encode
 * it again.
 */
export class PassCommands {
  readonly recorded: RecordedPass;
  /** The bind groups of Belay's own that depend on more than the dispatches of the program. */
  added: Set<GPUBindGroup> | undefined = undefined;
  readonly #pass: GPUComputePassEncoder;
  readonly #native: GPUComputePassEncoder;
  #pipeline: GPUComputePipeline | undefined;
  readonly #groups: (SetGroup | undefined)[] = [];
  /** True while commands belong to the first execution only. */
  #isFirst = false;

  /** `descriptor` is that of the pass, and must not change any more. */
  constructor(pass: GPUComputePassEncoder, descriptor?: GPUComputePassDescriptor) {
    this.recorded = new RecordedPass(descriptor);
    this.#pass = pass;
    this.#native = overlaidMembersOf(pass);
  }

  setPipeline(pipeline: GPUComputePipeline): void {
    this.#native.setPipeline.call(this.#pass, pipeline);
    if (!this.#isFirst) this.recorded.pushOne("setPipeline", pipeline);
    this.#pipeline = pipeline;
  }

  /**
   * Makes the commands that `encode` encodes belong to the first execution only. The next `use`
   * sets again what they have set.
   */
  onlyFirst(encode: () => void): void {
    this.#isFirst = true;
    encode();
    this.#isFirst = false;
    this.#pipeline = undefined;
  }

  /** Makes commands belong to later executions only. `encode` is called for each of these. */
  onlyLater(encode: LaterCommands): void {
    this.recorded.pushLater(encode);
  }

  #encode(name: keyof GPUComputePassEncoder, args: readonly unknown[]): void {
    Reflect.apply(this.#native[name] as AnyMethod, this.#pass, args);
    if (!this.#isFirst) this.recorded.push(name, args);
  }

  setBindGroup(index: number, set: SetGroup): void {
    const { group, offsets } = set;
    if (offsets.length > 0) {
      this.#encode("setBindGroup", [index, group, ...offsets]);
    } else {
      const setBindGroup = this.#native.setBindGroup as AnyMethod;
      setBindGroup.call(this.#pass, index, group);
      if (!this.#isFirst) this.recorded.pushTwo("setBindGroup", index, group);
    }
    if (index <= LARGEST_INDEX) this.#groups[index] = this.#isFirst ? { ...set } : set;
  }

  noteAdded(group: GPUBindGroup): void {
    this.added ??= new Set();
    this.added.add(group);
  }

  /**
   * Sets the pipeline and the bind groups that are not set already, and no others. With
   * `isComplete`, the pipeline uses none of the others, so they may stay set.
   */
  use(pipeline: GPUComputePipeline, groups: SetGroups, isComplete = false): void {
    if (this.#pipeline !== pipeline) this.setPipeline(pipeline);
    const count = isComplete ? groups.length : Math.max(groups.length, this.#groups.length);
    for (let index = 0; index < count; index++) this.ensure(index, groups[index] ?? noGroup);
  }

  /** Sets a bind group if it is not set already. */
  ensure(index: number, wanted: SetGroup): void {
    if ((this.#groups[index] ?? noGroup) !== wanted) this.setBindGroup(index, wanted);
  }

  dispatchWorkgroups(grid: readonly number[]): void {
    const [x, y, z] = grid;
    this.#native.dispatchWorkgroups.call(this.#pass, x!, y, z);
    if (!this.#isFirst) this.recorded.push("dispatchWorkgroups", grid);
  }

  dispatchWorkgroupsIndirect(buffer: GPUBuffer, offset: number): void {
    this.#encode("dispatchWorkgroupsIndirect", [buffer, offset]);
  }

  /** Sets data that kernels load from the address space `immediate`. */
  setImmediates(args: readonly unknown[]): void {
    // TypeScript's own declarations of WebGPU lack the method, so no declaration may name it.
    Reflect.apply(this.#native.setImmediates, this.#pass, args);
    this.recorded.push("setImmediates", copyArguments(args));
  }

  pushDebugGroup(label: string): void {
    this.#encode("pushDebugGroup", [label]);
  }

  popDebugGroup(): void {
    this.#encode("popDebugGroup", noArguments);
  }

  end(): void {
    this.#encode("end", noArguments);
  }
}
