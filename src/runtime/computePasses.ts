import type { BindGroups } from "./bindGroups.ts";
import type { CommandRecord } from "./commandRecord.ts";
import { Layer } from "./layer.ts";
import type { PipelineFacts, Pipelines } from "./pipelines.ts";
import { type Anything, copyOffsets, type Step } from "./steps.ts";

type PassStep = Step<GPUComputePassEncoder>;
type SetBindGroup = readonly [index: number, group: GPUBindGroup | null, ...offsets: unknown[]];

/** Follows compute passes: binds the report of each protected kernel before it is dispatched. */
export class ComputePasses {
  readonly #layer: Layer<GPUComputePassEncoder, ComputePass>;

  constructor(pipelines: Pipelines, bindGroups: BindGroups) {
    this.#layer = new Layer<GPUComputePassEncoder, ComputePass>((native, passOf) => {
      const setBindGroup = native.setBindGroup as Anything;
      return {
        setPipeline(pipeline) {
          const facts = pipelines.factsOf(pipeline);
          native.setPipeline.call(this, facts.runs);
          passOf(this).setPipeline(facts);
        },
        setBindGroup(
          index: number,
          group: GPUBindGroup | null | undefined,
          ...offsets: unknown[]
        ): undefined {
          setBindGroup.call(this, index, group, ...offsets);
          passOf(this).setBindGroup([index, group ?? null, ...copyOffsets(offsets)]);
        },
        dispatchWorkgroups(x, y, z) {
          const pass = passOf(this);
          pass.prepare(bindGroups, (...args) => setBindGroup.apply(this, args));
          native.dispatchWorkgroups.call(this, x, y, z);
          pass.steps.push((again) => again.dispatchWorkgroups(x, y, z));
        },
        dispatchWorkgroupsIndirect(buffer, offset) {
          const pass = passOf(this);
          pass.prepare(bindGroups, (...args) => setBindGroup.apply(this, args));
          native.dispatchWorkgroupsIndirect.call(this, buffer, offset);
          pass.record.read.add(buffer);
          pass.steps.push((again) => again.dispatchWorkgroupsIndirect(buffer, offset));
        },
      };
    });
  }

  /** Returns the steps of the pass, to which everything is added that happens in it. */
  follow(pass: GPUComputePassEncoder, record: CommandRecord): readonly PassStep[] {
    const state = new ComputePass(record);
    this.#layer.cover(pass, state);
    return state.steps;
  }
}

/** The state of one compute pass. */
class ComputePass {
  readonly record: CommandRecord;
  readonly steps: PassStep[] = [];
  /** How the program has set each of its bind groups. */
  readonly #groups: (SetBindGroup | undefined)[] = [];
  #pipeline: PipelineFacts | undefined;
  /** Where a bind group other than the program's own is set. */
  #displaced: number | undefined;
  /** Whether anything was set since the last dispatch. */
  #changed = true;

  constructor(record: CommandRecord) {
    this.record = record;
  }

  setPipeline(pipeline: PipelineFacts): void {
    this.steps.push((again) => again.setPipeline(pipeline.runs));
    this.#pipeline = pipeline;
    this.#changed = true;
  }

  setBindGroup(args: SetBindGroup): void {
    this.steps.push((again) => (again.setBindGroup as Anything)(...args));
    this.#groups[args[0]] = args;
    if (this.#displaced === args[0]) this.#displaced = undefined;
    this.#changed = true;
  }

  /** Call before a dispatch. `set` sets a bind group in the pass. */
  prepare(bindGroups: BindGroups, set: (...args: SetBindGroup) => unknown): void {
    const kernel = this.#pipeline?.report?.kernel;
    if (kernel) this.record.dispatches.set(kernel, (this.record.dispatches.get(kernel) ?? 0) + 1);
    if (!this.#changed) return;
    this.#changed = false;
    this.#bindReport((...args) => {
      set(...args);
      this.steps.push((again) => (again.setBindGroup as Anything)(...args));
    });
    this.#groups.forEach((args, index) => {
      const access = args?.[1] && bindGroups.accessOf(args[1], this.#pipeline?.accessOf(index));
      if (access) this.record.add(access);
    });
  }

  #bindReport(bind: (...args: SetBindGroup) => void): void {
    const report = this.#pipeline?.report;
    if (this.#displaced !== undefined && this.#displaced !== report?.group) {
      // The next kernel may use the program's own group at this index.
      const own = this.#groups[this.#displaced];
      if (own) bind(...own);
      this.#displaced = undefined;
    }
    if (!report) return;
    const [, own, ...offsets] = this.#groups[report.group] ?? [report.group, null];
    const group = report.groupFor(own);
    if (!group) return;
    if (report.isAlone) bind(report.group, group);
    else bind(report.group, group, ...offsets);
    this.#displaced = report.group;
  }
}
