import type { Redundancy } from "../../compiler/contract.ts";
import { compiled, type KernelPolicy, type ResolvedPolicy } from "./policy.ts";

/** The policy for a kernel, as the compiler knows it. */
export interface CompiledPolicy extends Required<KernelPolicy> {
  readonly redundancy: Redundancy | "auto";
}

/** The names of a kernel: the label of its pipeline, and its entry point. */
interface KernelNames {
  readonly label: string;
  readonly entryPoint: string | undefined;
}

/**
 * Returns the policy for a kernel: the exception for its pipeline's label or its entry point, or
 * else the policy itself.
 */
export function policyFor(policy: ResolvedPolicy, names: KernelNames): CompiledPolicy {
  const own = exceptionFor(policy, names);
  const redundancy = compiled(own.redundancy);
  return redundancy === own.redundancy ? (own as CompiledPolicy) : { ...own, redundancy };
}

/** Returns true if all dispatches of a kernel with sums of products are to be checked. */
export const asksForAlgebra = (policy: ResolvedPolicy, names: KernelNames): boolean =>
  exceptionFor(policy, names).redundancy === "algebra";

function exceptionFor(policy: ResolvedPolicy, { label, entryPoint }: KernelNames): Required<KernelPolicy> {
  const name = [label, entryPoint].find((each) => each && Object.hasOwn(policy.kernels, each));
  return name ? { ...policy, ...policy.kernels[name] } : policy;
}
