import type { Protect } from "../../compiler/contract.ts";
import { messageOf } from "../../diagnostics/messageOf.ts";
import { type LocatedDiagnostic, leftAlone } from "../context/coverage.ts";
import type { RuntimeContext } from "../context/runtimeContext.ts";
import type { CheckWordBindings } from "../memory/memoryProtection.ts";
import { Layer } from "../webgpu/layer.ts";
import { makeSilently, membersOf } from "../webgpu/nativeObjects.ts";
import { AddedBindings } from "./addedBindings.ts";
import { BindGroups } from "./bindGroups.ts";
import { type Doubling, namedByReport } from "./doubledGrid.ts";
import { Kernels, type LessMemory, prove } from "./kernels.ts";
import { PipelineLayouts } from "./pipelineLayouts.ts";
import { type PipelinePlan, PipelinePlans } from "./pipelinePlans.ts";
import { type Guarded, PipelineRecord, runsSequentially, type Variant } from "./pipelineRecord.ts";
import { ShadowBuffers } from "./shadowBuffers.ts";

/** Makes compute pipelines from protected kernels, and knows what each of them does. */
export class Pipelines {
  readonly kernels: Kernels;
  readonly bindGroups: BindGroups;
  readonly shadows: ShadowBuffers;
  readonly layouts: PipelineLayouts;
  readonly #plans: PipelinePlans;
  readonly #modules: Layer<GPUShaderModule, string>;
  readonly #device: GPUDevice;
  readonly #memory: CheckWordBindings;
  readonly #pipelines = new Layer<GPUComputePipeline, PipelineRecord>((native, recordOf) => ({
    getBindGroupLayout(index) {
      return recordOf(this).layoutAt(index, (pipeline) => native.getBindGroupLayout.call(pipeline, index));
    },
  }));

  constructor(context: RuntimeContext, memory: CheckWordBindings, protect: Protect) {
    const { device } = context;
    this.#device = device;
    this.#memory = memory;
    this.kernels = new Kernels(context, protect);
    this.bindGroups = new BindGroups(context);
    this.shadows = new ShadowBuffers(device);
    this.layouts = new PipelineLayouts(device, this.bindGroups);
    this.#plans = new PipelinePlans(this.kernels, this.layouts);
    this.#modules = shaderModules(this.kernels);
  }

  /** Makes the program's own module: its messages and errors are the ones that the program sees. */
  createModule(descriptor: GPUShaderModuleDescriptor): GPUShaderModule {
    const module = this.#device.createShaderModule(descriptor);
    this.#modules.attach(module, descriptor.code);
    this.#plans.trackModule(module, descriptor.code);
    return module;
  }

  /**
   * Makes the program's own pipeline, which the program gets and whose errors are its own, and one
   * from the protected kernel that runs in its place, unless the device refuses it. Throws a
   * `ProtectionError` in strict mode.
   */
  create(descriptor: GPUComputePipelineDescriptor): GPUComputePipeline {
    const plan = this.#plans.plan(descriptor);
    const own = this.#device.createComputePipeline(descriptor);
    // A pipeline that could not be made has no layout: the program has been told why, and hears no
    // second error.
    const { failed: notMade } = makeSilently(this.#device, () => own.getBindGroupLayout(0));
    this.kernels.notMadeIf(plan.request, notMade);
    const { guarded } = plan;
    void notMade.then((error) => error ?? this.kernels.tell(plan.choice));
    if (!guarded) return this.#adopt(own, plan);
    const { made, failed } = makeSilently(this.#device, () =>
      this.#device.createComputePipeline(doubledIn(0, guarded)),
    );
    const record = this.#protect(own, plan, guarded, made);
    const proven = failed.then(async (error) => {
      if (!error) return;
      record.fallBack();
      // The mistake may be the program's.
      if (await notMade) return;
      const message = await reasonOf(error, guarded);
      this.kernels.tell(this.kernels.leaveAlone(plan.request, leftAlone.refusedByDriver(message)));
      guarded.kernel.refused = message;
    });
    prove(guarded.kernel, proven);
    return this.#adopt(own, plan, record);
  }

  /** Falls back to the program's own kernel when the device refuses the protected one. */
  async createAsync(descriptor: GPUComputePipelineDescriptor): Promise<GPUComputePipeline> {
    const plan = this.#plans.plan(descriptor);
    try {
      const made = await this.#makeAsync(plan);
      this.kernels.tell(plan.choice);
      return made;
    } catch (error) {
      this.kernels.notMade(plan.request);
      throw error;
    }
  }

  async #makeAsync(plan: PipelinePlan): Promise<GPUComputePipeline> {
    const { descriptor, guarded } = plan;
    const makeOwn = () => this.#device.createComputePipelineAsync(descriptor);
    if (!guarded) return this.#adopt(await makeOwn(), plan);
    try {
      const made = await this.#device.createComputePipelineAsync(doubledIn(0, guarded));
      // Only the program's own pipeline knows the default layout of a bind group to which the
      // protected one adds.
      const own = plan.explicit || guarded.shared.size === 0 ? made : await makeOwn();
      const record = this.#protect(own, plan, guarded, made);
      return this.#adopt(own, plan, record);
    } catch (error) {
      // When the mistake is the program's, this one fails too, with a message about the program's
      // own code.
      const own = await makeOwn();
      const reason = leftAlone.refusedByDriver(await reasonOf(error, guarded));
      this.kernels.tell(this.#plans.leaveAlone(descriptor, plan.request, reason).choice);
      return this.#adopt(own, plan);
    }
  }

  recordOf(pipeline: GPUComputePipeline): PipelineRecord {
    return this.#pipelines.stateOf(pipeline) ?? new PipelineRecord(this.#device, pipeline, {});
  }

  /**
   * Lets a protected pipeline run in place of the program's, and its variants where they are
   * needed. `known`: the pipeline whose bind groups the program has, if that is another one.
   */
  #protect(
    own: GPUComputePipeline,
    plan: PipelinePlan,
    guarded: Guarded,
    primary: GPUComputePipeline,
    known?: PipelineRecord,
  ): PipelineRecord {
    const record = new PipelineRecord(this.#device, own, plan);
    const { kernel, shared } = guarded;
    const all = record.hasDefaultLayout ? new Set([...record.groups, ...shared]) : shared;
    const variantOf = (
      doubling: Doubling,
      pipeline: GPUComputePipeline,
      replaced: ReadonlySet<number>,
    ): Variant => ({
      pipeline,
      descriptor: doubledIn(doubling, guarded),
      added: new AddedBindings(this.#device, this, this.#memory, {
        pipeline,
        kernel,
        replaced,
        accepts: (layout) => (known ?? record).accepts(layout),
      }),
    });
    // Bind groups for one pipeline's default layout do not fit another pipeline.
    const makeVariant = (doubling: Doubling) => variantOf(doubling, this.#make(doubling, guarded), all);
    const makeWith = (memory: LessMemory) => this.#makeWith(memory, own, plan.descriptor, record);
    record.protect(guarded, variantOf(0, primary, known ? all : shared), makeVariant, makeWith);
    return record;
  }

  /** The same kernel where it does less about memory, for the bind groups of a pipeline. */
  #makeWith(
    memory: LessMemory,
    own: GPUComputePipeline,
    descriptor: GPUComputePipelineDescriptor,
    known: PipelineRecord,
  ): PipelineRecord {
    const plan = this.#plans.plan(descriptor, memory);
    this.kernels.tell(plan.choice);
    const { guarded, explicit } = plan;
    if (guarded) return this.#protect(own, plan, guarded, this.#make(0, guarded), known);
    // What was made in the background with an explicit layout may be protected itself.
    const pipeline = explicit ? this.#device.createComputePipeline(descriptor) : own;
    return new PipelineRecord(this.#device, pipeline, plan);
  }

  /**
   * Makes a pipeline at once; whether the device refuses it is known before the kernel's work is
   * trusted.
   */
  #make(doubling: Doubling, guarded: Guarded): GPUComputePipeline {
    const { kernel } = guarded;
    const { made, failed } = makeSilently(this.#device, () =>
      this.#device.createComputePipeline(doubledIn(doubling, guarded)),
    );
    const proven = failed.then(async (error) => {
      if (error) kernel.refused = await reasonOf(error, guarded);
    });
    prove(kernel, proven);
    return made;
  }

  #adopt(
    pipeline: GPUComputePipeline,
    plan: PipelinePlan,
    record = new PipelineRecord(this.#device, pipeline, plan),
  ): GPUComputePipeline {
    this.#pipelines.attach(pipeline, record);
    return pipeline;
  }
}

