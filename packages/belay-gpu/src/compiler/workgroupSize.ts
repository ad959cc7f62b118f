/** How many invocations the workgroups of kernels have. */
import { knownWorkgroupSize } from "../analysis/workgroupSize.ts";
import { invocationsOf } from "../transforms/shared/entryPointWrapper.ts";
import type { FunctionDeclaration } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import type { KernelLimits, Pairing } from "./contract.ts";

/** Invocations per workgroup, or undefined when an override decides. */
export function invocationCount(program: Program, kernel: FunctionDeclaration): number | undefined {
  return knownWorkgroupSize(program, kernel)?.reduce((product, size) => product * size);
}

/** How many replicas of an invocation a workgroup has at once. */
const replicasAtOnce = (pairing: Pairing): 1 | 2 => (pairing === "passes" ? 1 : 2);

/** The most invocations that a workgroup may have that is to be protected. */
export function mostInvocations(limits: KernelLimits, pairing: Pairing): number {
  const most = limits.maxComputeInvocationsPerWorkgroup;
  // A doubled workgroup may become flat.
  return pairing === "passes" ? most : Math.floor(Math.min(most, limits.maxComputeWorkgroupSizeX) / 2);
}

/**
 * The invocations of the largest of several kernels that can be protected. One whose size an override decides counts as
 * the largest possible: a pipeline of another kernel need not give that override a value.
 */
export function largestWorkgroup(
  program: Program,
  kernels: readonly FunctionDeclaration[],
  limits: KernelLimits,
  pairing: Pairing,
): number {
  const largest = mostInvocations(limits, pairing);
  const counts = kernels.map((kernel) => invocationCount(program, kernel) ?? largest);
  return Math.max(...counts.filter((count) => count <= largest));
}

/** Invocations of the largest workgroup of some kernels, as it runs, as a WGSL expression. */
export function lanesOf(
  program: Program,
  kernels: readonly FunctionDeclaration[],
  limits: KernelLimits,
  pairing: Pairing,
): string {
  const [only, ...others] = kernels;
  const replicas = replicasAtOnce(pairing);
  return only && others.length === 0
    ? `${replicas}u * (${invocationsOf(program, only)})`
    : `${replicas * largestWorkgroup(program, kernels, limits, pairing)}u`;
}
