import type { MeasuredOn } from "belay-cli/internal/shared/machine";
import type { MemoryCode } from "belay-gpu/internal/codes/scheme";
import type { Redundancy } from "belay-gpu/internal/compiler/contract";
import type { Flavor } from "../bench/configurations.ts";
import type { EccResult } from "../bench/ecc.ts";
import type { RmtResult } from "../bench/rmt.ts";
import type { Measurement } from "../bench/rmtProgram.ts";
import type { SpeculationResult } from "../bench/speculation.ts";

/** The result that `belay bench ecc --json` prints. */
export interface EccRun extends EccResult, MeasuredOn {
  readonly size: "small" | "full";
  readonly runs: number;
  readonly schemes: readonly MemoryCode[];
  readonly redundancy: Redundancy;
}

/** The result that `belay bench rmt --json` prints. */
export interface RmtRun extends RmtResult, MeasuredOn {
  readonly size: "small" | "full";
  readonly runs: number;
  readonly measure: readonly Measurement[];
  readonly flavors: readonly Flavor[];
  /** What measured this: several commands where a run went on with an earlier one. */
  readonly commands: readonly string[];
}

/** The result that `belay bench speculation --json` prints. */
export interface SpeculationRun extends SpeculationResult, MeasuredOn {
  readonly size: "small" | "documented" | "scaled" | "full";
  readonly runs: number;
  readonly threads: number;
  /** The compiler of the versions in C; null where there is none. */
  readonly compiler: string | null;
  /** What measured this: several commands where one went on with the result of another. */
  readonly commands: readonly string[];
}
