/** Computes the sizes of workgroups and of workgroup memory, and the variables that have copies. */
import { addressSpaceOf, containsAtomic } from "../analysis/places.ts";
import { finalBytes } from "../transforms/redundancy/comparison/conclusion.ts";
import { slotBytes } from "../transforms/redundancy/comparison/workgroupChannel.ts";
import { bytesOfCopies } from "../transforms/redundancy/workgroupCopies.ts";
import { invocationsOf } from "../transforms/shared/entryPointWrapper.ts";
import type { GlobalVariable } from "../wgsl/ast.ts";
import { sizeOf } from "../wgsl/layout.ts";
import type { Type } from "../wgsl/types.ts";
import type { KernelLimits, Pairing } from "./contract.ts";
import type { KernelFacts, ProgramFacts } from "./facts.ts";
import type { Settings } from "./settings.ts";

/** Returns the number of replicas of an invocation that a workgroup has at once. */
const replicasAtOnce = (pairing: Pairing): 1 | 2 => (pairing === "passes" ? 1 : 2);

/** Returns the largest number of invocations of a workgroup that can be protected. */
export function mostInvocations(limits: KernelLimits, pairing: Pairing): number {
  const most = limits.maxComputeInvocationsPerWorkgroup;
  // A doubled workgroup may have its invocations in one dimension.
  return pairing === "passes" ? most : Math.floor(Math.min(most, limits.maxComputeWorkgroupSizeX) / 2);
}

/**
 * Returns the invocations of the largest kernel that can be protected. A kernel whose size an
 * override decides counts as the largest possible, because pipelines of other kernels need not give
 * that override a value.
 */
function largestWorkgroup(kernels: readonly KernelFacts[], limits: KernelLimits, pairing: Pairing): number {
  const largest = mostInvocations(limits, pairing);
  const counts = kernels.map(({ invocations }) => invocations ?? largest);
  return Math.max(...counts.filter((count) => count <= largest));
}

/** Returns the invocations of the largest workgroup, as it is executed, as a WGSL expression. */
export function lanesOf(kernels: readonly KernelFacts[], limits: KernelLimits, pairing: Pairing): string {
  const [only, ...others] = kernels;
  const replicas = replicasAtOnce(pairing);
  return only && others.length === 0
    ? `${replicas}u * (${invocationsOf(only.program, only.declaration)})`
    : `${replicas * largestWorkgroup(kernels, limits, pairing)}u`;
}

/**
 * Returns the reason why a kernel that would need `bytes` of workgroup memory does not fit. It
 * comes with `help` unless the kernel needs too much by itself.
 */
export function memoryShortage(
  kernel: KernelFacts,
  bytes: number,
  most: number,
  help: string | undefined,
): { readonly reason: string; readonly help?: string | undefined } {
  const own = bytesOfVariables(kernel, (_, type) => sizeOf(type)) ?? 0;
  if (own > most)
    return {
      reason: `its own ${own} bytes of workgroup memory are more than the ${most} that the device allows`,
    };
  return {
    reason: `it would need ${bytes} bytes of workgroup memory, and the device allows ${most}`,
    help,
  };
}

type MemorySettings = Pick<Settings, "redundancy" | "pairing" | "channel" | "limits">;

/**
 * Returns the workgroup variables with one copy per replica, in space or in time, so that their
 * contents stay inside the sphere of replication. Atomic variables have one copy if the order of
 * their operations matters, because each operation is then executed once. They also have one copy
 * if a second one does not fit.
 *
 * Requires access normal form.
 */
export function replicatedVariables(
  facts: ProgramFacts,
  kernels: readonly KernelFacts[],
  settings: MemorySettings,
): Set<GlobalVariable> {
  const { redundancy, pairing, limits } = settings;
  const used = kernels.flatMap(({ variables }) => [...variables]);
  const memory = new Set(used.filter((variable) => addressSpaceOf(variable) === "workgroup"));
  if (redundancy === "inter" || pairing === "passes") return memory;
  if (redundancy !== "intra+lds") return new Set();
  for (const kernel of kernels)
    for (const variable of kernel.orderDependentVariables) memory.delete(variable);
  for (const kernel of kernels) {
    const bytes = workgroupBytes(facts, kernel, settings, (variable) => memory.has(variable));
    if (bytes !== undefined && bytes <= limits.maxComputeWorkgroupStorageSize) continue;
    for (const variable of kernel.variables)
      if (containsAtomic(facts.program.declaredTypeOf(variable))) memory.delete(variable);
  }
  return memory;
}

/**
 * Returns the bytes of workgroup memory of a protected kernel, or undefined if an override without
 * a value decides. Known overrides of `kernel` may be turned into constants.
 */
export function workgroupBytes(
  facts: ProgramFacts,
  kernel: KernelFacts,
  { pairing, channel, limits }: MemorySettings,
  isCopied: (variable: GlobalVariable) => boolean,
): number | undefined {
  const isDoubled = (variable: GlobalVariable) => pairing !== "passes" && isCopied(variable);
  const bytes = bytesOfVariables(kernel, (variable, type) =>
    isDoubled(variable) ? bytesOfCopies(type, pairing) : sizeOf(type),
  );
  if (bytes === undefined || channel === "subgroup") return bytes;
  const kernels = facts.kernels();
  // The slots of the channel are one variable for all kernels.
  const invocations = kernels.length === 1 ? kernel.invocations : largestWorkgroup(kernels, limits, pairing);
  // Replicas that synchronize only at the end need no slots.
  const each = finalBytes + (pairing === "subgroups" || pairing === "passes" ? 0 : slotBytes);
  return invocations && bytes + each * invocations;
}

/**
 * Returns the bytes of a kernel's workgroup variables, each of `bytesOf`, or undefined if an
 * override without a value decides.
 */
export function bytesOfVariables(
  { program, variables }: Pick<KernelFacts, "program" | "variables">,
  bytesOf: (variable: GlobalVariable, type: Type) => number,
): number | undefined {
  let bytes = 0;
  for (const variable of variables) {
    if (addressSpaceOf(variable) !== "workgroup") continue;
    const type = program.declaredTypeOf(variable);
    if (!hasKnownSize(type)) return undefined;
    bytes += Math.ceil(bytesOf(variable, type) / 16) * 16;
  }
  return bytes;
}

const hasKnownSize = (type: Type): boolean => type.kind !== "array" || typeof type.count === "number";
