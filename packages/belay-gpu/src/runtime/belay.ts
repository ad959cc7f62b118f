import type { CampaignSite, FaultSite } from "../compiler/contract.ts";
import type { Audit, AuditReport } from "./context/auditing.ts";
import type { KernelCoverage } from "./context/coverage.ts";
import type { DetectedFault } from "./context/detectedFault.ts";
import type { BelayEvent, BelayEventDetails, BelayEventType, Events } from "./context/events.ts";
import type { MemoryFault } from "./context/memoryFault.ts";
import type { RuntimeContext } from "./context/runtimeContext.ts";
import type { SumsReport } from "./context/sumsChecker.ts";
import { BitFlips, isWord } from "./injection/bitFlips.ts";
import type { ArmedFault, Injector, Observed } from "./injection/injector.ts";
import { type KernelProfile, Profiler } from "./injection/profiler.ts";
import type { MemoryReport } from "./memory/memoryLog.ts";
import type { MemoryProtection } from "./memory/memoryProtection.ts";
import type { ProtectedPipelines } from "./pipelines/pipelines.ts";
import type { ShadowReport } from "./pipelines/shadowBuffers.ts";
import type { SumsChecking } from "./recording/sumsChecking.ts";
import type { Journal } from "./verification/journal.ts";
import type { Scrubber } from "./verification/scrubber.ts";
import type { SnapshotReport } from "./verification/snapshots.ts";
import type { Verifier, VerifierReport } from "./verification/verifier.ts";
import { flags } from "./webgpu/nativeObjects.ts";

/** The coverage of a kernel, with the counts of its runs. */
export interface KernelReport extends KernelCoverage {
  /** The dispatches in submits that the device accepted. Re-executed ones count once. */
  readonly dispatches: number;
  /**
   * The number of invocations whose replicas disagreed, or of workgroups if whole workgroups are
   * compared, in all executions.
   */
  readonly detections: number;
  /**
   * The number of findings that are no fault: twins that waited too long for each other, grids that
   * could not be doubled, and subgroups that mixed replicas.
   */
  readonly unverified: number;
  /** The results of the checks by algebra. Absent without a checker in the policy. */
  readonly sums?: SumsReport;
}

/** The coverage and the findings of a hardened device. */
export interface Report extends VerifierReport {
  /** The kernels of all pipelines that were created. Equal pipelines share one. */
  readonly kernels: readonly KernelReport[];
  /** The costs of keeping work ready for re-execution. */
  readonly snapshots: SnapshotReport;
  /** The costs of changing buffers in place on doubled grids. */
  readonly shadows: ShadowReport;
  /** The costs of protected memory, and its errors. Absent if the policy's memory is `"none"`. */
  readonly memory?: MemoryReport;
  /**
   * The number of frames that a canvas has shown. Frames are shown before they are verified. They
   * are not counted under a policy that detects no faults.
   */
  readonly framesShown: number;
  /** The latest detected faults. The `detections` of each kernel count all. */
  readonly faults: readonly DetectedFault[];
  /** The latest damaged granules of memory. */
  readonly memoryFaults: readonly MemoryFault[];
  /** The results of the policy's audit. Absent without one. */
  readonly audit?: AuditReport;
}

/** The fault sites of one kernel. */
export interface KernelFaultSites<Site extends FaultSite = FaultSite> {
  /** The name of the kernel, for `arm`. */
  readonly kernel: string;
  /** The kernel's entry point. */
  readonly entryPoint: string;
  /** The fault sites, in the order of their ids. */
  readonly sites: readonly Site[];
}

/** A listener of an event of a hardened device. */
export type BelayEventListener<Type extends BelayEventType> =
  | ((event: BelayEvent<Type>) => void)
  | {
      /** Handles an event. */
      handleEvent(event: BelayEvent<Type>): void;
    };

/** The events and the other members that a hardened device has in addition to WebGPU. */
export interface Belay extends EventTarget {
  /**
   * Calls the listener at each event of a type, as `EventTarget` does, with the options `once` and
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
   * Waits until all work submitted so far is verified. Rejects if the latest check refused data.
   */
  verify(): Promise<void>;
  /**
   * Verifies, and returns the coverage and the findings. Waits for the audit of verified work, and
   * until sums were looked for in all dispatches. Does not reject for a fault.
   */
  report(): Promise<Report>;
  /**
   * Verifies all protected memory, and corrects errors. Rejects while some of it is damaged and
   * refused, and like `verify` if it refuses results of unverified work. Kernels cannot bind
   * buffers that the host maps. Such buffers are verified when they are mapped or copied from.
   */
  scrub(): Promise<void>;
  /**
   * Flips the bits of `mask` in the 32-bit word at `byteOffset` of a buffer at rest. A protected
   * buffer with `MAP_READ` is struck when it is mapped next, and one with `MAP_WRITE`, which must
   * be mapped, when it is unmapped. Throws a `TypeError` without the policy's `injectFaults`, for a
   * word that it cannot strike, and for a mask without a bit.
   */
  flip(buffer: GPUBuffer, byteOffset: number, mask: number): void;
  /**
   * Returns the fault sites of all kernels created so far. Empty without the policy's
   * `injectFaults`.
   */
  faultSites(): KernelFaultSites[];
  /**
   * Arms a fault, in place of the previous one. Throws a `TypeError` without the policy's
   * `injectFaults`. Also throws for a fault that could never strike: its kernel or site does not
   * exist, or it has no effect.
   */
  arm(fault: ArmedFault): void;
  /** Disarms the fault, if one is armed. */
  disarm(): void;
  /** Resolves to the number of strikes of the latest armed fault in the work submitted so far. */
  strikes(): Promise<number>;
  /** Resolves to the latest strike of the latest armed fault. */
  observed(): Promise<Observed>;
}

