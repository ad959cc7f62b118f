/** The configurations of redundancy that are compared. */
import { type Configuration, configurationsFor } from "belay-gpu/internal/compiler/configurations";
import type { Check } from "belay-gpu/internal/compiler/contract";

export { type Configuration, describeConfiguration } from "belay-gpu/internal/compiler/configurations";

export type Flavor = Configuration["redundancy"];

export const flavors: readonly Flavor[] = ["intra+lds", "intra-lds", "inter"];

/**
 * Returns the configurations that a device can run and that are measured. Intra-Group-LDS shares
 * workgroup memory wherever its replicas stand, so its usual place represents all.
 */
export function measuredConfigurations(features: Iterable<string>): Configuration[] {
  const all = configurationsFor(features);
  return all.filter(
    (each) => each.redundancy !== "intra-lds" || each === usualOf(all, each.redundancy, each.check),
  );
}

/**
 * Returns the configuration that represents a flavor if there is room for only one: adjacent
 * replicas, over registers if the device can.
 */
export function usualOf<Each extends Configuration>(
  all: readonly Each[],
  redundancy: Flavor,
  check: Check,
): Each | undefined {
  return all.find((each) => each.redundancy === redundancy && each.check === check);
}
