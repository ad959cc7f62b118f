import type { FaultSite } from "../compiler/contract.ts";
import type { KernelCoverage } from "./context/coverage.ts";
import type { DetectedFault } from "./context/detectedFault.ts";
import type { BelayEvent, BelayEventDetails, BelayEventType, Events } from "./context/events.ts";
import type { MemoryFault } from "./context/memoryFault.ts";
import type { RuntimeContext } from "./context/runtimeContext.ts";
import { BitFlips } from "./injection/bitFlips.ts";
import type { ArmedFault, Injector, Observed } from "./injection/injector.ts";
import { type KernelProfile, Profiler } from "./injection/profiler.ts";
import type { MemoryReport } from "./memory/memoryLog.ts";
import type { MemoryProtection } from "./memory/memoryProtection.ts";
import type { ProtectedPipelines } from "./pipelines/pipelines.ts";
import type { ShadowReport } from "./pipelines/shadowBuffers.ts";
import type { Journal } from "./verification/journal.ts";
import type { Scrubber } from "./verification/scrubber.ts";
import type { SnapshotReport } from "./verification/snapshots.ts";
import type { Verifier, VerifierReport } from "./verification/verifier.ts";
import { flags } from "./webgpu/nativeObjects.ts";

/** What a kernel went through so far. */
export interface KernelReport extends KernelCoverage {
  /** Dispatches in submits that the device has accepted; those that are run again count once. */
  readonly dispatches: number;
  /**
   * Invocations whose replicas disagreed, or workgroups where whole workgroups are compared, in all
   * runs.
   */
  readonly detections: number;
  /**
   * Findings that are no fault: twins that waited too long for each other, and grids that could not
   * be doubled.
   */
  readonly unverified: number;
}

/** What a hardened device covers and has seen. */
export interface Report extends VerifierReport {
  /** Of every pipeline that was made; pipelines made alike share one. */
  readonly kernels: readonly KernelReport[];
  /** What it takes to be able to run work again. */
  readonly snapshots: SnapshotReport;
  /** What it takes to change buffers in place on doubled grids. */
  readonly shadows: ShadowReport;
  /**
   * What protected memory takes and what was found in it; absent under the policy's memory
   * `"none"`.
   */
  readonly memory?: MemoryReport;
  /** Frames that a canvas has shown, all of them before they were verified. */
  readonly framesShown: number;
  /** Detected faults, the latest ones; each kernel's `detections` counts all. */
  readonly faults: readonly DetectedFault[];
  /** Damaged granules of memory, the latest ones. */
  readonly memoryFaults: readonly MemoryFault[];
}

/** The fault sites of one kernel. */
export interface KernelFaultSites {
  readonly kernel: string;
  readonly entryPoint: string;
  readonly sites: readonly FaultSite[];
}

/** A listener of an event of a hardened device. */
export type BelayEventListener<Type extends BelayEventType> =
  | ((event: BelayEvent<Type>) => void)
  | { handleEvent(event: BelayEvent<Type>): void };

/** The events of a hardened device, and all that it offers besides WebGPU. */
export interface Belay extends EventTarget {
  /**
   * Calls the listener at every event of a type, as `EventTarget` does, with the options `once` and
   * `signal`. Throws a `TypeError` for an unknown type.
   */
  addEventListener<Type extends BelayEventType>(
    type: Type,
    listener: BelayEventListener<Type> | null,
    options?: AddEventListenerOptions | boolean,
  ): void;
  /** Stops calling a listener. */
  removeEventListener<Type extends BelayEventType>(
    type: Type,
    listener: BelayEventListener<Type> | null,
    options?: EventListenerOptions | boolean,
  ): void;
  /**
   * Waits until all work submitted so far is verified; rejects when the latest check had to refuse
   * data.
   */
  verify(): Promise<void>;
  /** Verifies, then tells what is covered and what was seen. Does not reject for a fault. */
  report(): Promise<Report>;
  /**
   * Verifies all protected memory, and corrects what it can. Rejects as long as any of it is
   * damaged and refused. Buffers that the host maps are verified when they are mapped or copied
   * from instead, because no kernel can bind them.
   */
  scrub(): Promise<void>;
  /**
   * Flips bits of a buffer at rest: those of `mask`, in the 32-bit word that begins at
   * `byteOffset`. A protected buffer that can be mapped is struck when it is mapped next. Throws
   * unless the policy has `injectFaults`, and for a word that is not in the buffer.
   */
  flip(buffer: GPUBuffer, byteOffset: number, mask: number): void;
  /**
   * Where faults can be armed in the kernels made so far; empty unless the policy has
   * `injectFaults`.
   */
  faultSites(): KernelFaultSites[];
  /**
   * Arms a fault, in place of the one armed before. Throws a `TypeError` unless the policy has
   * `injectFaults`, and for a fault that could never strike: in a kernel or at a site that there is
   * not, or without an effect.
   */
  arm(fault: ArmedFault): void;
  /** Takes back the fault that is armed, if there is one. */
  disarm(): void;
  /** How often the fault armed last has struck in the work submitted so far. */
  strikes(): Promise<number>;
  /** What it has done. */
  observed(): Promise<Observed>;
  /**
   * Tells how often fault sites were executed since the profile before. Run a workload twice, with
   * a profile after each run: the second one has samples. The `seed` of the first, a word, decides
   * which executions those are, in whatever order they happen. Default: 0. Throws unless the policy
   * has `injectFaults: "profile"`.
   */
  profile(options?: { readonly seed?: number }): Promise<KernelProfile[]>;
}

