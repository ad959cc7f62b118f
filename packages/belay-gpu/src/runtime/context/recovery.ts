import type { Detection, FaultError } from "./detectedFault.ts";
import type { MemoryError, MemoryFaultError } from "./memoryFault.ts";
import type { UnverifiedError } from "./unverified.ts";

/** Why data is not released. */
export type Refusal = FaultError | MemoryFaultError | UnverifiedError;

/** Work was put back and run again until its check was clean. */
export interface Recovery {
  readonly faults: readonly Detection[];
  /** Damaged memory that it was because of. */
  readonly damage: readonly MemoryError[];
  /** How often it was run again. */
  readonly attempts: number;
  /** From the detection to the clean check. */
  readonly milliseconds: number;
}

/** Work could not be recovered; the data it may have reached is refused. */
export interface GiveUp {
  readonly error: Refusal;
  readonly attempts: number;
  readonly reason: string;
}
