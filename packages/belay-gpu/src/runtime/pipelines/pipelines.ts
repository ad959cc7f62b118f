import type { Protect } from "../../compiler/contract.ts";
import { messageOf } from "../../diagnostics/messageOf.ts";
import { type LocatedDiagnostic, leftAlone } from "../context/coverage.ts";
import { observes } from "../context/policy.ts";
import type { RuntimeContext } from "../context/runtimeContext.ts";
import type { CheckWordBindings } from "../memory/memoryProtection.ts";
import type { ErrorScopes } from "../webgpu/errorScopes.ts";
import { makeSilently } from "../webgpu/nativeObjects.ts";
import { Overlay } from "../webgpu/overlay.ts";
import type { Owners } from "../webgpu/owners.ts";
import { AddedBindings } from "./addedBindings.ts";
import { BindGroups } from "./bindGroups.ts";
import { type Doubling, namedByReport } from "./doubledGrid.ts";
import { PipelineLayouts } from "./pipelineLayouts.ts";
import { type PipelinePlan, PipelinePlans } from "./pipelinePlans.ts";
import {
  type GuardedPipeline,
  type PipelineMakers,
  PipelineRecord,
  type PipelineVariant,
  runsSequentially,
} from "./pipelineRecord.ts";
import {
  awaitAcceptance,
  checkedVariant,
  Kernels,
  type KernelVariant,
  runsAlone,
} from "./protectedKernels.ts";
import { RenderPipelines } from "./renderPipelines.ts";
import { ShadowBuffers } from "./shadowBuffers.ts";

/** The program's own pipeline of a kernel that is created synchronously. */
interface OwnPipeline {
  /** The pipeline, unless it comes later. */
  readonly now: GPUComputePipeline | undefined;
  /** Resolves to the pipeline and the device's error about it. */
  readonly known: Promise<{ readonly pipeline: GPUComputePipeline; readonly mistake: GPUError | null }>;
}

/**
 * The compute pipelines of a device. Creates them from protected kernels, and records their
 * properties.
 */
