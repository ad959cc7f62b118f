import type { FaultSite, Protect } from "../compiler/contract.ts";
import { BindGroups } from "./bindGroups.ts";
import { BitFlips } from "./bitFlips.ts";
import { showOnCanvases } from "./canvases.ts";
import { Commands } from "./commands.ts";
import { ComputePasses } from "./computePasses.ts";
import type { KernelCoverage } from "./coverage.ts";
import { DeclaredUsages } from "./declaredUsages.ts";
import { DispatchCounter } from "./dispatchCounter.ts";
import { type BelayEvents, Events } from "./events.ts";
import type { Fault } from "./fault.ts";
import { type ArmedFault, Injector, type Observed } from "./injector.ts";
import { Journal } from "./journal.ts";
import { Kernels } from "./kernels.ts";
import { Memory } from "./memory/memory.ts";
import type { MemoryFault } from "./memory/memoryFault.ts";
import type { MemoryReport } from "./memory/memoryLog.ts";
import { scrubAtIntervals } from "./memory/scrubber.ts";
import { flags, front, membersOf } from "./nativeObjects.ts";
import { Pipelines } from "./pipelines.ts";
import { doublesGrids, type Policy, resolvePolicy } from "./policy.ts";
import { type KernelProfile, Profiler } from "./profiler.ts";
import { hardenedQueue } from "./queue.ts";
import { holdBack } from "./readBack.ts";
import { RenderPasses } from "./renderPasses.ts";
import { ReportArena } from "./reportArena.ts";
import { Textures } from "./resources.ts";
import { ShadowBuffers, type ShadowReport } from "./shadowBuffers.ts";
import type { SnapshotReport } from "./snapshots.ts";
import { Verifier } from "./verifier.ts";

/** What a kernel went through so far. */
export interface KernelReport extends KernelCoverage {
  /** Dispatches submitted. */
  readonly dispatches: number;
  /** Findings in its report: records that the replicas wrote, or workgroups that disagree. */
  readonly detections: number;
  /** Findings that are no fault: twins that waited too long for each other, and grids that could not be doubled. */
  readonly unverified: number;
}

/** What a hardened device covers and has seen. */
export interface Report {
  readonly kernels: readonly KernelReport[];
  /** Read-backs of the kernels' reports. */
  readonly checks: number;
  /** How often work was put back and run again. */
  readonly replays: number;
  /** Detected faults that were recovered from, and those that were not. */
  readonly recoveries: number;
  readonly giveUps: number;
  /** Time from detections to their outcomes, in all. */
  readonly recoveryMilliseconds: number;
  /** What it takes to be able to run work again. */
  readonly snapshots: SnapshotReport;
  /** What it takes to change buffers in place on doubled grids. */
  readonly shadows: ShadowReport;
  /** What protected memory takes and what was found in it; absent under the policy's memory `"none"`. */
  readonly memory?: MemoryReport;
  /** Frames that a canvas has shown, all of them before they were verified. */
  readonly framesShown: number;
  /** Detected faults, the latest ones; each kernel's `detections` counts all. */
  readonly faults: readonly Fault[];
  /** Damaged granules of memory, the latest ones. */
  readonly memoryFaults: readonly MemoryFault[];
}

/** The fault sites of one kernel. */
export interface KernelFaultSites {
  readonly kernel: string;
  readonly entryPoint: string;
  readonly sites: readonly FaultSite[];
}

