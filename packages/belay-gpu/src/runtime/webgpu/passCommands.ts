import { overlaidMembersOf } from "./overlaidMembers.ts";
import { type AnyMethod, noOffsets } from "./replayStep.ts";

/** A bind group as it is set, with dynamic offsets in one of the forms that WebGPU accepts. */
export interface SetGroup {
  readonly group: GPUBindGroup | null;
  readonly offsets: readonly unknown[];
}

/** The bind groups that are set, by index. */
export type SetGroups = ReadonlyMap<number, SetGroup>;

const unset: SetGroup = { group: null, offsets: noOffsets };

/** The commands of a compute pass. It keeps no native pass alive. */
export class RecordedPass {
  /** The commands in their order: each is a name, the number of its arguments, and these. */
  #commands: unknown[] = [];

  push(name: keyof GPUComputePassEncoder, ...args: readonly unknown[]): void {
    this.#commands.push(name, args.length, ...args);
  }

  /** Frees the memory that is kept for more commands. */
  trim(): void {
    this.#commands = this.#commands.slice();
  }

  /** Returns whether another pass has the same commands, with the same objects. */
  equals(other: RecordedPass): boolean {
    const [own, others] = [this.#commands, other.#commands];
    return own.length === others.length && own.every((each, i) => each === others[i]);
  }

  /** Encodes the commands in another pass. */
  encodeIn(again: GPUComputePassEncoder): void {
    const commands = this.#commands;
    for (let at = 0; at < commands.length; at += 2 + (commands[at + 1] as number)) {
      const [name, count] = commands.slice(at, at + 2) as [keyof GPUComputePassEncoder, number];
      (again[name] as AnyMethod)(...commands.slice(at + 2, at + 2 + count));
    }
  }
}

/**
 * Encodes commands into a compute pass, tracks the pass's state, and records each command to encode
 * it again.
 */
export class PassCommands {
  readonly recorded = new RecordedPass();
  /** The bind groups of Belay's own that depend on more than the dispatches of the program. */
  added: Set<GPUBindGroup> | undefined = undefined;
  readonly #pass: GPUComputePassEncoder;
  readonly #native: GPUComputePassEncoder;
  #pipeline: GPUComputePipeline | undefined;
  readonly #groups = new Map<number, SetGroup>();

  constructor(pass: GPUComputePassEncoder) {
    this.#pass = pass;
    this.#native = overlaidMembersOf(pass);
  }

  setPipeline(pipeline: GPUComputePipeline): void {
    this.#native.setPipeline.call(this.#pass, pipeline);
    this.recorded.push("setPipeline", pipeline);
    this.#pipeline = pipeline;
  }

  setBindGroup(index: number, set: SetGroup): void {
    const { group, offsets } = set;
    (this.#native.setBindGroup as AnyMethod).call(this.#pass, index, group, ...offsets);
    this.recorded.push("setBindGroup", index, group, ...offsets);
    this.#groups.set(index, set);
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
    for (const [index, set] of own) if (!added?.has(index)) this.#ensure(index, set);
    if (added) for (const [index, set] of added) this.#ensure(index, set);
  }

  #ensure(index: number, wanted: SetGroup): void {
    const now = this.#groups.get(index) ?? unset;
    if (now.group !== wanted.group || now.offsets !== wanted.offsets) this.setBindGroup(index, wanted);
  }

  dispatchWorkgroups(...grid: Parameters<GPUComputePassEncoder["dispatchWorkgroups"]>): void {
    this.#native.dispatchWorkgroups.call(this.#pass, ...grid);
    this.recorded.push("dispatchWorkgroups", ...grid);
  }

  dispatchWorkgroupsIndirect(buffer: GPUBuffer, offset: number): void {
    this.#native.dispatchWorkgroupsIndirect.call(this.#pass, buffer, offset);
    this.recorded.push("dispatchWorkgroupsIndirect", buffer, offset);
  }

  pushDebugGroup(label: string): void {
    this.#native.pushDebugGroup.call(this.#pass, label);
    this.recorded.push("pushDebugGroup", label);
  }

  popDebugGroup(): void {
    this.#native.popDebugGroup.call(this.#pass);
    this.recorded.push("popDebugGroup");
  }

  end(): void {
    this.#native.end.call(this.#pass);
    this.recorded.push("end");
    this.recorded.trim();
  }
}