/** The subsystems of a hardened device. */
export interface BelayParts {
  readonly context: RuntimeContext;
  readonly memory: MemoryProtection;
  readonly pipelines: ProtectedPipelines;
  readonly injector: Injector;
  readonly journal: Journal;
  readonly verifier: Verifier;
  readonly scrubber: Scrubber;
  readonly framesShown: () => number;
}

/** Faults kept for the report; older ones make room. */
const KEPT_FAULTS = 1000;

/** Returns the details of the latest events of a type, from now on. */
function latestOf<Type extends BelayEventType>(events: Events, type: Type): BelayEventDetails[Type][] {
  const latest: BelayEventDetails[Type][] = [];
  events.addEventListener(type, (event) => {
    latest.push((event as BelayEvent<Type>).detail);
    if (latest.length > KEPT_FAULTS) latest.shift();
  });
  return latest;
}

export function belayOf(parts: BelayParts): Belay {
  const { context, memory, pipelines, injector, journal, verifier, scrubber } = parts;
  const { device, policy, events, reports } = context;
  const { kernels, shadows } = pipelines;
  const flips = new BitFlips(device);
  const faults = latestOf(events, "fault");
  const memoryFaults = latestOf(events, "memoryFault");
  const offered: Omit<Belay, keyof EventTarget> = {
    verify: async () => {
      const { refused, lost } = await verifier.verify();
      if (lost ?? refused) throw lost ?? refused;
    },
    report: async () => {
      await verifier.verify();
      const kernelReports = (await kernels.accepted()).map(({ coverage, kernel, runs }) => ({
        ...coverage,
        dispatches: runs.dispatches,
        detections: kernel?.detections ?? 0,
        unverified: kernel?.unverified ?? 0,
      }));
      return {
        kernels: kernelReports,
        ...verifier.report,
        snapshots: journal.snapshots,
        shadows: shadows.report,
        ...(memory.report && { memory: memory.report }),
        framesShown: parts.framesShown(),
        faults: [...faults],
        memoryFaults: [...memoryFaults],
      };
    },
    scrub: async () => {
      const { refused, lost } = await scrubber.scrub();
      if (lost ?? refused) throw lost ?? refused;
    },
    flip: (buffer, byteOffset, mask) => {
      if (policy.injectFaults !== true)
        throw new TypeError("bits can be flipped only under a policy with injectFaults");
      if (byteOffset % 4 !== 0 || byteOffset < 0 || !(byteOffset < buffer.size))
        throw new TypeError("bits are flipped in a 32-bit word of the buffer");
      if (memory.flipMapped(buffer, byteOffset, mask)) return;
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
      if (policy.injectFaults !== true)
        throw new TypeError("faults can be armed only under a policy with injectFaults");
      injector.arm(fault);
    },
    disarm: () => injector.disarm(),
    strikes: async () => {
      await verifier.verify();
      return injector.observed().strikes;
    },
    observed: async () => {
      await verifier.verify();
      return injector.observed();
    },
    profile: async ({ seed = 0 } = {}) => {
      if (policy.injectFaults !== "profile")
        throw new TypeError('only a policy with injectFaults: "profile" has profiles');
      await verifier.verify();
      return new Profiler(reports).take(kernels, seed);
    },
  };
  return Object.assign(events, offered) as Belay;
}
