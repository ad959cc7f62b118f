import type { Detection, FaultError } from "./detectedFault.ts";
import type { MemoryError, MemoryFaultError } from "./memoryFault.ts";
import type { UnverifiedError } from "./unverified.ts";

/** The reason why data is not released. */
export type Refusal = FaultError | MemoryFaultError | UnverifiedError;

/** The recovery of work: it was executed again until its check was clean. */
export interface Recovery {
  /** The detected faults that caused the recovery. */
  readonly faults: readonly Detection[];
  /** The damaged memory that caused the recovery. */
  readonly damage: readonly MemoryError[];
  /** The number of re-executions. */
  readonly attempts: number;
  /** The time from the detection to the clean check. */
  readonly milliseconds: number;
}

/** The end of a failed recovery. The data that the work may have reached is refused. */
export interface GiveUp {
  /** The error with which the program is refused the data. */
  readonly error: Refusal;
  /** The number of re-executions. */
  readonly attempts: number;
  /** The reason why recovery failed. */
  readonly reason: string;
}