export class ProtectedPipelines {
  readonly kernels: Kernels;
  readonly bindGroups: BindGroups;
  readonly rendering: RenderPipelines;
  readonly shadows: ShadowBuffers;
  readonly layouts: PipelineLayouts;
  readonly #plans: PipelinePlans;
  readonly #modules: Overlay<GPUShaderModule, string>;
  readonly #context: RuntimeContext;
  readonly #device: GPUDevice;
  readonly #owners: Owners;
  readonly #scopes: ErrorScopes;
  readonly #memory: CheckWordBindings;
  readonly #pipelines = new Overlay<GPUComputePipeline, PipelineRecord>((native, recordOf) => {
    const { bindGroups } = this;
    const owners = this.#owners;
    return {
      getBindGroupLayout(index) {
        const record = recordOf(this);
        const layout = record.layoutAt(index, (pipeline) => native.getBindGroupLayout.call(pipeline, index));
        if (record.hasDefaultLayout)
          bindGroups.trackDefaultLayout(layout, {
            key: record.layoutKeyAt(index),
            kinds: record.kindsOf(index),
            extension: record.extensionAt(index),
          });
        return owners.own("bindGroupLayout", layout);
      },
    };
  });

  constructor(context: RuntimeContext, memory: CheckWordBindings, protect: Protect) {
    const { device, owners, scopes } = context;
    this.#context = context;
    this.#device = device;
    this.#owners = owners;
    this.#scopes = scopes;
    this.#memory = memory;
    this.kernels = new Kernels(context, protect);
    this.bindGroups = new BindGroups(context);
    this.shadows = new ShadowBuffers(device);
    this.layouts = new PipelineLayouts(device, this.bindGroups);
    this.#plans = new PipelinePlans(this.kernels, this.layouts, observes(context.policy));
    this.#modules = shaderModules(this.kernels);
    this.rendering = new RenderPipelines(context, this.bindGroups, (module) => this.#modules.stateOf(module));
  }

  /** Creates the program's own module. Its messages and errors are those that the program sees. */
  createModule(descriptor: GPUShaderModuleDescriptor): GPUShaderModule {
    const module = this.#device.createShaderModule(descriptor);
    this.#modules.attach(module, descriptor.code);
    this.#plans.trackModule(module, descriptor.code);
    return module;
  }

  /**
   * Creates two pipelines. One of the protected kernel runs in place of the program's own, unless
   * the device rejects it. The errors of the program's own are those that the program sees. Throws
   * a `ProtectionError` in strict mode.
   */
  create(descriptor: GPUComputePipelineDescriptor): GPUComputePipeline {
    const plan = this.#plans.plan(descriptor);
    const { guarded } = plan;
    const own = guarded && canComeLater(plan, guarded) ? this.#ownLater(plan) : this.#ownNow(descriptor);
    const notMade = own.known.then(({ mistake }) => mistake);
    this.kernels.recordRejectionIf(plan.request, notMade);
    void notMade.then((mistake) => mistake ?? this.kernels.announce(plan.choice));
    if (!guarded) return this.#adopt(own.now!, plan);
    const { made, failed } = makeSilently(this.#device, () =>
      this.#device.createComputePipeline(doubledIn(0, guarded)),
    );
    const compiled = own.now
      ? undefined
      : own.known.then(({ pipeline, mistake }) => (mistake ? undefined : pipeline));
    const record = this.#protect(own.now ?? made, plan, guarded, made, { compiled });
    const proven = Promise.all([failed, own.known]).then(async ([error, { pipeline, mistake }]) => {
      if (!error && !mistake) return;
      record.fallBack(pipeline);
      if (mistake) {
        // The device may accept protected code of a program that it rejects, and have executed it.
        if (!error) guarded.kernel.rejection = `the program's pipeline is invalid: ${mistake.message}`;
        return;
      }
      const message = await reasonOf(error!, guarded);
      this.kernels.announce(this.kernels.leaveAlone(plan.request, leftAlone.rejectedByDriver(message)));
      guarded.kernel.rejection = message;
    });
    awaitAcceptance(guarded.kernel, proven);
    return this.#adopt(own.now ?? made, plan, record);
  }

  /** Creates the program's own pipeline. */
  #ownNow(descriptor: GPUComputePipelineDescriptor): OwnPipeline {
    const now = this.#device.createComputePipeline(descriptor);
    // An invalid pipeline has no layout. The program already gets an error about the pipeline, and
    // must not get a second one.
    const { failed } = makeSilently(this.#device, () => now.getBindGroupLayout(0));
    return { now, known: failed.then((mistake) => ({ pipeline: now, mistake })) };
  }

  /**
   * Begins to create the program's own pipeline. The driver compiles it beside the protected one.
   * The program gets errors about it as if it had been created now.
   */
  #ownLater({ descriptor }: PipelinePlan): OwnPipeline {
    const known = this.#device.createComputePipelineAsync(descriptor).then(
      (pipeline) => ({ pipeline, mistake: null }),
      async () => {
        // The error names the method that failed, which must be the program's.
        const { made, failed } = makeSilently(this.#device, () =>
          this.#device.createComputePipeline(descriptor),
        );
        return { pipeline: made, mistake: await failed };
      },
    );
    this.#scopes.reportLater(known.then(({ mistake }) => mistake));
    return { now: undefined, known };
  }

  /**
   * Creates a pipeline of the protected kernel, or of the program's own if the device rejects the
   * protected one.
   */
  async createAsync(descriptor: GPUComputePipelineDescriptor): Promise<GPUComputePipeline> {
    const plan = this.#plans.plan(descriptor);
    try {
      const made = await this.#makeAsync(plan);
      this.kernels.announce(plan.choice);
      return made;
    } catch (error) {
      this.kernels.recordRejection(plan.request);
      throw error;
    }
  }

  async #makeAsync(plan: PipelinePlan): Promise<GPUComputePipeline> {
    const { descriptor, guarded } = plan;
    const makeOwn = () => this.#device.createComputePipelineAsync(descriptor);
    if (!guarded || (await this.#isInvalid(descriptor.compute.module)))
      return this.#adopt(await makeOwn(), plan);
    try {
      const made = await this.#device.createComputePipelineAsync(doubledIn(0, guarded));
      // Only the program's own pipeline has the default layout of a bind group to which the
      // protected one adds bindings.
      const own = plan.explicit || guarded.shared.size === 0 ? made : await makeOwn();
      const record = this.#protect(own, plan, guarded, made);
      return this.#adopt(own, plan, record);
    } catch (error) {
      // If the program's own code is invalid, this call fails too, with a message about that code.
      const own = await makeOwn();
      const reason = leftAlone.rejectedByDriver(await reasonOf(error, guarded));
      this.kernels.announce(this.#plans.leaveAlone(descriptor, plan.request, reason).choice);
      return this.#adopt(own, plan);
    }
  }

  /**
   * Returns true if the device has rejected a module. It may accept protected code of that module.
   */
  async #isInvalid(module: GPUShaderModule): Promise<boolean> {
    const { getCompilationInfo } = this.#modules.below(module);
    const info = await getCompilationInfo.call(module).catch(() => undefined);
    return info?.messages.some(({ type }) => type === "error") ?? false;
  }

  recordOf(pipeline: GPUComputePipeline): PipelineRecord {
    return this.#pipelines.stateOf(pipeline) ?? new PipelineRecord(this.#device, pipeline, {});
  }

  /**
   * Returns a record whose pipelines run in place of the program's. `known` is the pipeline whose
   * bind groups the program has, if it is another one. `compiled` resolves to the program's own
   * pipeline, if it is compiled beside the protected one.
   */
  #protect(
    own: GPUComputePipeline,
    plan: PipelinePlan,
    guarded: GuardedPipeline,
    primary: GPUComputePipeline,
    { known, compiled }: Partial<Pick<PipelineMakers, "compiled">> & { readonly known?: PipelineRecord } = {},
  ): PipelineRecord {
    const record = new PipelineRecord(this.#device, own, plan);
    const { kernel, shared } = guarded;
    // Bind groups for the default layout of one pipeline do not fit another pipeline.
    const all = record.hasDefaultLayout ? new Set([...record.groups, ...shared]) : shared;
    const variantOf = (
      doubling: Doubling,
      pipeline: GPUComputePipeline,
      replaced: ReadonlySet<number>,
      withReport?: number,
    ): PipelineVariant => ({
      pipeline,
      descriptor: doubledIn(doubling, guarded),
      added: new AddedBindings(this.#context, this, this.#memory, {
        pipeline,
        kernel,
        replaced,
        withReport,
        accepts: (layout) => (known ?? record).accepts(layout),
      }),
    });
    const makeVariant = (doubling: Doubling) => variantOf(doubling, this.#make(doubling, guarded), all);
    const makeOwn = () => this.#device.createComputePipelineAsync(plan.descriptor);
    const makePlain = () => (plan.explicit ? this.#makePlain(plan.descriptor) : own);
    const makeWith = (variant: KernelVariant) => {
      const other = this.#plans.plan(plan.descriptor, variant);
      return this.#makeOther(other, own, record, runsAlone(variant));
    };
    const makeUnmixed = () => {
      const other = this.#plans.plan(plan.descriptor, plan.request.variant, true);
      return this.#makeOther(other, own, known ?? record, true);
    };
    const first = known ? variantOf(0, primary, all) : variantOf(0, primary, shared, guarded.withReport);
    record.protect(guarded, first, {
      compiled,
      makeOwn,
      makePlain,
      makeVariant,
      makeWith,
      makeUnmixed,
    });
    return record;
  }

  /**
   * Returns the record of another pipeline in place of `own`, for the bind groups of `known`. These
   * may be of another pipeline than `own` if an unprotected kernel `replaces` a protected one.
   */
  #makeOther(
    plan: PipelinePlan,
    own: GPUComputePipeline,
    known: PipelineRecord,
    replaces: boolean,
  ): PipelineRecord {
    // The kernel of a checked dispatch is announced with the program's pipeline.
    if (!checkedVariant(plan.request.variant)) this.kernels.announce(plan.choice);
    const { guarded, explicit, descriptor } = plan;
    if (guarded) return this.#protect(own, plan, guarded, this.#make(0, guarded), { known });
    const pipeline = explicit || replaces ? this.#makePlain(descriptor) : own;
    const record = new PipelineRecord(this.#device, pipeline, plan);
    if (explicit || !replaces) return record;
    const added = new AddedBindings(this.#context, this, this.#memory, {
      pipeline,
      kernel: undefined,
      replaced: new Set(known.groups),
      withReport: undefined,
      accepts: (layout) => known.accepts(layout),
    });
    record.run({ pipeline, added });
    return record;
  }

  /**
   * Creates a pipeline of the program's kernel. One that was created asynchronously with an
   * explicit layout may itself be the protected one.
   */
  #makePlain(descriptor: GPUComputePipelineDescriptor): GPUComputePipeline {
    return makeSilently(this.#device, () => this.#device.createComputePipeline(descriptor)).made;
  }

  /**
   * Creates a pipeline synchronously. The kernel's work is not trusted before the device accepted
   * the pipeline.
   */
  #make(doubling: Doubling, guarded: GuardedPipeline): GPUComputePipeline {
    const { kernel } = guarded;
    const { made, failed } = makeSilently(this.#device, () =>
      this.#device.createComputePipeline(doubledIn(doubling, guarded)),
    );
    const proven = failed.then(async (error) => {
      if (error) kernel.rejection = await reasonOf(error, guarded);
    });
    awaitAcceptance(kernel, proven);
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
 * Returns whether the program can have the protected pipeline in place of its own. It cannot if it
 * needs default layouts, or errors about bound buffers, that only its own pipeline has.
 */
function canComeLater({ explicit }: PipelinePlan, { shared, kernel }: GuardedPipeline): boolean {
  return explicit !== undefined || (shared.size === 0 && kernel.memory === undefined);
}

/**
 * Returns the device's first reason for rejecting a protected pipeline. An error of the module or
 * the layout comes first, as the pipeline's own error then only names an invalid object.
 */
async function reasonOf(error: unknown, { kernel, layoutFailed }: GuardedPipeline): Promise<string> {
  return messageOf((await kernel.moduleFailed) ?? (await layoutFailed) ?? error);
}

/**
 * Returns the pipeline's descriptor for a grid that is doubled in this dimension. It is unchanged
 * if the kernel is not Inter-Group.
 */
function doubledIn(
  dimension: Doubling,
  { kernel, descriptor }: GuardedPipeline,
): GPUComputePipelineDescriptor {
  if (!kernel.interGroup) return descriptor;
  const { compute } = descriptor;
  const doubling = runsSequentially(kernel) ? namedByReport : dimension;
  const constants = { ...compute.constants, [kernel.interGroup.doubling]: doubling };
  return { ...descriptor, compute: { ...compute, constants } };
}

/** Adds warnings about unprotected code of a module to the device's messages about the module. */
function shaderModules(kernels: Kernels): Overlay<GPUShaderModule, string> {
  return new Overlay<GPUShaderModule, string>((native, sourceOf) => ({
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
  // Node.js has the class only if the program made it global.
  const prototype: object = globalThis.GPUCompilationMessage?.prototype ?? Object.prototype;
  return Object.create(prototype, Object.getOwnPropertyDescriptors(members)) as GPUCompilationMessage;
}
