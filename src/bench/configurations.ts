/** The ways to protect a kernel that are compared. */
import type { Check, Pairing } from "../compiler/contract.ts";
import type { KernelPolicy } from "../runtime/policy.ts";

export type Flavor = "intra+lds" | "intra-lds" | "inter";

export interface Configuration extends Omit<KernelPolicy, "strict"> {
  readonly redundancy: Flavor;
  readonly check: Check;
  /** `"auto"` for Inter-Group, whose replicas have no channel of their own. */
  readonly channel: "subgroup" | "workgroup" | "auto";
  readonly pairing: Pairing;
}

export const flavors: readonly Flavor[] = ["intra+lds", "intra-lds", "inter"];
const checks: readonly Check[] = ["store", "signature"];

/** The channels and pairings of Intra-Group kernels; replicas in different subgroups meet only at the end. */
const places: readonly (Pick<Configuration, "channel" | "pairing"> & {
  readonly checks: readonly Check[];
})[] = [
  { channel: "subgroup", pairing: "adjacent", checks },
  { channel: "workgroup", pairing: "adjacent", checks },
  { channel: "subgroup", pairing: "half-subgroup", checks },
  { channel: "workgroup", pairing: "subgroups", checks: ["signature"] },
];

/** Every configuration that a device with these features can run, Intra-Group first. */
export function configurationsFor(features: GPUSupportedFeatures): Configuration[] {
  const exchanges = features.has("subgroups");
  const intra = (["intra+lds", "intra-lds"] as const).flatMap((redundancy) =>
    places.flatMap(({ channel, pairing, checks }) =>
      checks.map((check): Configuration => ({ redundancy, check, channel, pairing })),
    ),
  );
  const inter = checks.map(
    (check): Configuration => ({ redundancy: "inter", check, channel: "auto", pairing: "adjacent" }),
  );
  return [...intra.filter(({ channel }) => exchanges || channel !== "subgroup"), ...inter];
}

/** The configuration that stands for a flavor where there is room for one only: adjacent replicas, over registers if the device can. */
export function usualOf<Each extends Configuration>(
  all: readonly Each[],
  redundancy: Flavor,
  check: Check,
): Each | undefined {
  return all.find((each) => each.redundancy === redundancy && each.check === check);
}

export function nameOf({ redundancy, check, channel, pairing }: Configuration): string {
  return [
    redundancy,
    check,
    ...(channel === "auto" ? [] : [channel]),
    ...(pairing === "adjacent" ? [] : [pairing]),
  ].join(" ");
}
