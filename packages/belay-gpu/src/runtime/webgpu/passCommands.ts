import { overlaidMembersOf } from "./overlaidMembers.ts";
import { type AnyMethod, copyArguments, noOffsets, type ReplayStep } from "./replayStep.ts";

/** A bind group as it is set, with dynamic offsets in one of the forms that WebGPU accepts. */
export interface SetGroup {
  readonly group: GPUBindGroup | null;
  readonly offsets: readonly unknown[];
}

/** The bind groups that are set, by index. */
export type SetGroups = ReadonlyMap<number, SetGroup>;

/** Encodes the commands of later executions of the same work, and sets all that these need. */
type LaterCommands = (commands: PassCommands) => void;

const noArguments: readonly unknown[] = [];
const unset: SetGroup = { group: null, offsets: noOffsets };

/** The commands of a compute pass. It keeps no native pass alive. */
export class RecordedPass {
  readonly #descriptor: GPUComputePassDescriptor | undefined;
  /** The commands in their order: each is a name, the number of its arguments, and these. */
  #commands: unknown[] = [];

  /** `descriptor` must not change any more. */
  constructor(descriptor: GPUComputePassDescriptor | undefined) {
    this.#descriptor = descriptor;
  }

  /** True if the pass has no query. */
  get isPlain(): boolean {
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

/** A compute pass, or a function that encodes another command again. */
export type RecordedStep = RecordedPass | ReplayStep<GPUCommandEncoder>;

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
  readonly #groups = new Map<number, SetGroup>();
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
    this.#groups.set(index, this.#isFirst ? { group, offsets: [...offsets] } : set);
  }

  noteAdded(group: GPUBindGroup): void {
    this.added ??= new Set();
    this.added.add(group);
  }

  /**
   * Sets the pipeline and the bind groups that are not set already. Bind groups in `added` replace
   * those in `own`.
   */
  use(pipeline: GPUComputePipeline, own: SetGroups, added: SetGroups | undefined): void {
    if (this.#pipeline !== pipeline) this.setPipeline(pipeline);
    for (const [index, { group }] of this.#groups) {
      if (group && !own.has(index) && !added?.has(index)) this.setBindGroup(index, unset);
    }
    for (const [index, set] of own) if (!added?.has(index)) this.ensure(index, set);
    if (added) for (const [index, set] of added) this.ensure(index, set);
  }

  /** Sets a bind group if it is not set already. */
  ensure(index: number, wanted: SetGroup): void {
    const now = this.#groups.get(index) ?? unset;
    if (now.group !== wanted.group || now.offsets !== wanted.offsets) this.setBindGroup(index, wanted);
  }

  /** `grid` has the arguments of the native method, which may be wrong. */
  dispatchWorkgroups(grid: readonly unknown[]): void {
    this.#encode("dispatchWorkgroups", grid);
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
