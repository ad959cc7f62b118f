import type { FaultSite, Protect } from "../compiler/contract.ts";
import { Commands } from "./commands.ts";
import type { KernelCoverage } from "./coverage.ts";
import type { Fault } from "./fault.ts";
import { type ArmedFault, Injector } from "./injector.ts";
import { Journal } from "./journal.ts";
import { Kernels } from "./kernels.ts";
import { flags, front } from "./nativeObjects.ts";
import { Pipelines } from "./pipelines.ts";
import { type Policy, resolvePolicy } from "./policy.ts";
import { holdBack } from "./readBack.ts";
import { ReportArena } from "./reportArena.ts";
import { Resources } from "./resources.ts";
import { Verifier } from "./verifier.ts";

export type FaultListener = (fault: Fault) => void;

/** What a kernel went through so far. */
export interface KernelReport extends KernelCoverage {
  /** Dispatches submitted. */
  readonly dispatches: number;
  /** Records of disagreement, as many as the replicas wrote. */
  readonly detections: number;
}

/** What a hardened device covers and has seen. */
export interface Report {
  readonly kernels: readonly KernelReport[];
  /** Read-backs of the kernels' reports. */
  readonly checks: number;
  /** How often work was put back and run again. */
  readonly replays: number;
  /** Detected faults, the latest ones; each kernel's `detections` counts all. */
  readonly faults: readonly Fault[];
}

/** The fault sites of one kernel. */
export interface KernelFaultSites {
  readonly kernel: string;
  readonly entryPoint: string;
  readonly sites: readonly FaultSite[];
}

/** What a hardened device offers besides WebGPU. */
export interface Belay {
  /** Calls the listener for every fault detected, once. What it throws is written to the console. */
  on(event: "fault", listener: FaultListener): void;
  off(event: "fault", listener: FaultListener): void;
  /** Waits until all work submitted so far is verified; rejects when the latest check had to refuse data. */
  verify(): Promise<void>;
  /** Verifies, then tells what is covered and what was seen. Does not reject for a fault. */
  report(): Promise<Report>;
  faultSites(): KernelFaultSites[];
  /** Arms a fault, in place of the one armed before. Throws unless the policy has `injectFaults`. */
  arm(fault: ArmedFault): void;
  disarm(): void;
  /** How often the armed fault has struck in the work submitted so far. */
  strikes(): Promise<number>;
}

export type HardenedDevice = GPUDevice & { readonly belay: Belay };

/** Events after which an epoch is checked even if the program waits for nothing. */
const MAX_OPEN_EVENTS = 256;

/** Faults kept for the report; older ones make room. */
const KEPT_FAULTS = 1000;

