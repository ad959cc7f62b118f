import type { Channel, Check, Redundancy } from "../compiler/contract.ts";

/** What the program gets to see of a detected fault. */
export type OnFault = "throw" | "report";

/** How a device is hardened. Every field has a default. */
export interface Policy {
  /** How kernels are made redundant. Default `"intra+lds"`. */
  readonly redundancy?: Redundancy;
  /** When the replicas are compared. Default `"signature"`. */
  readonly check?: Check;
  /** How a pair of replicas exchanges words. Default `"auto"`. */
  readonly channel?: Channel | "auto";
  /**
   * `"throw"` (default): reading data that a detected fault may have reached is refused with a `BelayFaultError`.
   * `"report"`: faults are events and entries in the report, and data is released all the same.
   */
  readonly onFault?: OnFault;
  /** Creating a pipeline fails when its kernel, or a part of it, would stay unprotected. Default false. */
  readonly strict?: boolean;
  /** Instruments kernels so that `device.belay.arm` can inject faults. Default false. */
  readonly injectFaults?: boolean;
}

export type ResolvedPolicy = Required<Policy>;

const choices: { readonly [K in keyof Policy]-?: readonly ResolvedPolicy[K][] } = {
  redundancy: ["none", "intra+lds", "intra-lds"],
  check: ["store", "signature"],
  channel: ["auto", "subgroup", "workgroup"],
  onFault: ["throw", "report"],
  strict: [true, false],
  injectFaults: [true, false],
};

const defaults: ResolvedPolicy = {
  redundancy: "intra+lds",
  check: "signature",
  channel: "auto",
  onFault: "throw",
  strict: false,
  injectFaults: false,
};

/** Fills in the defaults. Throws a `TypeError` for a field or a value that does not exist. */
export function resolvePolicy(policy: Policy = {}): ResolvedPolicy {
  for (const [field, value] of Object.entries(policy)) {
    const allowed: readonly unknown[] | undefined = choices[field as keyof Policy];
    if (!allowed) {
      throw new TypeError(`the policy has no field "${field}"; it has ${Object.keys(choices).join(", ")}`);
    }
    if (value !== undefined && !allowed.includes(value)) {
      throw new TypeError(
        `the policy's ${field} cannot be ${JSON.stringify(value)}; use ${allowed.map((v) => JSON.stringify(v)).join(", ")}`,
      );
    }
  }
  const given = Object.entries(policy).filter(([, value]) => value !== undefined);
  return { ...defaults, ...Object.fromEntries(given) };
}
