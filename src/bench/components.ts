/** What the overhead is made of, as figures 4 and 7 of the paper take it apart. */
import type { Check, Protect } from "../compiler/contract.ts";
import { protect } from "../compiler/protect.ts";
import { hardenWith } from "../runtime/hardenedDevice.ts";
import type { Program } from "../runtime/workload.ts";
import { type Flavor, typical } from "./configurations.ts";
import { withIdleReplicas } from "./idleReplicas.ts";
import { gapsOf } from "./overhead.ts";
import { alternate, TimedProgram } from "./timing.ts";

/** Ratios to the unprotected program; each includes those before it. Null where a step cannot be run. */
export interface Components {
  readonly redundancy: Flavor;
  /** Doubled workgroups, or grids, whose second half holds its resources and computes nothing. */
  readonly reserved: number | null;
  /** Both replicas compute, and nothing is compared. */
  readonly computed: number | null;
  /** Everything, by what is compared. */
  readonly compared: Readonly<Record<Check, number | null>>;
}

/** Both replicas compute and store, and nothing is compared. */
const withoutComparison: Protect = (wgsl, options) => protect(wgsl, { ...options, check: "none" });

const idle: Protect = (wgsl, options) => {
  const result = withoutComparison(wgsl, options);
  return { ...result, code: withIdleReplicas(result.code) };
};

/** Times the steps from an unprotected program to a protected one, each in alternation with the unprotected program. */
export async function measureComponents(
  program: Program,
  newDevice: () => Promise<GPUDevice>,
  unprotected: TimedProgram,
  redundancy: Flavor,
  runs: number,
): Promise<Components> {
  const ratio = async (compile: Protect, check: Check): Promise<number | null> => {
    const policy = { ...typical(redundancy, check), onFault: "report" } as const;
    const device = hardenWith(compile, await newDevice(), policy);
    try {
      using step = new TimedProgram(program, device);
      if (compile === protect && (await gapsOf(device, step))) return null;
      const [before, after] = await alternate(runs, unprotected, step);
      return after.median / before.median;
    } catch {
      return null;
    }
  };
  const compared = { store: await ratio(protect, "store"), signature: await ratio(protect, "signature") };
  if (compared.store === null && compared.signature === null)
    return { redundancy, reserved: null, computed: null, compared };
  return {
    redundancy,
    reserved: await ratio(idle, "signature"),
    computed: await ratio(withoutComparison, "signature"),
    compared,
  };
}