/**
 * Returns the device's first reason for refusing a protected pipeline: its error about the module
 * or the layout, if there is one. The pipeline's own error then only names an object that is
 * invalid.
 */
async function reasonOf(error: unknown, { kernel, layoutFailed }: Guarded): Promise<string> {
  return messageOf((await kernel.moduleFailed) ?? (await layoutFailed) ?? error);
}

/**
 * The pipeline's descriptor for a grid that is doubled in this dimension, if the kernel needs that
 * at all.
 */
function doubledIn(dimension: Doubling, { kernel, descriptor }: Guarded): GPUComputePipelineDescriptor {
  if (!kernel.interGroup) return descriptor;
  const { compute } = descriptor;
  const doubling = runsSequentially(kernel) ? namedByReport : dimension;
  const constants = { ...membersOf(compute.constants ?? {}), [kernel.interGroup.doubling]: doubling };
  return { ...descriptor, compute: { ...compute, constants } };
}

/**
 * Adds warnings of what stays unprotected in a module to the messages that the device has for it.
 */
function shaderModules(kernels: Kernels): Layer<GPUShaderModule, string> {
  return new Layer<GPUShaderModule, string>((native, sourceOf) => ({
    async getCompilationInfo() {
      const info = await native.getCompilationInfo.call(this);
      const isInvalid = info.messages.some(({ type }) => type === "error");
      const warnings = isInvalid ? [] : kernels.shortfallsIn(sourceOf(this)).map(compilationMessage);
      if (warnings.length === 0) return info;
      const messages = Object.freeze([...info.messages, ...warnings]);
      return Object.create(info, { messages: { value: messages, enumerable: true } });
    },
  }));
}

function compilationMessage({ code, message, line, column, span }: LocatedDiagnostic): GPUCompilationMessage {
  const members = {
    message: `${code} ${message}`,
    type: "warning",
    lineNum: line,
    linePos: column,
    offset: span.start,
    length: span.end - span.start,
  } as const;
  // Node.js has the class only where a program has made it global.
  const prototype: object = globalThis.GPUCompilationMessage?.prototype ?? Object.prototype;
  return Object.create(prototype, Object.getOwnPropertyDescriptors(members)) as GPUCompilationMessage;
}