/** Hardens a device with a given compiler. */
export function hardenWith(protect: Protect, device: GPUDevice, policy?: Policy): HardenedDevice {
  const resolved = resolvePolicy(policy);
  const listeners = new Set<FaultListener>();
  const faults: Fault[] = [];
  const arena = new ReportArena(device);
  const injector = new Injector(arena);
  const kernels = new Kernels(device, resolved, protect, arena, (kernel) => injector.kernelMade(kernel));
  const recovers = resolved.onFault === "recover";
  const journal: Journal = new Journal(device, recovers, () => void verifier.verify());
  const verifier = new Verifier(arena, journal, resolved, {
    onFault: (fault) => {
      faults.push(fault);
      if (faults.length > KEPT_FAULTS) faults.shift();
      for (const listener of [...listeners]) callListener(listener, fault);
    },
    // An injected fault is transient: it does not strike again.
    onReplay: () => injector.disarm(kernels),
  });
  const resources = new Resources();
  const pipelines = new Pipelines(device, kernels, resolved.strict);
  const commands = new Commands(pipelines, resources);
  const refuses = resolved.onFault !== "report";

  const belay: Belay = {
    on: (_event, listener) => void listeners.add(listener),
    off: (_event, listener) => void listeners.delete(listener),
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
      }));
      return { kernels: reports, checks: verifier.checks, replays: verifier.replays, faults: [...faults] };
    },
    faultSites: () =>
      [...kernels.choices].flatMap(({ kernel }) =>
        kernel
          ? [{ kernel: kernel.name, entryPoint: kernel.entryPoint, sites: kernel.protection.faultSites }]
          : [],
      ),
    arm: (fault) => {
      if (!resolved.injectFaults)
        throw new TypeError("faults can be armed only under a policy with injectFaults");
      injector.arm(kernels, fault);
    },
    disarm: () => injector.disarm(kernels),
    strikes: async () => {
      await verifier.verify();
      return [...kernels.choices].reduce((sum, { kernel }) => sum + (kernel?.strikes ?? 0), 0);
    },
  };

  const queue = front(device.queue, {
    submit: (commandBuffers: Iterable<GPUCommandBuffer>): undefined => {
      const submitted = [...commandBuffers];
      journal.submitting(submitted.map((each) => commands.takeRecord(each)));
      device.queue.submit(submitted);
      // Keeps the journal of a program that never reads anything back short.
      if (journal.openEvents >= MAX_OPEN_EVENTS) void verifier.verify();
    },
    writeBuffer: (...args: Parameters<GPUQueue["writeBuffer"]>): undefined => {
      const [buffer, offset, data, start, size] = args;
      const bytes = bytesOf(data, start, size);
      if (bytes) journal.writing(buffer, offset, bytes);
      device.queue.writeBuffer(...args);
    },
    onSubmittedWorkDone: async (): Promise<undefined> => {
      const checking = verifier.verify();
      await device.queue.onSubmittedWorkDone();
      await checking;
    },
  });

  return front(device, {
    belay,
    queue,
    createBuffer: (descriptor: GPUBufferDescriptor): GPUBuffer => {
      const buffer = journal.createBuffer(descriptor);
      const mappable = descriptor.usage & (flags.bufferMapRead | flags.bufferMapWrite);
      if (mappable) holdBack(buffer, verifier, journal, refuses);
      return buffer;
    },
    createTexture: (descriptor: GPUTextureDescriptor): GPUTexture => {
      const texture = device.createTexture(descriptor);
      resources.trackTexture(texture);
      return texture;
    },
    createBindGroupLayout: (descriptor: GPUBindGroupLayoutDescriptor): GPUBindGroupLayout => {
      const entries = [...descriptor.entries];
      const layout = device.createBindGroupLayout({ ...descriptor, entries });
      resources.trackLayout(layout, entries);
      pipelines.trackGroupLayout(layout, entries);
      return layout;
    },
    createBindGroup: (descriptor: GPUBindGroupDescriptor): GPUBindGroup => {
      const entries = [...descriptor.entries];
      const group = device.createBindGroup({ ...descriptor, entries });
      resources.trackBindGroup(group, descriptor.layout, entries);
      return group;
    },
    createPipelineLayout: (descriptor: GPUPipelineLayoutDescriptor): GPUPipelineLayout => {
      const bindGroupLayouts = [...descriptor.bindGroupLayouts];
      const layout = device.createPipelineLayout({ ...descriptor, bindGroupLayouts });
      pipelines.trackPipelineLayout(layout, { ...descriptor, bindGroupLayouts });
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
  }) as HardenedDevice;
}

/**
 * The part of `data` that `writeBuffer` writes; start and size count elements of a typed array, else bytes.
 * Undefined when WebGPU is going to throw for it.
 */
function bytesOf(data: GPUAllowSharedBufferSource, start = 0, size?: number): Uint8Array | undefined {
  const unit = ArrayBuffer.isView(data) && "BYTES_PER_ELEMENT" in data ? Number(data.BYTES_PER_ELEMENT) : 1;
  const [buffer, offset] = ArrayBuffer.isView(data) ? [data.buffer, data.byteOffset] : [data, 0];
  const length = size === undefined ? data.byteLength - start * unit : size * unit;
  const fits = start >= 0 && length >= 0 && start * unit + length <= data.byteLength && length % 4 === 0;
  return fits ? new Uint8Array(buffer, offset + start * unit, length) : undefined;
}

function callListener(listener: FaultListener, fault: Fault): void {
  try {
    listener(fault);
  } catch (error) {
    console.error("belay: a fault listener threw", error);
  }
}
