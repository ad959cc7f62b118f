import { memoryCodes } from "../codes/scheme.ts";
import type { ProtectOptions } from "./contract.ts";

/** The values of the options that are one of a few. */
export const choices = {
  redundancy: ["none", "intra+lds", "intra-lds", "inter", "auto"],
  check: ["store", "signature", "none"],
  channel: ["auto", "subgroup", "workgroup"],
  pairing: ["auto", "adjacent", "half-subgroup", "subgroups", "passes"],
  memory: ["none", ...memoryCodes],
} as const satisfies { readonly [K in keyof ProtectOptions]?: readonly ProtectOptions[K][] };

const names: Readonly<Record<keyof ProtectOptions, true>> = {
  ...{
    redundancy: true,
    cover: true,
    entryPoint: true,
    room: true,
    check: true,
    pairing: true,
    channel: true,
  },
  ...{
    memory: true,
    memoryBindings: true,
    reportBinding: true,
    injectFaults: true,
    strikeMachinery: true,
    strict: true,
  },
  ...{ features: true, subgroupSize: true, limits: true, constants: true },
};

/** Throws a `TypeError` for options and values that do not exist, which types do not keep JavaScript from passing. */
export function refuseUnknown(options: ProtectOptions): void {
  if (typeof options !== "object" || options === null) throw new TypeError("the options are no object");
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(names, name));
  if (unknown !== undefined) {
    throw new TypeError(`there is no option ${unknown}: the options are ${Object.keys(names).join(", ")}`);
  }
  for (const [option, values] of Object.entries(choices)) {
    const value = options[option as keyof typeof choices];
    if (value === undefined || typeof value === "object") continue;
    if ((values as readonly unknown[]).includes(value)) continue;
    const listed = values.map((each) => JSON.stringify(each)).join(", ");
    throw new TypeError(`the option ${option} cannot be ${JSON.stringify(value)}: it is one of ${listed}`);
  }
}
