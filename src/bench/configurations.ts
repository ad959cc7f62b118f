/** The ways to protect a kernel that are compared. */
import type { Configuration } from "../compiler/configurations.ts";
import type { Check } from "../compiler/contract.ts";

export { type Configuration, configurationsFor, nameOf } from "../compiler/configurations.ts";

export type Flavor = Configuration["redundancy"];

export const flavors: readonly Flavor[] = ["intra+lds", "intra-lds", "inter"];

/** The configuration that stands for a flavor where there is room for one only: adjacent replicas, over registers if the device can. */
export function usualOf<Each extends Configuration>(
  all: readonly Each[],
  redundancy: Flavor,
  check: Check,
): Each | undefined {
  return all.find((each) => each.redundancy === redundancy && each.check === check);
}
