/** The detection of faults in each structure by each flavor: the coverage tables, by outcome. */
import { beforeAll, describe, expect, it } from "vitest";
import {
  prepareStruckKernel,
  struckAtomics,
  struckCode,
} from "../../../../test/support/devices/struckKernel.ts";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import type { FaultSite } from "../compiler/contract.ts";
import type { Policy } from "./context/policy.ts";
import { harden } from "./harden.ts";
import type { HardenedDevice } from "./hardenedDevice.ts";
import type { ArmedFault } from "./injection/injector.ts";

const { newDevice } = testDevices({ full: true });
let plain: GPUDevice;
let right: Uint32Array[];
beforeAll(async () => {
  plain = await newDevice();
  right = await (await prepareStruckKernel(plain))();
});

const flavors = {
  none: { redundancy: "none" },
  "+LDS": { redundancy: "intra+lds" },
  "+LDS, store": { redundancy: "intra+lds", check: "store" },
  "-LDS": { redundancy: "intra-lds" },
  "-LDS, store": { redundancy: "intra-lds", check: "store" },
  "half-subgroup": { redundancy: "intra+lds", pairing: "half-subgroup" },
  subgroups: { redundancy: "intra+lds", pairing: "subgroups" },
  passes: { redundancy: "intra+lds", pairing: "passes" },
  inter: { redundancy: "inter" },
} as const satisfies Record<string, Policy>;
type Flavor = keyof typeof flavors;

/** The site that a fault in a structure strikes, and the flavors that detect it. */
interface Row {
  readonly structure: string;
  readonly kind: FaultSite["kind"];
  /** The struck source. */
  readonly source: string;
  readonly fault: Partial<ArmedFault>;
  readonly detected: (flavor: Flavor) => boolean;
}

const always = (flavor: Flavor) => flavor !== "none";
/** The flavors under which the replicas of an invocation do not run in one subgroup at one time. */
const apart = (flavor: Flavor) => ["subgroups", "passes", "inter"].includes(flavor);
const copied = (flavor: Flavor) => always(flavor) && !flavor.startsWith("-LDS");
/** In two passes lanes are swapped, so a broken lane is detected, but a broken subgroup is not. */
const inSpace = (flavor: Flavor) => ["subgroups", "inter"].includes(flavor);
const [subgroup, line, launch] = [
  { extent: "subgroup" },
  { extent: "line" },
  { duration: "launch" },
] as const;

const sum = { kind: "value", source: "a[i] + base" } as const;
const scalar = { kind: "value", source: "group.x * 7u" } as const;
const rows: readonly Row[] = [
  { structure: "ALU, VRF", ...sum, fault: {}, detected: always },
  { structure: "a stuck lane", ...sum, fault: launch, detected: always },
  { structure: "an address", kind: "address", source: "i", fault: { effect: { xor: 1 } }, detected: always },
  { structure: "LDS", kind: "local", source: "tile[l] = sum", fault: {}, detected: copied },
  { structure: "SU, SRF", ...scalar, fault: subgroup, detected: apart },
  { structure: "SU, SRF, stuck", ...scalar, fault: { ...subgroup, ...launch }, detected: inSpace },
  { structure: "ID", ...sum, fault: { ...subgroup, effect: { set: 77 } }, detected: apart },
  {
    structure: "IF/SCHED: a branch",
    kind: "branch",
    source: "base > 3u",
    fault: { ...subgroup, effect: { xor: 1 } },
    detected: apart,
  },
  {
    structure: "IF/SCHED: a statement",
    kind: "statement",
    source: "sum += 5u",
    fault: subgroup,
    detected: apart,
  },
  { structure: "L1", kind: "load", source: "a[i]", fault: { ...line, line: 1 }, detected: () => false },
];

const atomicRow: Row = {
  structure: "LDS, behind an atomic operation",
  kind: "local",
  source: "atomicAdd(&tile[l], sum)",
  fault: {},
  detected: copied,
};
const kernels = [
  { code: struckCode, rows },
  { code: struckAtomics, rows: [atomicRow] },
].flatMap((kernel) => (Object.keys(flavors) as Flavor[]).map((flavor) => ({ flavor, ...kernel })));

describe.each(kernels)("$flavor", ({ flavor, code, rows }) => {
  let device: HardenedDevice;
  let run: () => Promise<Uint32Array[]>;
  beforeAll(async () => {
    device = await harden(plain, { ...flavors[flavor], injectFaults: true, onFault: "report" });
    run = await prepareStruckKernel(device, 1, code);
    expect(await run()).toEqual(right);
  });

  it.each(rows)("$structure", async ({ kind, source, fault, detected }) => {
    const [{ kernel, sites } = { kernel: "", sites: [] }] = device.belay.faultSites();
    const { id: site } = sites.find(
      ({ span, ...each }) => each.kind === kind && code.slice(span.start, span.end) === source,
    )!;
    for (const replica of flavor === "none" ? ([0] as const) : ([0, 1] as const)) {
      const place = { workgroup: [1, 0, 0], localIndex: 5 } as const;
      const before = (await device.belay.report()).faults.length;
      device.belay.arm({ kernel, site, replica, effect: { xor: 1 << 20 }, ...place, ...fault });
      const result = await run();
      expect(await device.belay.strikes()).toBeGreaterThan(0);
      const faults = (await device.belay.report()).faults.length - before;
      if (detected(flavor)) expect(faults).toBeGreaterThan(0);
      else {
        expect(faults).toBe(0);
        expect(result).not.toEqual(right);
      }
      device.belay.disarm();
      expect(await run()).toEqual(right);
    }
  });
});
