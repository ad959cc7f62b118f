/** Checked execution for WebGPU compute: harden a device, or protect a kernel. */

import type { ProtectOptions, ProtectResult } from "./compiler/contract.ts";
import { protect as compile } from "./compiler/protect.ts";
import { refuseUnknownOptions } from "./compiler/settings.ts";

export {
  type Configuration,
  type RankedConfiguration,
  type Structure,
  structures,
} from "./compiler/configurations.ts";
export type {
  AppliedRedundancy,
  Channel,
  Check,
  CheckSite,
  Diversity,
  EntryPointSummary,
  FaultSite,
  KernelFaults,
  KernelLimits,
  MemoryCode,
  Pairing,
  ProtectOptions,
  ProtectResult,
  Redundancy,
  SelectiveCover,
  ValueFaults,
} from "./compiler/contract.ts";
export { BelayError } from "./diagnostics/belayError.ts";
export type { Diagnostic, Severity, Span } from "./diagnostics/diagnostic.ts";
export type { LongWork, Progress } from "./diagnostics/progress.ts";
export type { Belay, BelayEventListener, KernelFaultSites, KernelReport, Report } from "./runtime/belay.ts";
export type { Auditor, AuditReport } from "./runtime/context/auditing.ts";
export {
  type KernelCoverage,
  type LocatedDiagnostic,
  ProtectionError,
} from "./runtime/context/coverage.ts";
export {
  type DetectedFault,
  type Detection,
  describeFault,
  FaultError,
  type FaultOutcome,
  type StoredDifference,
  type WorkgroupClass,
} from "./runtime/context/detectedFault.ts";
export type { Disagreement } from "./runtime/context/disagreement.ts";
export { BelayEvent, type BelayEventDetails, type BelayEventType } from "./runtime/context/events.ts";
export {
  type Correction,
  describeMemoryError,
  type MemoryError,
  type MemoryFault,
  MemoryFaultError,
  type MemoryOutcome,
  type SuspectResults,
} from "./runtime/context/memoryFault.ts";
export type { KernelPolicy, OnFault, Policy } from "./runtime/context/policy.ts";
export type { GiveUp, Recovery, Refusal } from "./runtime/context/recovery.ts";
export type { Repair } from "./runtime/context/repair.ts";
export type { SourcePosition } from "./runtime/context/sourcePosition.ts";
export type { SumsChecker, SumsReport } from "./runtime/context/sumsChecker.ts";
export { type Unverified, UnverifiedError } from "./runtime/context/unverified.ts";
export { harden } from "./runtime/harden.ts";
export type { HardenedDevice } from "./runtime/hardenedDevice.ts";
export type { ArmedFault, Execution, Observed } from "./runtime/injection/injector.ts";
export type { MemoryCounts } from "./runtime/memory/granules.ts";
export type { MemoryReport, ProtectedBufferReport } from "./runtime/memory/memoryLog.ts";
export { type UnprotectedBuffer, UnprotectedBufferError } from "./runtime/memory/unprotectedBuffer.ts";
export { GridSizeError } from "./runtime/pipelines/doubledGrid.ts";
export type { ShadowReport } from "./runtime/pipelines/shadowBuffers.ts";
export { requestFullDevice } from "./runtime/requestFullDevice.ts";
export { type Tried, type TunedKernel, type TuneOptions, type Tuning, tune } from "./runtime/tuning/tune.ts";
export {
  type MemoryTuning,
  type TriedMemory,
  type TuneMemoryOptions,
  tuneMemory,
} from "./runtime/tuning/tuneMemory.ts";
export type { Workload } from "./runtime/tuning/workload.ts";
export type { SnapshotReport } from "./runtime/verification/snapshots.ts";
export type { VerifierReport } from "./runtime/verification/verifier.ts";

/**
 * Protects the compute entry points of a WGSL module.
 *
 * The result computes the same values as the input, and reports into a buffer if the two replicas
 * of an invocation disagree. `harden` binds this buffer and reads it. An entry point that cannot be
 * protected stays unchanged, with a warning that gives the reason. With `strict`, and for an
 * invalid source, the diagnostic is an error and `code` is the input.
 *
 * Throws a `TypeError` for a source that is no string, and for unknown options and values.
 */
export function protect(wgsl: string, options: ProtectOptions = {}): ProtectResult {
  refuseUnknownOptions(options);
  return compile(wgsl, options);
}
