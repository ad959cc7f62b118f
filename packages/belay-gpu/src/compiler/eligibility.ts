/** Decides whether an entry point can be protected on a device, before anything is changed. */

import { stagedBytes } from "../analysis/matrixAccesses.ts";
import { containsAtomic } from "../analysis/places.ts";
import type { Diagnostic, Span } from "../diagnostics/diagnostic.ts";
import { leftAlone, moreBindings } from "../diagnostics/protection.ts";
import type { DiagnosticName } from "../diagnostics/registry.ts";
import type { GlobalVariable } from "../wgsl/ast.ts";
import { sizeOf } from "../wgsl/layout.ts";
import type { AppliedRedundancy, Channel, Check, KernelLimits, Pairing } from "./contract.ts";
import type { KernelFacts, ProgramFacts } from "./facts.ts";
import { bytesOfVariables, memoryShortage, mostInvocations, workgroupBytes } from "./workgroups.ts";

/** The configuration and the device to check for. */
export interface EligibilityOptions {
  readonly redundancy: AppliedRedundancy;
  readonly check: Check;
  /** The bindings with a code for memory. */
  readonly memory: { readonly coded: readonly unknown[] };
  readonly pairing: Pairing;
  readonly channel: Channel;
  /** True if the device has subgroups. */
  readonly subgroups: boolean;
  /** The number of lanes that a subgroup has at most; undefined if unknown. */
  readonly subgroupMaxSize: number | undefined;
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

  const [operation] = kernel.matrixOperations;
  const isCoded = options.memory.coded.length > 0;
  const comparesStores = options.redundancy === "inter" && options.check === "store";
  if (operation && (isCoded || (options.redundancy !== "none" && !comparesStores)))
    obstacle(
      "opaque-access",
      operation.span,
      `"${operation.operation}" accesses a subgroup matrix, and such kernels are protected only by "inter" that compares before stores`,
      'use { redundancy: "inter", check: "store" } without a code for memory',
    );
  const [matrix] = kernel.stagedMatrices;
  if (matrix && !options.subgroups)
    obstacle(
      "opaque-access",
      matrix.call.span,
      "replicas compare the numbers of a subgroup matrix in its lanes, for which the device lacks subgroups",
      'request the device with the feature "subgroups"',
    );
  if (matrix && kernel.invocations === undefined)
    obstacle(
      "opaque-access",
      nameSpan,
      "an override decides how many subgroups store their matrices in turn",
      "write the size of the workgroup as a constant",
    );
  const unknown = kernel.stagedMatrices.find(({ layout }) => !layout);
  if (unknown)
    obstacle(
      "opaque-access",
      unknown.call.span,
      "the places of the numbers of this matrix are not certain",
      "name the order as a template argument, and store to an array of scalars or vectors",
    );
  const [mixed] = kernel.matricesAmongVectors;
  if (mixed)
    obstacle(
      "opaque-access",
      mixed.call.span,
      "this matrix goes to an array of vectors that other code names, so the array cannot become one of words",
      "store to an array of scalars, or access the array by matrices alone, through its name",
    );
  const memory = matrix && bytesOfVariables(sized, (_, type) => sizeOf(type));
  const needed = (memory ?? 0) + stagedBytes(kernel.stagedMatrices);
  const most = options.limits.maxComputeWorkgroupStorageSize;
  // The device itself rejects a kernel that needs more without the matrices.
  if (matrix && (memory ?? 0) <= most && needed > most)
    obstacle(
      "workgroup-memory-too-large",
      nameSpan,
      `its matrices go through workgroup memory, of which it would need ${needed} bytes, and the device allows ${most}`,
    );
  const alone = kernel.stagedMatrices.find(({ call }) => facts.partlyReached.has(call));
  if (alone)
    obstacle(
      "opaque-access",
      alone.call.span,
      "only some subgroups may reach this access of a matrix, whose numbers go through workgroup memory",
      "move it to where all invocations of the workgroup get",
    );
  const [view] = facts.unplacedViews;
  if (view)
    obstacle(
      "opaque-access",
      view.span,
      `"${view.operation}" cannot be followed to a part of a variable: ${view.why}`,
    );

  const { limits } = options;
  if (options.redundancy.startsWith("intra")) {
    // Under passes, each invocation of such a kernel keeps its lane.
    const mixing = options.pairing === "passes" ? undefined : mixingOf(sized.invocations, options);
    for (const { span, what } of mixing === undefined ? [] : kernel.subgroupUses) {
      obstacle(
        "subgroup-operations",
        span,
        `${what} would see the replicas as neighbors${mixing}`,
        "use the pairing passes, or a flavor that replicates whole workgroups",
      );
    }
    const [product] = options.pairing === "passes" ? kernel.matrixOperations : [];
    if (product) {
      obstacle(
        "subgroup-operations",
        product.span,
        `"${product.operation}" has the same operands in both passes, so a driver may compute it once`,
        "use a flavor that replicates whole workgroups",
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
      const shortage = memoryShortage(sized, bytes, limits.maxComputeWorkgroupStorageSize, help);
      obstacle("workgroup-memory-too-large", nameSpan, shortage.reason, shortage.help);
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

/**
 * Returns the reason why a subgroup of a doubled workgroup may hold both replicas, as the end of a
 * sentence. Undefined if the number of invocations fills whole subgroups.
 */
function mixingOf(
  invocations: number | undefined,
  { pairing, subgroupMaxSize }: EligibilityOptions,
): string | undefined {
  if (pairing !== "subgroups") return "";
  if (subgroupMaxSize === undefined) return ", as the size of the device's subgroups is unknown";
  if (invocations === undefined) return ", as an override decides the size of the workgroup";
  return invocations % subgroupMaxSize === 0
    ? undefined
    : `, as its workgroup of ${invocations} invocations does not fill subgroups of ${subgroupMaxSize} lanes`;
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
