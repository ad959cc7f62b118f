import type { BindGroups } from "./bindGroups.ts";
import type { CommandRecord } from "./commandRecord.ts";
import { Layer } from "./layer.ts";
import type { PipelineFacts, Pipelines } from "./pipelines.ts";
import { type Anything, copyOffsets, type Step } from "./steps.ts";

type PassStep = Step<GPUComputePassEncoder>;

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
          passOf(this).setBindGroup(index, group ?? null, copyOffsets(offsets));
        },
        dispatchWorkgroups(x, y, z) {
          const pass = passOf(this);
          pass.prepare(this, setBindGroup, bindGroups);
          native.dispatchWorkgroups.call(this, x, y, z);
          pass.steps.push((again) => again.dispatchWorkgroups(x, y, z));
        },
        dispatchWorkgroupsIndirect(buffer, offset) {
          const pass = passOf(this);
          pass.prepare(this, setBindGroup, bindGroups);
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

/** How a bind group was set. */
interface SetGroup {
  readonly group: GPUBindGroup | null;
  readonly offsets: readonly unknown[];
}

/** The state of one compute pass. */
class ComputePass {
  readonly record: CommandRecord;
  readonly steps: PassStep[] = [];
  /** How the program has set each of its bind groups. */
  readonly #groups: (SetGroup | undefined)[] = [];
  #pipeline: PipelineFacts | undefined;
  /** A bind group that is set in place of the program's own, and where. */
  #inPlace: { readonly group: GPUBindGroup; readonly index: number } | undefined;
  /** Whether anything was set since the last dispatch. */
  #changed = true;

  constructor(record: CommandRecord) {
    this.record = record;
  }

  setPipeline(pipeline: PipelineFacts): void {
    this.steps.push((again) => again.setPipeline(pipeline.runs));
    if (this.#pipeline === pipeline) return;
    this.#pipeline = pipeline;
    this.#changed = true;
  }

  setBindGroup(index: number, group: GPUBindGroup | null, offsets: readonly unknown[]): void {
    this.steps.push((again) => (again.setBindGroup as Anything)(index, group, ...offsets));
    this.#groups[index] = { group, offsets };
    if (this.#inPlace?.index === index) this.#inPlace = undefined;
    this.#changed = true;
  }

  /** Call before a dispatch. */
  prepare(pass: GPUComputePassEncoder, setBindGroup: Anything, bindGroups: BindGroups): void {
    const { record } = this;
    const kernel = this.#pipeline?.report?.kernel;
    if (kernel) record.dispatches.set(kernel, (record.dispatches.get(kernel) ?? 0) + 1);
    if (!this.#changed) return;
    this.#changed = false;
    this.#bindReport((index, group, offsets) => {
      setBindGroup.call(pass, index, group, ...offsets);
      this.steps.push((again) => (again.setBindGroup as Anything)(index, group, ...offsets));
    });
    this.#groups.forEach((own, index) => {
      const access = own?.group && bindGroups.accessOf(own.group, this.#pipeline?.accessOf(index));
      if (access) record.add(access);
    });
  }

  #bindReport(bind: (index: number, group: GPUBindGroup | null, offsets: readonly unknown[]) => void): void {
    const report = this.#pipeline?.report;
    const before = this.#inPlace;
    if (before && before.index !== report?.group) {
      // The next kernel may use the program's own group at this index.
      const own = this.#groups[before.index];
      if (own) bind(before.index, own.group, own.offsets);
      this.#inPlace = undefined;
    }
    if (!report) return;
    const own = this.#groups[report.group];
    const group = report.groupFor(own?.group ?? null);
    if (!group || this.#inPlace?.group === group) return;
    bind(report.group, group, report.isAlone || !own ? [] : own.offsets);
    this.#inPlace = { group, index: report.group };
  }
}
