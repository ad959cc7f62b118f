/** The results of a kernel's runs, from the GPU of this machine or from a recording. */
import type { FaultSite, Policy } from "belay-gpu";
import type { Runnable } from "./runnable.ts";

/** The protection of a kernel, as the controls choose it. */
export type KernelProtection = Required<Pick<Policy, "redundancy" | "check" | "memory" | "onFault">>;

/** The fault that a strike injects. */
export interface StrikeFault {
  readonly site: number;
  /** The pixel whose invocation is struck. */
  readonly pixel: number;
  readonly bit: number;
  readonly replica: 0 | 1;
  /** True if the fault comes back when the work runs again. */
  readonly permanent: boolean;
}

/** An event of a device, in words. */
export interface Heard {
  readonly type: string;
  readonly message: string;
  /** The line of the source that it names, counted from 1. */
  readonly line?: number;
}

/** A run without a fault. */
export interface CleanRun {
  readonly words: Uint32Array<ArrayBuffer>;
  /** The values that a fault may strike. */
  readonly sites: readonly FaultSite[];
}

/** A run with a fault. */
export interface StruckRun {
  /** The words that the program read; null if they were refused. */
  readonly words: Uint32Array<ArrayBuffer> | null;
  /** The struck word; null if the invocation did not execute the value. */
  readonly struck: { readonly before: number; readonly after: number } | null;
  readonly heard: readonly Heard[];
}

/** The medians of the time from the call to the verified result, in milliseconds. */
export interface KernelCost {
  readonly plain: number;
  readonly protected: number;
  readonly rounds: number;
  /** The dispatches between two results. */
  readonly dispatches: number;
}

/** A source of results. */
export interface KernelResults {
  run(runnable: Runnable, protection: KernelProtection): Promise<CleanRun>;
  strike(runnable: Runnable, protection: KernelProtection, fault: StrikeFault): Promise<StruckRun>;
  /** Resolves to null if costs are not known. */
  measure(runnable: Runnable, protection: KernelProtection): Promise<KernelCost | null>;
  /** Releases the devices. */
  close(): void;
}
