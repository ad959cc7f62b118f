import type { Channel, Check, Redundancy } from "../compiler/contract.ts";

/** What the program gets to see of a detected fault. */
export type OnFault = "recover" | "throw" | "report";

/** How a device is hardened. Every field has a default. */
export interface Policy {
  /** How kernels are made redundant. Default `"intra+lds"`. */
  readonly redundancy?: Redundancy;
  /** When the replicas are compared. Default `"signature"`. */
  readonly check?: Check;
  /** How a pair of replicas exchanges words. Default `"auto"`. */
  readonly channel?: Channel | "auto";
  /**
   * `"recover"` (default): what is not verified is put back and run again, and only then released; where that is not
   * possible or does not help, as `"throw"`.
   * `"throw"`: reading data that a detected fault may have reached is refused with a `BelayFaultError`.
   * `"report"`: faults are events and entries in the report, and data is released all the same.
   */
  readonly onFault?: OnFault;
  /** How often work is run again before it is given up. Default 3. */
  readonly retries?: number;
  /** Creating a pipeline fails when its kernel, or a part of it, would stay unprotected. Default false. */
  readonly strict?: boolean;
  /** Instruments kernels so that `device.belay.arm` can inject faults. Default false. */
  readonly injectFaults?: boolean;
}

export type ResolvedPolicy = Required<Policy>;

const choices: { readonly [K in Exclude<keyof Policy, "retries">]-?: readonly ResolvedPolicy[K][] } = {
  redundancy: ["none", "intra+lds", "intra-lds"],
  check: ["store", "signature"],
  channel: ["auto", "subgroup", "workgroup"],
  onFault: ["recover", "throw", "report"],
  strict: [true, false],
  injectFaults: [true, false],
};

const defaults: ResolvedPolicy = {
  redundancy: "intra+lds",
  check: "signature",
  channel: "auto",
  onFault: "recover",
  retries: 3,
  strict: false,
  injectFaults: false,
};

/** Fills in the defaults. Throws a `TypeError` for a field or a value that does not exist. */
export function resolvePolicy(policy: Policy = {}): ResolvedPolicy {
  const given = Object.entries(policy).filter(([, value]) => value !== undefined);
  for (const [field, value] of given) {
    const problem = problemOf(field, value);
    if (problem) throw new TypeError(`the policy's ${field} cannot be ${JSON.stringify(value)}: ${problem}`);
  }
  return { ...defaults, ...Object.fromEntries(given) };
}

function problemOf(field: string, value: unknown): string | undefined {
  if (field === "retries") {
    return Number.isInteger(value) && Number(value) >= 0 ? undefined : "it is a whole number from 0 on";
  }
  if (!Object.hasOwn(choices, field)) return `a policy has ${Object.keys(defaults).join(", ")}`;
  const allowed: readonly unknown[] = choices[field as keyof typeof choices];
  if (allowed.includes(value)) return undefined;
  return `it is one of ${allowed.map((choice) => JSON.stringify(choice)).join(", ")}`;
}
