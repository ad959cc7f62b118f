/** The records in the lines of a store. */
import type { CampaignConfiguration } from "./configurations.ts";
import type { Fault, FaultModel, StruckStructure } from "./faultModel.ts";
import type { Outcome } from "./outcome.ts";
import type { StruckKernel } from "./profile.ts";

/**
 * The settings that identify a campaign. Campaigns with different settings cannot be resumed or
 * merged as one.
 */
export interface CampaignSettings {
  /** The names of the programs, in order, each with a digest of its code and data. */
  readonly programs: readonly { readonly name: string; readonly digest: string }[];
  /** The configurations, beginning with the unprotected one. */
  readonly configurations: readonly CampaignConfiguration[];
  readonly structures: readonly StruckStructure[];
  readonly models: readonly FaultModel[];
  /** The greatest allowed half-width of a rate's interval. */
  readonly margin: number;
  /**
   * The upper bound on silent corruption that the campaign must show inside the sphere of
   * replication.
   */
  readonly bound: number;
  /** The least number of effective injections for each structure and configuration. */
  readonly minimum: number;
  readonly confidence: number;
  readonly seed: number;
}

/** The part of a campaign with the injections whose number modulo `count` is `index`. */
export interface Shard {
  readonly index: number;
  readonly count: number;
}

/** The first line of a store. */
export interface Header {
  readonly kind: "header";
  /** The version of this format. */
  readonly version: 1;
  readonly settings: CampaignSettings;
  readonly shard: Shard;
}

/** One program in one configuration. */
export interface Unit {
  readonly program: string;
  readonly configuration: string;
}

/** The only adapter of a campaign. */
export interface AdapterRecord {
  readonly kind: "adapter";
  /** The vendor, device and driver. */
  readonly description: string;
}

/** The profile of a unit without a fault. */
export interface UnitRecord extends Unit {
  readonly kind: "unit";
  readonly kernels: readonly StruckKernel[];
  /** The parts of kernels that lie outside the sphere of replication. */
  readonly gaps: readonly { readonly kernel: string; readonly line: number; readonly message: string }[];
  /** The size in bytes of each buffer that a fault at rest can strike. */
  readonly buffers: readonly number[];
  /**
   * True if a clean run gives the same bits as the plain program. Compilers may fuse
   * multiplications and additions differently in an instrumented kernel. Struck runs are therefore
   * compared with clean runs of the same kernel.
   */
  readonly sameBits: boolean;
  /**
   * The host time of one run without a fault until its results are read: for the plain program, and
   * in this configuration.
   */
  readonly milliseconds: { readonly plain: number; readonly protected: number };
}

/** The runs without a fault, which must raise no alarm and change no bit. */
export interface ControlRecord extends Unit {
  readonly kind: "control";
  readonly runs: number;
  readonly detections: number;
  readonly different: number;
}

/** The reason for leaving out a unit. */
export interface SkipRecord extends Unit {
  readonly kind: "skipped";
  readonly code: string;
  readonly message: string;
  /**
   * The process with the device was lost, perhaps through no fault of the program. A resumed
   * campaign tries the unit again.
   */
  readonly lost?: true;
}

/** One fault and its outcome. */
export interface InjectionRecord extends Unit {
  readonly kind: "injection";
  /** The short name of the injection, which no other injection has. */
  readonly id: string;
  readonly kernel: string;
  readonly structure: StruckStructure;
  readonly model: FaultModel;
  /** The number of the injection in its stratum (kernel and structure of a unit), from 0. */
  readonly number: number;
  readonly fault: Fault;
  readonly outcome: Outcome;
  /** The message of a crash, a hang or an error. */
  readonly detail?: string;
}

/** The work of one machine's process on a part of a campaign that several machines share. */
export interface WorkRecord {
  readonly kind: "work";
  /** The name of the worker: its host and process. */
  readonly worker: string;
  /** The injections that nobody had delivered before. */
  readonly injections: number;
  readonly milliseconds: number;
}

/** A worker that the campaign has refused, and the reason. */
export interface RefusalRecord {
  readonly kind: "refused";
  readonly worker: string;
  readonly reason: string;
}

/** A line of a store. */
export type StoreRecord =
  | Header
  | AdapterRecord
  | UnitRecord
  | ControlRecord
  | SkipRecord
  | InjectionRecord
  | WorkRecord
  | RefusalRecord;
