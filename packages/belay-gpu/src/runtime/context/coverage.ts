import type { AppliedRedundancy, RankedConfiguration } from "../../compiler/contract.ts";
import { BelayError } from "../../diagnostics/belayError.ts";
import type { Diagnostic } from "../../diagnostics/diagnostic.ts";
import { nowhere, warning } from "../../diagnostics/finding.ts";
import { moreBindings } from "../../diagnostics/protection.ts";
import { codeOf, type DiagnosticName, labelOf } from "../../diagnostics/registry.ts";
import { type SourcePosition, sourcePosition } from "./sourcePosition.ts";

/** A diagnostic with its line and column. */
export type LocatedDiagnostic = Diagnostic & SourcePosition;

/** The protection of a kernel, and its gaps. */
export interface KernelCoverage {
  /** The name of the kernel: the label of its pipeline, or else its entry point. */
  readonly kernel: string;
  /** The kernel's entry point. */
  readonly entryPoint: string;
  /**
   * The redundancy of the kernel. `"none"` means that it runs unprotected, for the reasons in
   * `diagnostics`.
   */
  readonly redundancy: AppliedRedundancy;
  /** The configuration that `"auto"` chose for the kernel, with its predicted cost. */
  readonly chosen?: RankedConfiguration;
  /**
   * The unprotected parts of the kernel, or the reasons why all of it is unprotected. Positions are
   * in the program's own source.
   */
  readonly diagnostics: readonly LocatedDiagnostic[];
}

/** The error in strict mode for a pipeline whose kernel would not be fully covered. */
export class ProtectionError extends BelayError {
  override readonly name = "ProtectionError";
  /** The same value as in a `GPUPipelineError`. */
  readonly reason = "validation";
  /** The protection that the kernel would have, and its gaps. */
  readonly coverage: KernelCoverage;

  constructor(coverage: KernelCoverage) {
    const lines = coverage.diagnostics.map(describeGap);
    const message = [`kernel "${coverage.kernel}" is not fully protected`, ...lines].join("\n");
    super("not-fully-protected", message, {
      help: "change the kernel as its diagnostics say, or set strict: false for it in the policy's kernels",
    });
    this.coverage = coverage;
  }
}

/**
 * Returns the diagnostics of kernels or memory with less protection than the policy asks for. Two
 * gaps are expected: parts that no flavor duplicates, such as atomic operations, and kernels that
 * the policy excepts. Replicas that run elsewhere are no gap.
 */
export function shortfalls(diagnostics: readonly LocatedDiagnostic[]): LocatedDiagnostic[] {
  const expected = (["outside-sphere", "not-requested", "subgroups-mixed"] as const).map(codeOf);
  return diagnostics.filter(({ code }) => !expected.includes(code));
}

/** Returns lines for a console about a kernel with less protection than the policy asks for. */
export function describeShortfall({ kernel, diagnostics }: KernelCoverage): string {
  return [`kernel "${kernel}" is not protected as the policy asks`, ...diagnostics.map(describeGap)].join(
    "\n",
  );
}

/** Returns a line about a diagnostic, for a message. */
export function describeGap({ code, message, line, column, help }: LocatedDiagnostic): string {
  return `  ${line}:${column} ${labelOf(code)}: ${message}${help ? ` (${help})` : ""}`;
}

export function locate(source: string, diagnostics: readonly Diagnostic[]): LocatedDiagnostic[] {
  return diagnostics.map((diagnostic) => ({
    ...diagnostic,
    ...sourcePosition(source, diagnostic.span.start),
  }));
}

const gap = (name: DiagnosticName, message: string, help?: string) =>
  warning(name, message, nowhere, { help });

/** The reasons why a kernel is unprotected, besides those of the compiler. */
export const leftAlone = {
  unknownModule: () =>
    gap(
      "unknown-shader-module",
      "the kernel's shader module was not made by the hardened device",
      "call createShaderModule of the hardened device",
    ),
  unknownLayout: () =>
    gap(
      "unknown-pipeline-layout",
      "the kernel's pipeline layout was not made by the hardened device",
      "call createPipelineLayout of the hardened device",
    ),
  unknownEntryPoint: () =>
    gap("unknown-entry-point", "the pipeline names no entry point of its shader module"),
  layoutIsFull: (needed: number, free: number) =>
    gap(
      "pipeline-layout-full",
      `the protected kernel needs ${needed} more storage buffers, and the pipeline layout has room for ${free}`,
      moreBindings,
    ),
  noRoomForChecks: () =>
    gap(
      "no-room-for-checks",
      "the pipeline layout has no room for check words, so memory is verified before and encoded after the kernel",
      moreBindings,
    ),
  boundWithoutChecks: () =>
    gap(
      "bound-without-checks",
      "a buffer without check words is bound, so memory is verified before and encoded after the kernel",
      "the report's memory.unprotected says why it has none",
    ),
  notCheckedInKernel: (memoryCheck: "passes" | "scrubs") =>
    gap(
      "not-requested",
      `the policy's memoryCheck is "${memoryCheck}", so memory is not checked in the kernel`,
    ),
  rejectedByDriver: (message: string) =>
    gap("rejected-by-driver", `the driver rejected the protected kernel: ${message.split("\n", 1)[0]}`),
  compilerFailed: (message: string) =>
    gap(
      "compiler-failed",
      `the compiler failed on this kernel: ${message.split("\n", 1)[0]}`,
      "this is a defect of Belay: report it with the kernel's source",
    ),
  subgroupsMixed: () =>
    gap(
      "subgroups-mixed",
      "the device made subgroups that mixed the replicas of a workgroup, so they now run elsewhere",
    ),
  nothingToCompare: () =>
    gap("nothing-to-compare", "the kernel writes nothing that its replicas could compare"),
  notRequested: () => gap("not-requested", 'the policy\'s redundancy is "none"'),
};
