import type { Protect } from "../compiler/contract.ts";
import { BelayError } from "../diagnostics/belayError.ts";
import { type Schemes, schemes } from "../ecc/scheme.ts";
import { type Belay, belayOf, type CampaignBelay } from "./belay.ts";
import type { AuditStarter } from "./context/auditing.ts";
import { type CampaignPolicy, observes } from "./context/policy.ts";
import { createContext } from "./context/runtimeContext.ts";
import { Injector } from "./injection/injector.ts";
import { EccMemory } from "./memory/eccMemory.ts";
import { NoMemoryProtection } from "./memory/noMemoryProtection.ts";
import { ProtectedPipelines } from "./pipelines/pipelines.ts";
import { showOnCanvases } from "./recording/canvases.ts";
import { Commands } from "./recording/commands.ts";
import { DispatchCounts } from "./recording/dispatchCounts.ts";
import { FilledRanges } from "./recording/filled.ts";
import type { SumsCheckStarter } from "./recording/sumsChecking.ts";
import { Journal } from "./verification/journal.ts";
import { MappingGate } from "./verification/mappingGate.ts";
import { hardenedQueue } from "./verification/queue.ts";
import { Scrubber } from "./verification/scrubber.ts";
import { StoreSearch } from "./verification/storeSearch.ts";
import { Verifier } from "./verification/verifier.ts";
import { learnConversions } from "./webgpu/conversions.ts";
import { proxyOf } from "./webgpu/nativeObjects.ts";
import type { Owners } from "./webgpu/owners.ts";

/**
 * The device that a program uses, with the members that Belay adds. It is `Disposable` in programs
 * whose TypeScript libraries have this type. `using` destroys the device at the end of its scope,
 * and ends scrubbing.
 */
export type HardenedDevice = GPUDevice & {
  /** The events of the device, its report, and the injection of faults. */
  readonly belay: Belay;
} & (SymbolConstructor extends { readonly dispose: infer Dispose extends symbol }
    ? { readonly [Key in Dispose]: () => void }
    : unknown);

/** A hardened device that also counts executions of fault sites. */
export type CampaignDevice = { readonly belay: CampaignBelay } & HardenedDevice;

/**
 * Hardens a device with a given compiler, and with given codes for memory. Throws a `BelayError`
 * for a device that is already hardened.
 */
export function hardenWith(
  protect: Protect,
  device: GPUDevice,
  policy?: CampaignPolicy,
  codes: Schemes = schemes,
): CampaignDevice {
  if ((device as Partial<HardenedDevice>).belay !== undefined)
    throw new BelayError("already-hardened", "the device is already hardened", {
      help: "harden the native device once, with one policy that holds all options",
    });
  learnConversions(device);
  const context = createContext(device, policy, codes);
  const code = context.policy.memory;
  const memory = code === "none" ? new NoMemoryProtection() : new EccMemory(context, code);
  const pipelines = new ProtectedPipelines(context, memory, protect);
  const filled = new FilledRanges();
  // The policy accepts only checkers and auditors that can begin.
  const checker = context.policy.algebra as SumsCheckStarter | undefined;
  const algebra = checker?.beginChecks(context);
  const commands = new Commands(context, memory, pipelines, filled, algebra);
  const journal = new Journal(context, memory, filled);
  const verifier = new Verifier(context, memory, journal, new StoreSearch(context, pipelines));
  const scrubber = new Scrubber(context, memory, verifier);
  const mappings = new MappingGate(context, memory, journal, verifier);
  const injector = new Injector(context, pipelines.kernels);
  verifier.replaying.subscribe(() => injector.workRunsAgain());
  const auditor = context.policy.audit as AuditStarter | undefined;
  const audit = auditor?.begin(device, context.events);
  if (audit) verifier.settled.subscribe(({ epochs, isClean }) => audit.settle(epochs, isClean));
  const counts = observes(context.policy)
    ? undefined
    : new DispatchCounts((each) => pipelines.recordOf(each));
  const { queue, framesShown } = counts
    ? { queue: counts.queueOf(device, context.scopes), framesShown: () => 0 }
    : hardenedQueue({ context, memory, commands, journal, verifier, mappings, audit });
  const counted = () => (counts ?? journal).counted;
  const belay = belayOf({
    context,
    memory,
    pipelines,
    injector,
    journal,
    verifier,
    scrubber,
    framesShown,
    audit,
    algebra,
    counted,
  });
  const { owners, scopes, textures } = context;
  const creation = counts
    ? countingMethods(device, pipelines, counts)
    : creationMethods(device, { owners, pipelines, commands, journal, mappings });
  const hardened: CampaignDevice = proxyOf(device, {
    ...creation,
    // Older browsers have no such symbol.
    ...(Symbol.dispose && { [Symbol.dispose]: () => device.destroy() }),
    belay,
    queue,
    pushErrorScope: (filter: GPUErrorFilter) => scopes.push(filter),
    popErrorScope: () => scopes.pop(),
  });
  showOnCanvases(hardened, device, textures);
  return hardened;
}

