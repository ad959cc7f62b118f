/** Checked execution for WebGPU compute: harden a device, or protect a kernel. */
export {
  type Configuration,
  type RankedConfiguration,
  type Structure,
  structures,
} from "./compiler/configurations.ts";
export type {
  BindingAccess,
  BindingPoint,
  BindingScheme,
  Channel,
  Check,
  CheckSite,
  EntryPointSummary,
  FaultSite,
  InterGroup,
  KernelLimits,
  MemoryBindings,
  MemoryCode,
  MemorySchemes,
  MemorySummary,
  Pairing,
  ProtectedBinding,
  ProtectOptions,
  ProtectResult,
  Redundancy,
  ReportLayout,
  SchemeName,
  ShadowBinding,
  SumWeights,
} from "./compiler/contract.ts";
export {
  correctingSchemes,
  type MemoryChoiceOptions,
  type RankedKernel,
  type RankedScheme,
  rankSchemes,
} from "./compiler/memoryChoice.ts";
export type { Rates } from "./compiler/memoryCost.ts";
export { protect } from "./compiler/protect.ts";
export { BelayError, type BelayErrorOptions } from "./diagnostics/belayError.ts";
export type { Diagnostic, Severity, Span } from "./diagnostics/diagnostic.ts";
export type { LongWork, Progress } from "./diagnostics/progress.ts";
export type { Belay, BelayEventListener, KernelFaultSites, KernelReport, Report } from "./runtime/belay.ts";
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
export { BelayEvent, type BelayEventDetails, type BelayEventType } from "./runtime/context/events.ts";
export {
  type Correction,
  describeMemoryError,
  type MemoryError,
  type MemoryFault,
  MemoryFaultError,
  type MemoryOutcome,
} from "./runtime/context/memoryFault.ts";
export type { KernelPolicy, OnFault, Policy } from "./runtime/context/policy.ts";
export type { GiveUp, Recovery, Refusal } from "./runtime/context/recovery.ts";
export type { SourcePosition } from "./runtime/context/sourcePosition.ts";
export { type Unverified, UnverifiedError } from "./runtime/context/unverified.ts";
export { harden } from "./runtime/harden.ts";
export type { HardenedDevice } from "./runtime/hardenedDevice.ts";
export type { ArmedFault, Execution, Observed } from "./runtime/injection/injector.ts";
export type { KernelProfile, SiteProfile } from "./runtime/injection/profiler.ts";
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
