/** How many invocations the workgroups of kernels have. */
import { invocationsOf } from "../transforms/entryPointWrapper.ts";
import type { FunctionDeclaration } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import type { KernelLimits } from "./contract.ts";

/** Invocations per workgroup, or undefined when an override decides. */
export function invocationCount(program: Program, kernel: FunctionDeclaration): number | undefined {
  const sizes = kernel.attributes.find((a) => a.name === "workgroup_size")?.args ?? [];
  let product = 1;
  for (const size of sizes) {
    const constant = program.constantOf(size);
    if (!constant || !("value" in constant)) return undefined;
    product *= Number(constant.value);
  }
  return product;
}

/** The most invocations that a flat workgroup may have. */
export function mostInvocations(limits: KernelLimits): number {
  return Math.min(limits.maxComputeInvocationsPerWorkgroup, limits.maxComputeWorkgroupSizeX);
}

/**
 * The invocations of the largest of several kernels that can be doubled. One whose size an override decides counts as
 * the largest possible: a pipeline of another kernel need not give that override a value.
 */
export function largestWorkgroup(
  program: Program,
  kernels: readonly FunctionDeclaration[],
  limits: KernelLimits,
): number {
  const largest = Math.floor(mostInvocations(limits) / 2);
  const counts = kernels.map((kernel) => invocationCount(program, kernel) ?? largest);
  return Math.max(...counts.filter((count) => count <= largest));
}

/** Invocations of the largest doubled workgroup of some kernels, as a WGSL expression. */
export function lanesOf(
  program: Program,
  kernels: readonly FunctionDeclaration[],
  limits: KernelLimits,
): string {
  const [only, ...others] = kernels;
  return only && others.length === 0
    ? `2u * (${invocationsOf(program, only)})`
    : `${2 * largestWorkgroup(program, kernels, limits)}u`;
}
