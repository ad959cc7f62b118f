import type { Protect } from "../compiler/contract.ts";
import { type Belay, belayOf } from "./belay.ts";
import { describeShortfall } from "./context/coverage.ts";
import type { Fault } from "./context/detectedFault.ts";
import { Events } from "./context/events.ts";
import type { MemoryFault } from "./context/memoryFault.ts";
import { doublesGrids, type Policy, refuseConflicts, resolvePolicy } from "./context/policy.ts";
import { ReportArena } from "./context/reportArena.ts";
import { BitFlips } from "./injection/bitFlips.ts";
import { Injector } from "./injection/injector.ts";
import { Memory } from "./memory/memory.ts";
import { scrubAtIntervals } from "./memory/scrubber.ts";
import { BindGroups } from "./pipelines/bindGroups.ts";
import { Kernels } from "./pipelines/kernels.ts";
import { Pipelines } from "./pipelines/pipelines.ts";
import { shaderModules } from "./pipelines/shaderModules.ts";
import { ShadowBuffers } from "./pipelines/shadowBuffers.ts";
import { showOnCanvases } from "./recording/canvases.ts";
import { Commands } from "./recording/commands.ts";
import { ComputePasses } from "./recording/computePasses.ts";
import { DispatchCounter } from "./recording/dispatchCounter.ts";
import { RenderPasses } from "./recording/renderPasses.ts";
import { Journal } from "./verification/journal.ts";
import { hardenedQueue } from "./verification/queue.ts";
import { ReadBack } from "./verification/readBack.ts";
import { StoreSearch } from "./verification/storeSearch.ts";
import { Taints } from "./verification/taints.ts";
import { type Outcome, Verifier } from "./verification/verifier.ts";
import { DeclaredUsages } from "./webgpu/declaredUsages.ts";
import { ErrorScopes } from "./webgpu/errorScopes.ts";
import { flags, front, membersOf } from "./webgpu/nativeObjects.ts";
import { Textures } from "./webgpu/resources.ts";

/** The device that a program uses, and what Belay adds to it. */
export type HardenedDevice = GPUDevice & { readonly belay: Belay };

/** Faults kept for the report; older ones make room. */
const KEPT_FAULTS = 1000;

function keep<T>(faults: T[], fault: T): void {
  faults.push(fault);
  if (faults.length > KEPT_FAULTS) faults.shift();
}