/** Returns the methods of a device on which no fault can be detected. */
function countingMethods(device: GPUDevice, pipelines: ProtectedPipelines, counts: DispatchCounts) {
  return {
    createShaderModule: (descriptor: GPUShaderModuleDescriptor) => pipelines.createModule(descriptor),
    createComputePipeline: (descriptor: GPUComputePipelineDescriptor) => pipelines.create(descriptor),
    createComputePipelineAsync: async (descriptor: GPUComputePipelineDescriptor) =>
      pipelines.createAsync(descriptor),
    createCommandEncoder: (descriptor?: GPUCommandEncoderDescriptor): GPUCommandEncoder => {
      const encoder = device.createCommandEncoder(descriptor);
      counts.follow(encoder);
      return encoder;
    },
  };
}

interface Creators {
  readonly owners: Owners;
  readonly pipelines: ProtectedPipelines;
  readonly commands: Commands;
  readonly journal: Journal;
  readonly mappings: MappingGate;
}

/** Returns the methods of a hardened device that create objects. */
function creationMethods(device: GPUDevice, { owners, pipelines, commands, journal, mappings }: Creators) {
  const ofCompute = (descriptor: GPUComputePipelineDescriptor) =>
    owners.acceptIn(descriptor, "layout", "compute.module");
  const ofRendering = (descriptor: GPURenderPipelineDescriptor) =>
    owners.acceptIn(descriptor, "layout", "vertex.module", "fragment.module");
  return {
    createBuffer: (descriptor: GPUBufferDescriptor): GPUBuffer => {
      const buffer = owners.own("buffer", journal.createBuffer(descriptor));
      mappings.attach(buffer, descriptor.usage);
      return buffer;
    },
    createTexture: (descriptor: GPUTextureDescriptor) =>
      owners.own("texture", journal.createTexture(descriptor)),
    createSampler: (descriptor?: GPUSamplerDescriptor) =>
      owners.own("sampler", device.createSampler(descriptor)),
    createQuerySet: (descriptor: GPUQuerySetDescriptor) =>
      owners.own("querySet", device.createQuerySet(descriptor)),
    createBindGroupLayout: (descriptor: GPUBindGroupLayoutDescriptor) =>
      owners.own("bindGroupLayout", pipelines.bindGroups.createLayout(descriptor)),
    createBindGroup: (given: GPUBindGroupDescriptor) => {
      const descriptor = owners.acceptIn(given, "layout", "entries.resource", "entries.resource.buffer");
      return owners.own("bindGroup", pipelines.bindGroups.createGroup(descriptor));
    },
    createPipelineLayout: (given: GPUPipelineLayoutDescriptor) => {
      const descriptor = owners.acceptIn(given, "bindGroupLayouts");
      return owners.own("pipelineLayout", pipelines.layouts.create(descriptor));
    },
    createShaderModule: (descriptor: GPUShaderModuleDescriptor) =>
      owners.own("shaderModule", pipelines.createModule(descriptor)),
    createComputePipeline: (descriptor: GPUComputePipelineDescriptor) =>
      owners.own("computePipeline", pipelines.create(ofCompute(descriptor))),
    createComputePipelineAsync: async (descriptor: GPUComputePipelineDescriptor) =>
      owners.own("computePipeline", await pipelines.createAsync(ofCompute(descriptor))),
    createRenderPipeline: (descriptor: GPURenderPipelineDescriptor) =>
      owners.own("renderPipeline", pipelines.rendering.create(ofRendering(descriptor))),
    createRenderPipelineAsync: async (descriptor: GPURenderPipelineDescriptor) =>
      owners.own("renderPipeline", await pipelines.rendering.createAsync(ofRendering(descriptor))),
    createCommandEncoder: (descriptor?: GPUCommandEncoderDescriptor): GPUCommandEncoder => {
      const encoder = device.createCommandEncoder(descriptor);
      commands.follow(encoder);
      return encoder;
    },
    createRenderBundleEncoder: (descriptor: GPURenderBundleEncoderDescriptor): GPURenderBundleEncoder => {
      const encoder = device.createRenderBundleEncoder(descriptor);
      commands.followBundle(encoder);
      return encoder;
    },
  };
}
