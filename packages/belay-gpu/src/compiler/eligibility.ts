/** Decides whether an entry point can be protected on a device, before anything is changed. */

import { containsAtomic } from "../analysis/places.ts";
import type { Diagnostic, Span } from "../diagnostics/diagnostic.ts";
import { leftAlone, moreBindings } from "../diagnostics/protection.ts";
import type { DiagnosticName } from "../diagnostics/registry.ts";
import type { GlobalVariable } from "../wgsl/ast.ts";
import type { Channel, KernelLimits, Pairing, Redundancy } from "./contract.ts";
import type { KernelFacts, ProgramFacts } from "./facts.ts";
import { mostInvocations, workgroupBytes } from "./workgroups.ts";

/** The configuration and the device to check for. */
export interface EligibilityOptions {
  readonly redundancy: Redundancy;
  readonly pairing: Pairing;
  readonly channel: Channel;
  readonly limits: KernelLimits;
}

/**
 * Returns the reasons why `kernel` must be left unprotected; empty if it can be protected. `sized`
 * is the same kernel with its known overrides turned into constants.
 */
export function obstacles(
  facts: ProgramFacts,
  kernel: KernelFacts,
  sized: KernelFacts,
  options: EligibilityOptions,
): Diagnostic[] {
  const found: Diagnostic[] = [];
  const { name, nameSpan } = kernel.declaration;
  const obstacle = (diagnostic: DiagnosticName, span: Span, reason: string, help?: string) =>
    found.push(leftAlone(diagnostic, span, name, reason, help));

  const [matrix] = kernel.matrixOperations;
  if (matrix)
    obstacle(
      "opaque-access",
      matrix.span,
      `"${matrix.operation}" works on subgroup matrices, which replicas cannot compare`,
    );
  const [view] = facts.bufferViews;
  if (view)
    obstacle(
      "opaque-access",
      view.span,
      `"${view.operation}" gives the memory of a buffer other types, so its accesses cannot be followed`,
    );

  const { limits } = options;
  if (options.redundancy.startsWith("intra")) {
    // Under passes, each invocation of such a kernel keeps its lane.
    for (const { span, what } of options.pairing === "passes" ? [] : kernel.subgroupUses) {
      obstacle(
        "subgroup-operations",
        span,
        `${what} would see the replicas as neighbors`,
        "use the pairing passes, or a flavor that replicates whole workgroups",
      );
    }
    // Plain workgroup variables need two copies; atomics may have one.
    const isCopied = (variable: GlobalVariable) =>
      options.redundancy === "intra+lds" && !containsAtomic(sized.program.declaredTypeOf(variable));
    const bytes = workgroupBytes(facts, sized, options, isCopied);
    if (bytes !== undefined && bytes > limits.maxComputeWorkgroupStorageSize) {
      const help =
        options.pairing === "passes"
          ? undefined
          : options.redundancy === "intra+lds"
            ? "use intra-lds or the pairing passes, which keep one copy of workgroup memory"
            : "use the pairing passes, whose replicas need no memory to talk";
      obstacle(
        "workgroup-memory-too-large",
        nameSpan,
        `it would need ${bytes} bytes of workgroup memory, and the device allows ${limits.maxComputeWorkgroupStorageSize}`,
        help,
      );
    }
  }
  const tooLarge = sizeObstacle(sized.invocations, options);
  if (tooLarge) obstacle("workgroup-too-large", nameSpan, tooLarge.reason, tooLarge.help);
  if (kernel.storageBuffers + 1 > limits.maxStorageBuffersPerShaderStage) {
    obstacle(
      "too-many-storage-buffers",
      nameSpan,
      `it uses all ${limits.maxStorageBuffersPerShaderStage} storage buffers that the device allows`,
      moreBindings,
    );
  }
  return found;
}

/** Returns the reason why a workgroup of this many invocations is too large, or undefined. */
function sizeObstacle(
  invocations: number | undefined,
  { redundancy, pairing, limits }: EligibilityOptions,
): { reason: string; help?: string } | undefined {
  const isDoubled = redundancy.startsWith("intra") && pairing !== "passes";
  const most = isDoubled ? mostInvocations(limits, pairing) : limits.maxComputeInvocationsPerWorkgroup;
  if (invocations === undefined || invocations <= most) return undefined;
  return isDoubled
    ? {
        reason: `its workgroup of ${invocations} invocations would need ${2 * invocations}, and the device allows ${2 * most}`,
        help: `use at most ${most} invocations, the pairing passes, or a device with higher limits`,
      }
    : {
        reason: `its workgroup of ${invocations} invocations is larger than the ${most} that the device allows`,
      };
}