/** What a hardened device offers besides WebGPU. */
export interface Belay {
  /** Calls the listener at every event of a kind. What it throws is written to the console. */
  on<Name extends keyof BelayEvents>(event: Name, listener: (happened: BelayEvents[Name]) => void): void;
  /** Stops calling a listener. */
  off<Name extends keyof BelayEvents>(event: Name, listener: (happened: BelayEvents[Name]) => void): void;
  /** Waits until all work submitted so far is verified; rejects when the latest check had to refuse data. */
  verify(): Promise<void>;
  /** Verifies, then tells what is covered and what was seen. Does not reject for a fault. */
  report(): Promise<Report>;
  /** Verifies all protected memory, and corrects what it can. Rejects when damage was found that is not to be released. */
  scrub(): Promise<void>;
  /**
   * Flips bits of a buffer at rest: those of `mask`, in the 32-bit word that begins at `byteOffset`. A protected buffer that
   * can be mapped is struck when it is mapped next. Throws unless the policy has `injectFaults`, and for a word that is not in the buffer.
   */
  flip(buffer: GPUBuffer, byteOffset: number, mask: number): void;
  /** Where faults can be armed in the kernels made so far; empty unless the policy has `injectFaults`. */
  faultSites(): KernelFaultSites[];
  /**
   * Arms a fault, in place of the one armed before. Throws a `TypeError` unless the policy has `injectFaults`, and for a
   * fault in a line of memory that does not say which.
   */
  arm(fault: ArmedFault): void;
  /** Takes back the fault that is armed, if there is one. */
  disarm(): void;
  /** How often the fault armed last has struck in the work submitted so far. */
  strikes(): Promise<number>;
  /** What it has done. */
  observed(): Promise<Observed>;
  /**
   * How often fault sites were executed since the profile before. Run a workload twice, with a profile after each run: the
   * second one has samples. Throws unless the policy has `injectFaults: "profile"`.
   */
  profile(): Promise<KernelProfile[]>;
}

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
  const events = new Events();
  const faults: Fault[] = [];
  const arena = new ReportArena(device);
  const injector = new Injector(arena);
  const kernels = new Kernels(device, resolved, protect, arena, (kernel) => injector.kernelMade(kernel));
  const textures = new Textures(device);
  const recovers = resolved.onFault === "recover";
  const refuses = resolved.onFault !== "report";
  const memoryFaults: MemoryFault[] = [];
  const onMemoryFault = (fault: MemoryFault) => {
    keep(memoryFaults, fault);
    events.emit("memoryFault", fault);
  };
  const memory =
    resolved.memory === "none"
      ? undefined
      : new Memory(device, arena, {
          ...{ scheme: resolved.memory, retries: resolved.retries, refuses, strict: resolved.strict },
          onCorrected: (correction) => events.emit("corrected", correction),
          onFault: onMemoryFault,
        });
  const flips = new BitFlips(device);
  const usages = new DeclaredUsages(device, {
    ...{ copies: recovers || resolved.injectFaults === true, readsArguments: doublesGrids(resolved) },
    ...(memory && { verifies: (descriptor) => memory.buffers.allocationOf(descriptor) }),
  });
  const wantCheck = () => void verifier.verify();
  const journal: Journal = new Journal(device, textures, usages, memory, recovers, wantCheck);
  const verifier = new Verifier(arena, journal, memory, resolved, {
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
  const bindGroups = new BindGroups(device, textures, usages);
  const shadows = new ShadowBuffers(device);
  const pipelines = new Pipelines(device, kernels, bindGroups, shadows, memory);
  const counter = resolved.injectFaults ? new DispatchCounter(device) : undefined;
  const computePasses = new ComputePasses(device, pipelines, bindGroups, shadows, counter, memory);
  const renderPasses = new RenderPasses(bindGroups, textures, memory);
  const commands = new Commands({ computePasses, renderPasses, textures, usages, memory });
  const { queue, framesShown } = hardenedQueue(device.queue, {
    ...{ commands, journal, verifier, textures, usages, memory, refuses },
  });
  const arrived = async (buffer: GPUBuffer) => memory?.arrived(buffer);
  const scrub = () => {
    memory?.scrub();
    return verifier.verifyAnyway();
  };
  if (memory && resolved.scrubInterval > 0) scrubAtIntervals(device, resolved.scrubInterval, scrub);

  const belay: Belay = {
    on: (event, listener) => events.on(event, listener),
    off: (event, listener) => events.off(event, listener),
    verify: async () => {
      const { refused, lost } = await verifier.verify();
      if (lost ?? refused) throw lost ?? refused;
    },
    report: async () => {
      await verifier.verify();
      const reports = [...kernels.choices].map(({ coverage, kernel }) => ({
        ...coverage,
        dispatches: kernel?.dispatches ?? 0,
        detections: kernel?.detections ?? 0,
        unverified: kernel?.unverified ?? 0,
      }));
      const { checks, replays, recoveries, giveUps, recoveryMilliseconds } = verifier;
      return {
        kernels: reports,
        ...{ checks, replays, recoveries, giveUps, recoveryMilliseconds },
        snapshots: journal.snapshots,
        shadows: shadows.report,
        ...(memory && { memory: memory.log.report }),
        framesShown: framesShown(),
        faults: [...faults],
        memoryFaults: [...memoryFaults],
      };
    },
    scrub: async () => {
      const { refused, lost } = await scrub();
      if (lost ?? refused) throw lost ?? refused;
    },
    flip: (buffer, byteOffset, mask) => {
      if (resolved.injectFaults !== true)
        throw new TypeError("bits can be flipped only under a policy with injectFaults");
      if (byteOffset % 4 !== 0 || byteOffset < 0 || !(byteOffset < buffer.size))
        throw new TypeError("bits are flipped in a 32-bit word of the buffer");
      if (memory?.flipMapped(buffer, byteOffset, mask)) return;
      if (buffer.usage & (flags.bufferMapRead | flags.bufferMapWrite))
        throw new TypeError("a buffer that can be mapped is struck only where its memory is protected");
      flips.flip(buffer, byteOffset, mask);
    },
    faultSites: () =>
      [...kernels.choices].flatMap(({ kernel }) =>
        kernel
          ? [{ kernel: kernel.name, entryPoint: kernel.entryPoint, sites: kernel.protection.faultSites }]
          : [],
      ),
    arm: (fault) => {
      if (resolved.injectFaults !== true)
        throw new TypeError("faults can be armed only under a policy with injectFaults");
      if (fault.extent === "line" && fault.line === undefined)
        throw new TypeError("a fault in a line of memory needs the line, as samples of a profile have it");
      injector.arm(kernels, fault);
    },
    disarm: () => injector.disarm(kernels),
    strikes: async () => {
      await verifier.verify();
      return injector.observed(kernels).strikes;
    },
    observed: async () => {
      await verifier.verify();
      return injector.observed(kernels);
    },
    profile: async () => {
      if (resolved.injectFaults !== "profile")
        throw new TypeError('only a policy with injectFaults: "profile" has profiles');
      await verifier.verify();
      return new Profiler(arena).take(kernels);
    },
  };

  const hardened = front(device, {
    belay,
    queue,
    createBuffer: (descriptor: GPUBufferDescriptor): GPUBuffer => {
      const buffer = journal.createBuffer(descriptor);
      const mappable = descriptor.usage & (flags.bufferMapRead | flags.bufferMapWrite);
      if (mappable) holdBack(buffer, verifier, journal, { refuse: refuses, arrived });
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
      pipelines.trackModule(module, descriptor.code);
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
