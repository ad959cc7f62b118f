/** What the lines of a store say. */
import type { CampaignConfiguration } from "./configurations.ts";
import type { Fault, FaultModel, StruckStructure } from "./faultModel.ts";
import type { Outcome } from "./outcome.ts";
import type { StruckKernel } from "./profile.ts";

/** What a campaign is; two that differ in it cannot be resumed or merged. */
export interface Settings {
  /** Names of the programs, in order, with a digest of what they are. */
  readonly programs: readonly { readonly name: string; readonly digest: string }[];
  /** The unprotected one first. */
  readonly configurations: readonly CampaignConfiguration[];
  readonly structures: readonly StruckStructure[];
  readonly models: readonly FaultModel[];
  /** How far the interval of a rate may reach to each side. */
  readonly margin: number;
  /**
   * The upper bound on silent corruption that has to be shown for structures inside the sphere of
   * replication.
   */
  readonly bound: number;
  /** Effective injections of each structure and configuration, at least. */
  readonly minimum: number;
  readonly confidence: number;
  readonly seed: number;
}

/** This store has every injection whose number leaves `index` when divided by `count`. */
export interface Shard {
  readonly index: number;
  readonly count: number;
}

/** The first line of a store. */
export interface Header {
  readonly kind: "header";
  /** Of this format. */
  readonly version: 1;
  readonly settings: Settings;
  readonly shard: Shard;
}

/** One program in one configuration. */
export interface Unit {
  readonly program: string;
  readonly configuration: string;
}

/** The adapter that the campaign was begun on, and goes on with. */
export interface AdapterRecord {
  readonly kind: "adapter";
  /** Vendor, device and driver. */
  readonly description: string;
}

/** What is known of a unit before the first fault. */
export interface UnitRecord extends Unit {
  readonly kind: "unit";
  readonly kernels: readonly StruckKernel[];
  /** Kernels with parts outside the sphere of replication, and which. */
  readonly gaps: readonly { readonly kernel: string; readonly line: number; readonly message: string }[];
  /** Bytes of each buffer that a fault at rest can strike. */
  readonly buffers: readonly number[];
  /**
   * Whether a clean run gives the bits of the plain program. Compilers may fuse multiplications and
   * additions otherwise in an instrumented kernel; struck runs are compared with clean ones of the
   * same kernel.
   */
  readonly sameBits: boolean;
  /**
   * Host time of one run without a fault, results read: of the plain program, and in this
   * configuration.
   */
  readonly milliseconds: { readonly plain: number; readonly protected: number };
}

/** Runs without a fault, which must raise no alarm and change no bit. */
export interface ControlRecord extends Unit {
  readonly kind: "control";
  readonly runs: number;
  readonly detections: number;
  readonly different: number;
}

/** Why a unit was left out. */
export interface SkipRecord extends Unit {
  readonly kind: "skipped";
  readonly code: string;
  readonly message: string;
  /**
   * The process with the device was lost, which need not be the program's doing: a campaign that
   * goes on tries again.
   */
  readonly lost?: true;
}

/** One fault, and what became of it. */
export interface InjectionRecord extends Unit {
  readonly kind: "injection";
  /** Short, and unlike any other's. */
  readonly id: string;
  readonly kernel: string;
  readonly structure: StruckStructure;
  readonly model: FaultModel;
  /** Counted from 0 in each stratum: kernel and structure of a unit. */
  readonly number: number;
  readonly fault: Fault;
  readonly outcome: Outcome;
  /** What is to be said of a crash. */
  readonly detail?: string;
}

/** A line of a store. */
export type StoreRecord = Header | AdapterRecord | UnitRecord | ControlRecord | SkipRecord | InjectionRecord;
