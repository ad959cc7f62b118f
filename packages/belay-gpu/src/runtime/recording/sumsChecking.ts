/**
 * The check of dispatches by algebra, as the runtime sees it. The search for sums has the executor,
 * and is an entry of its own: pages without it do not load it.
 */
import type { KernelCoverage } from "../context/coverage.ts";
import type { Grid } from "../context/dispatchCall.ts";
import type { ReportSlot } from "../context/reportArena.ts";
import type { RuntimeContext } from "../context/runtimeContext.ts";
import type { SumsChecker, SumsReport } from "../context/sumsChecker.ts";
import type { CheckedVariant, ProtectedKernel } from "../pipelines/protectedKernels.ts";
import type { PassCommands } from "../webgpu/passCommands.ts";
import type { BufferRange } from "../webgpu/resources.ts";
import type { BoundPipeline } from "./boundPipeline.ts";

/**
 * An execution of dispatches whose findings are read: their first one, one whose results others
 * replace, or a later one.
 */
export type ExecutionTurn = "first" | "replaced" | "later";

/** The findings of checks of one kind of dispatches. They are read with the reports of kernels. */
export interface SumsFindings {
  readonly slot: ReportSlot;
  /** The kernel that computes the same results under redundancy. */
  readonly kernel: ProtectedKernel;
  /**
   * Takes the findings about an execution from the words of the slot. A first one has left the
   * decision about so many dispatches to the host. Returns true if their results are in doubt, so
   * that they must be executed again.
   */
  read(words: Uint32Array, execution: ExecutionTurn, dispatches: number): boolean;
  /** Takes it that no further execution replaces the results of those whose findings were read. */
  settle(): void;
}

/** A dispatch whose results are checked. */
export interface CheckedDispatch {
  readonly findings: SumsFindings;
  /** The variants of the kernel without redundancy, and with it. */
  readonly alone: CheckedVariant;
  readonly again: CheckedVariant;
  /**
   * Encodes the dispatch without redundancy by `alone`, the check of its results, and the dispatch
   * under redundancy by `again`. The device skips the latter if the results are right. A check that
   * can wait for the verification of the epoch leaves it to later executions. `again` then gets
   * their commands.
   */
  run(commands: PassCommands, alone: () => void, again: (commands: PassCommands) => void): void;
}

/** Returns the word of a uniform buffer at a byte of a range; undefined if it is not known. */
export type WordAt = (range: BufferRange, byte: number) => number | undefined;

/** The checks of one device. */
export interface SumsChecking {
  /**
   * Returns the check of a dispatch on a grid if its results are known to be sums. Else looks for
   * sums.
   */
  checkOf(pipeline: BoundPipeline, grid: Grid, wordAt: WordAt): CheckedDispatch | undefined;
  /** Returns the results for a kernel, and its diagnostics with the reasons for missing checks. */
  reportOn(
    coverage: KernelCoverage,
    source: string,
  ): Pick<KernelCoverage, "diagnostics"> & { readonly sums: SumsReport };
  /** Resolves when sums were looked for in all dispatches so far. */
  finished(): Promise<void>;
}

/** A checker that can begin. */
export interface SumsCheckStarter extends SumsChecker {
  /** Begins to check the dispatches of a device. */
  beginChecks(context: RuntimeContext): SumsChecking;
}
