/** Every way to run a kernel's invocations twice. */
import type { CompilerOptions } from "belay-gpu/internal/compiler/contract";

type Configuration = Required<Pick<CompilerOptions, "redundancy" | "check" | "pairing" | "channel">>;

const checks = ["store", "signature"] as const;
const channels = ["subgroup", "workgroup"] as const;

/** The configurations with replicas in adjacent lanes of one subgroup. */
export const adjacent: readonly Configuration[] = (["intra+lds", "intra-lds"] as const).flatMap(
  (redundancy) =>
    checks.flatMap((check) =>
      channels.map((channel) => ({ redundancy, check, pairing: "adjacent" as const, channel })),
    ),
);
export const halfSubgroup: readonly Configuration[] = adjacent
  .filter(({ redundancy }) => redundancy === "intra+lds")
  .map((configuration) => ({ ...configuration, pairing: "half-subgroup" }));

/**
 * The configurations with replicas in different subgroups. Kernels whose replicas must meet before
 * the end stay unprotected.
 */
export const subgroups: readonly Configuration[] = (["intra+lds", "intra-lds"] as const).map(
  (redundancy) => ({
    redundancy,
    check: "signature",
    pairing: "subgroups",
    channel: "workgroup",
  }),
);

/**
 * The configurations with one replica after the other. Kernels whose replicas would have to wait
 * for each other stay unprotected.
 */
export const passes: readonly Configuration[] = channels.map((channel) => ({
  redundancy: "intra+lds",
  check: "signature",
  pairing: "passes",
  channel,
}));
