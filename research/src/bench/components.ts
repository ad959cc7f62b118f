/** What the overhead is made of, as figures 4 and 7 of the paper take it apart. */
import type { Protect } from "belay-gpu/internal/compiler/contract";
import { protect } from "belay-gpu/internal/compiler/protect";
import { hardenWith } from "belay-gpu/internal/runtime/hardenedDevice";
import type { Program } from "belay-gpu/internal/runtime/tuning/workload";
import type { Configuration, Flavor } from "./configurations.ts";
import { withIdleReplicas } from "./idleReplicas.ts";
import { alternate, TimedProgram } from "./timing.ts";

/**
 * Ratios to the unprotected program; the second includes the first. Null where a step cannot be
 * run.
 */
export interface Components {
  readonly redundancy: Flavor;
  /** Doubled workgroups, or grids, whose second half holds its resources and computes nothing. */
  readonly reserved: number | null;
  /**
   * Both replicas compute, and nothing is compared; what a protected program takes more is
   * communication.
   */
  readonly computed: number | null;
}

/** Both replicas compute, and nothing is compared. */
const withoutComparison: Protect = (wgsl, options) => protect(wgsl, { ...options, check: "none" });

/**
 * Whole subgroups are idle, so that those of the first replica stay as dense as the unprotected
 * program's.
 */
const idle: Protect = (wgsl, options) => {
  const result = withoutComparison(wgsl, { ...options, pairing: "subgroups", channel: "workgroup" });
  return { ...result, code: withIdleReplicas(result.code) };
};

/**
 * Times the steps from an unprotected program to a configuration, each in alternation with the
 * unprotected program.
 */
export async function measureComponents(
  program: Program,
  newDevice: () => Promise<GPUDevice>,
  unprotected: TimedProgram,
  configuration: Configuration,
  runs: number,
): Promise<Components> {
  const ratio = async (compile: Protect): Promise<number | null> => {
    const device = hardenWith(compile, await newDevice(), { ...configuration, onFault: "report" });
    try {
      using step = new TimedProgram(program, device);
      const [before, after] = await alternate(runs, unprotected, step);
      const { kernels } = await device.belay.report();
      return kernels.some((each) => each.redundancy === "none") ? null : after.median / before.median;
    } catch {
      return null;
    }
  };
  return {
    redundancy: configuration.redundancy,
    reserved: await ratio(idle),
    computed: await ratio(withoutComparison),
  };
}