/** The members of a device of `hardenForCampaign`. */
export interface CampaignBelay extends Belay {
  faultSites(): KernelFaultSites<CampaignSite>[];
  /**
   * Returns the number of executions of each fault site since the previous profile. Run a workload
   * twice, and take a profile after each run: the second one has samples. The `seed` of the first,
   * a word, decides which executions are drawn, whatever their order. Default 0. Throws without the
   * policy's `injectFaults: "profile"`.
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
  readonly audit: Audit | undefined;
  readonly algebra: SumsChecking | undefined;
  /** Resolves when the dispatches of all submits so far are counted. */
  readonly counted: () => Promise<void>;
}

/** The number of faults that are kept for the report. */
const KEPT_FAULTS = 1000;

/** Returns a list that will hold the details of the latest events of a type. */
function latestOf<Type extends BelayEventType>(events: Events, type: Type): BelayEventDetails[Type][] {
  const latest: BelayEventDetails[Type][] = [];
  events.addEventListener(type, (event) => {
    latest.push((event as BelayEvent<Type>).detail);
    if (latest.length > KEPT_FAULTS) latest.shift();
  });
  return latest;
}

export function belayOf(parts: BelayParts): CampaignBelay {
  const { context, memory, pipelines, injector, journal, verifier, scrubber } = parts;
  const { device, policy, events, owners, reports } = context;
  const { kernels, shadows } = pipelines;
  const flips = new BitFlips(device);
  const faults = latestOf(events, "fault");
  const memoryFaults = latestOf(events, "memoryFault");
  const offered: Omit<CampaignBelay, keyof EventTarget> = {
    verify: async () => {
      const { refused, lost } = await verifier.verify();
      if (lost ?? refused) throw lost ?? refused;
    },
    report: async () => {
      await verifier.verify();
      await parts.counted();
      await parts.audit?.finished();
      await parts.algebra?.finished();
      const kernelReports = (await kernels.accepted()).map(({ coverage, runs, source }) => ({
        ...coverage,
        ...(coverage.redundancy !== "none" && parts.algebra?.reportOn(coverage, source)),
        dispatches: runs.dispatches,
        detections: kernels.total("detections", coverage.kernel),
        unverified: kernels.total("unverified", coverage.kernel),
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
        ...(parts.audit && { audit: parts.audit.report }),
      };
    },
    scrub: async () => {
      const { refused, lost } = await scrubber.scrub();
      if (lost ?? refused) throw lost ?? refused;
    },
    flip: (buffer, byteOffset, mask) => {
      if (policy.injectFaults !== true)
        throw new TypeError("bits can be flipped only under a policy with injectFaults");
      if (!owners.owns(buffer)) throw new TypeError("buffer must be a buffer that this device created");
      if (byteOffset % 4 !== 0 || byteOffset < 0 || !(byteOffset < buffer.size))
        throw new TypeError(
          `byteOffset must be a multiple of 4 below the buffer's size, ${buffer.size}, not ${byteOffset}`,
        );
      if (!mask || !isWord(mask))
        throw new TypeError(`mask must be a word with a set bit, 1 to 2 ** 32 - 1, not ${mask}`);
      if (memory.flipMapped(buffer, byteOffset, mask)) return;
      if (buffer.usage & (flags.bufferMapRead | flags.bufferMapWrite))
        throw new TypeError(
          "bits of a mappable buffer can be flipped only under a policy with a code for memory",
        );
      if (buffer.mapState !== "unmapped")
        throw new TypeError("bits of a buffer that is mapped at its creation can be flipped after unmap");
      flips.flip(buffer, byteOffset, mask);
    },
    faultSites: () =>
      [...kernels.choices].flatMap(({ kernel }) =>
        kernel
          ? [{ kernel: kernel.target, entryPoint: kernel.entryPoint, sites: kernel.protection.faultSites }]
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
  return Object.assign(events, offered) as CampaignBelay;
}
