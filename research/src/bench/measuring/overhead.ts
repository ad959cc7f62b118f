/**
 * The cost of redundancy, as in figures 2, 6 and 9 of the paper: protected to unprotected time,
 * measured in alternation.
 */

import type { Policy } from "belay-gpu/internal/runtime/context/policy";
import { harden } from "belay-gpu/internal/runtime/harden";
import type { HardenedDevice } from "belay-gpu/internal/runtime/hardenedDevice";
import type { Outputs, VerifiableProgram } from "belay-gpu/internal/runtime/tuning/workload";
import type { Configuration } from "./configurations.ts";
import { alternate, sameBits, TimedProgram, type Times } from "./timing.ts";

/** The cost of one configuration for a program. */
export interface Cost {
  readonly unprotected: Times;
  readonly protected: Times;
  /** The ratio of the medians. */
  readonly ratio: number;
  /** The records of disagreement; each is a false alarm, as no fault was injected. */
  readonly detections: number;
  /**
   * The waits for the other replica that timed out. They are no alarms, but give no verified result
   * either.
   */
  readonly unverified: number;
  /** True if the last run returned the bits of the unprotected program. */
  readonly identical: boolean;
}

export interface Overhead extends Configuration, Cost {}

/** A configuration that a program cannot run in. */
export interface RefusedConfiguration extends Configuration, Refused {}

export interface Refused {
  /** The reason why all or some kernels stay unprotected. */
  readonly refused: string;
}

/** The unprotected program, and its outputs. */
export interface Baseline {
  readonly unprotected: TimedProgram;
  readonly expected: Outputs;
}

/** A program that is ready on a device that protects it. */
export interface Guarded {
  readonly device: HardenedDevice;
  readonly guarded: TimedProgram;
}

/**
 * Prepares a program under a policy, lets `work` measure it, and destroys the device. Resolves to a
 * refusal if the policy leaves kernels unprotected. Rejects when the program fails.
 */
export async function withGuarded<Result>(
  program: VerifiableProgram,
  native: GPUDevice,
  policy: Policy,
  work: (guarded: Guarded) => Promise<Result>,
): Promise<Result | Refused> {
  const device = await harden(native, { ...policy, onFault: "report" });
  using guarded = new TimedProgram(program, device);
  const refused = await gapsOf(device, guarded);
  return refused ? { refused } : await work({ device, guarded });
}

/** Times a protected program in alternation with the unprotected one. */
export async function measureCost(
  { device, guarded }: Guarded,
  { unprotected, expected }: Baseline,
  runs: number,
): Promise<Cost> {
  const [before, after] = await alternate(runs, unprotected, guarded);
  return {
    unprotected: before,
    protected: after,
    ratio: after.median / before.median,
    identical: sameBits(await guarded.read(), expected),
    ...(await findingsOf(device)),
  };
}

/**
 * Returns the reasons why kernels of a program stay unprotected on a device, or undefined when all
 * are protected. The program runs once.
 */
async function gapsOf(device: HardenedDevice, guarded: TimedProgram): Promise<string | undefined> {
  await guarded.run();
  const { kernels } = await device.belay.report();
  const gaps = kernels.filter(({ redundancy }) => redundancy === "none");
  const reasons = gaps.flatMap(({ diagnostics }) => diagnostics.map(({ message }) => message));
  return gaps.length === 0 ? undefined : [...new Set(reasons)].join("; ") || "not protected";
}

/** Returns the sums of the reports of all kernels of a device. */
export async function findingsOf(device: HardenedDevice): Promise<Pick<Cost, "detections" | "unverified">> {
  const { kernels } = await device.belay.report();
  const sum = (what: "detections" | "unverified") => kernels.reduce((sum, each) => sum + each[what], 0);
  return { detections: sum("detections"), unverified: sum("unverified") };
}