/** Hardens a device with a given compiler. */
export function hardenWith(protect: Protect, device: GPUDevice, policy?: Policy): HardenedDevice {
  const resolved = resolvePolicy(policy, device);
  refuseConflicts(resolved, device.features);
  const events = new Events();
  const faults: Fault[] = [];
  const arena = new ReportArena(device);
  const injector = new Injector(arena);
  const kernels = new Kernels(device, resolved, protect, arena, (coverage) => {
    if (events.isHeard("unprotected")) events.emit("unprotected", coverage);
    else console.warn(describeShortfall(coverage));
  });
  const textures = new Textures(device);
  const recovers = resolved.onFault === "recover";
  const refuses = resolved.onFault !== "report";
  const memoryFaults: MemoryFault[] = [];
  const onMemoryFault = (fault: MemoryFault) => {
    keep(memoryFaults, fault);
    events.emit("memoryFault", fault);
  };
  const taints = new Taints();
  const memory =
    resolved.memory === "none"
      ? undefined
      : new Memory(device, arena, {
          ...{ scheme: resolved.memory, retries: resolved.retries, refuses, strict: resolved.strict },
          onMappedWrite: (range) => journal.wroteMapped(range),
          onCorrected: (correction) => events.emit("corrected", correction),
          onFault: onMemoryFault,
        });
  const flips = new BitFlips(device);
  const scopes = new ErrorScopes(device);
  const usages = new DeclaredUsages(device, scopes, {
    ...{ copies: recovers || resolved.injectFaults === true, readsArguments: doublesGrids(resolved) },
    ...(memory && { verifies: (descriptor) => memory.buffers.allocationOf(descriptor) }),
  });
  const wantCheck = () => void verifier.verify();
  const journal: Journal = new Journal(
    ...([device, textures, usages, memory, scopes, taints, recovers, wantCheck] as const),
  );
  const bindGroups = new BindGroups(device, textures, usages);
  const search = new StoreSearch(device, kernels, bindGroups, arena);
  const verifier = new Verifier(device, arena, journal, memory, taints, resolved, search, {
    onDetection: (detection) => events.emit("detection", detection),
    onUnverified: (unverified) => events.emit("unverified", unverified),
    onFault: (fault) => {
      keep(faults, fault);
      events.emit("fault", fault);
    },
    onMemoryFault,
    onRecovery: (recovery) => events.emit("recovery", recovery),
    onGiveUp: (giveUp) => events.emit("giveUp", giveUp),
    onReplay: () => injector.workRunsAgain(kernels),
  });
  const shadows = new ShadowBuffers(device);
  const pipelines = new Pipelines(device, kernels, bindGroups, shadows, memory);
  const modules = shaderModules(kernels);
  const counter = resolved.injectFaults ? new DispatchCounter(device) : undefined;
  const computePasses = new ComputePasses(device, pipelines, bindGroups, shadows, counter, memory, usages);
  const renderPasses = new RenderPasses(bindGroups, textures, memory, usages);
  const commands = new Commands({ computePasses, renderPasses, textures, usages, memory });
  const { queue, framesShown } = hardenedQueue(device.queue, {
    ...{ commands, journal, verifier, textures, usages, memory, refuses },
  });
  const arrived = async (buffer: GPUBuffer) => memory?.arrived(buffer);
  const readBack = new ReadBack(verifier, journal, { refuse: refuses, arrived });
  const scrub = async (): Promise<Outcome> => {
    memory?.scrub();
    const outcome = await verifier.verifyAnyway();
    if (!memory || !refuses || outcome.lost || outcome.refused) return outcome;
    // Damage that was found and refused before has check words that fit.
    const [damaged] = memory.damaged((place) => verifier.taintOf(place) !== undefined);
    const refused = damaged && verifier.taintOf(damaged);
    return refused ? { refused } : {};
  };
  if (memory && resolved.scrubInterval > 0) scrubAtIntervals(device, resolved.scrubInterval, scrub);

  const belay = belayOf({
    ...{ policy: resolved, events, arena, kernels, injector, flips, journal, verifier, shadows, memory },
    ...{ faults, memoryFaults, framesShown, scrub },
  });

  const hardened = front(device, {
    belay,
    queue,
    pushErrorScope: (filter: GPUErrorFilter) => scopes.push(filter),
    popErrorScope: () => scopes.pop(),
    createBuffer: (descriptor: GPUBufferDescriptor): GPUBuffer => {
      const buffer = journal.createBuffer(descriptor);
      const mappable = descriptor.usage & (flags.bufferMapRead | flags.bufferMapWrite);
      if (mappable) readBack.cover(buffer);
      return buffer;
    },
    createTexture: (descriptor: GPUTextureDescriptor): GPUTexture => {
      const texture = journal.createTexture(descriptor);
      textures.follow(texture);
      return texture;
    },
    createBindGroupLayout: (descriptor: GPUBindGroupLayoutDescriptor) => bindGroups.createLayout(descriptor),
    createBindGroup: (descriptor: GPUBindGroupDescriptor) => bindGroups.createGroup(descriptor),
    createPipelineLayout: (descriptor: GPUPipelineLayoutDescriptor): GPUPipelineLayout => {
      const bindGroupLayouts = [...descriptor.bindGroupLayouts];
      const layout = device.createPipelineLayout({ ...membersOf(descriptor), bindGroupLayouts });
      pipelines.layouts.track(layout, { ...membersOf(descriptor), bindGroupLayouts });
      return layout;
    },
    createShaderModule: (descriptor: GPUShaderModuleDescriptor): GPUShaderModule => {
      // The program's own source is compiled as it is too: its messages and errors are the ones the program sees.
      const module = device.createShaderModule(descriptor);
      modules.cover(module, descriptor.code);
      pipelines.plans.trackModule(module, descriptor.code);
      return module;
    },
    createComputePipeline: (descriptor: GPUComputePipelineDescriptor) => pipelines.create(descriptor),
    createComputePipelineAsync: async (descriptor: GPUComputePipelineDescriptor) =>
      pipelines.createAsync(descriptor),
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
  }) as HardenedDevice;
  showOnCanvases(hardened, device, textures);
  return hardened;
}
