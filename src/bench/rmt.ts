/**
 * The measurements of Wadden et al., "Real-world design and evaluation of compiler-managed GPU redundant multithreading",
 * ISCA 2014, sections 6 to 8: figures 2 to 7 and 9.
 */
import type { Program, Verdict } from "../runtime/workload.ts";
import { type Automatic, measureAutomatic } from "./automatic.ts";
import { type CeilingSize, type Ceilings, measureCeilings } from "./ceilings.ts";
import { type Components, measureComponents } from "./components.ts";
import { type Configuration, configurationsFor, type Flavor, nameOf, usualOf } from "./configurations.ts";
import { countFalseAlarms, type FaultFree } from "./faultFree.ts";
import { measureOverhead, type Overhead, type Refusal } from "./overhead.ts";
import { findPowerMeter, measurePower, type Power, type PowerMeter } from "./power.ts";
import { measureRoofline, type Roofline } from "./roofline.ts";
import { TimedProgram } from "./timing.ts";

/** What can be measured, each for itself; figures 2, 6 and 9 are `overhead`, 3 `roofline`, 4 and 7 `components`, 5 `power`. */
export const measurements = ["overhead", "auto", "roofline", "components", "power"] as const;
export type Measurement = (typeof measurements)[number];

export interface RmtOptions {
  /** A new device of the adapter, with all limits and features. */
  readonly newDevice: () => Promise<GPUDevice>;
  readonly size: CeilingSize;
  readonly programs: readonly { readonly name: string; readonly create: () => Program }[];
  readonly measure: readonly Measurement[];
  readonly flavors: readonly Flavor[];
  /** How often each configuration runs. */
  readonly runs: number;
  /** How often each configuration runs in search of false alarms. */
  readonly faultFree: number;
  /** How long a program runs for its power, in milliseconds. */
  readonly powerTime: number;
  readonly progress: (doing: string) => void;
  /** Called after each program with all that is there, so that a run that is cut short leaves something. */
  readonly save: (sofar: RmtResult) => Promise<void>;
}

export interface ProgramResult {
  readonly name: string;
  /** Of the unprotected program, against the CPU. */
  readonly verdict: Verdict;
  readonly overheads: readonly (Overhead | Refusal)[];
  readonly automatic?: Automatic;
  readonly roofline?: Roofline;
  readonly components: readonly Components[];
  readonly power: readonly Power[];
  readonly faultFree: readonly FaultFree[];
  /** What could not be measured, and why. */
  readonly failures: readonly string[];
}

export interface RmtResult {
  readonly ok: boolean;
  readonly ceilings?: Ceilings;
  /** Where power readings come from; null where there are none. */
  readonly powerSource: string | null;
  readonly programs: readonly ProgramResult[];
}

/** Measures every program. A step that fails is in the result; only without a device does it reject. */
export async function measureRmt(options: RmtOptions): Promise<RmtResult> {
  const { newDevice, size, measure, flavors, runs, progress } = options;
  progress("ceilings");
  const probe = await newDevice();
  const conditions: Conditions = {
    configurations: configurationsFor(probe.features).filter((each) => flavors.includes(each.redundancy)),
    ceilings: measure.includes("roofline") ? await measureCeilings(probe, size, runs) : undefined,
    meter: measure.includes("power") ? await findPowerMeter() : undefined,
  };
  probe.destroy();
  const programs: ProgramResult[] = [];
  const result = (): RmtResult => ({
    ok: programs.every(isSound),
    ...(conditions.ceilings && { ceilings: conditions.ceilings }),
    powerSource: conditions.meter?.source ?? null,
    programs,
  });
  for (const { name, create } of options.programs) {
    programs.push(await measureProgram(name, create, options, conditions));
    await options.save(result());
  }
  return result();
}

interface Conditions {
  readonly configurations: readonly Configuration[];
  readonly ceilings: Ceilings | undefined;
  readonly meter: PowerMeter | undefined;
}

async function measureProgram(
  name: string,
  create: () => Program,
  { newDevice, measure, flavors, runs, faultFree, powerTime, progress }: RmtOptions,
  { configurations, ceilings, meter }: Conditions,
): Promise<ProgramResult> {
  const failures: string[] = [];
  const attempt = async <T>(step: string, work: () => Promise<T>): Promise<T | undefined> => {
    progress(`${name}: ${step}`);
    try {
      return await work();
    } catch (error) {
      failures.push(`${step}: ${(error as { message?: string }).message ?? error}`);
      return undefined;
    }
  };
  const overheads: (Overhead | Refusal)[] = [];
  const components: Components[] = [];
  const power: Power[] = [];
  const alarms: FaultFree[] = [];
  let verdict: Verdict = { ok: false, message: "the unprotected program failed" };
  let roofline: Roofline | undefined;
  let automatic: Automatic | undefined;

  await attempt("unprotected", async () => {
    const program = create();
    using unprotected = new TimedProgram(program, await newDevice());
    await unprotected.run();
    const expected = await unprotected.read();
    verdict = program.verify(expected);

    for (const configuration of configurations) {
      const { redundancy, check } = configuration;
      const stands = usualOf(configurations, redundancy, check) === configuration;
      if (measure.includes("overhead") || (measure.includes("components") && stands)) {
        const overhead = await attempt(`overhead, ${nameOf(configuration)}`, async () =>
          measureOverhead(program, await newDevice(), { unprotected, expected }, configuration, runs),
        );
        if (overhead) overheads.push(overhead);
      }
      if (faultFree === 0) continue;
      const counted = await attempt(`false alarms, ${nameOf(configuration)}`, async () =>
        countFalseAlarms(program, await newDevice(), expected, configuration, faultFree),
      );
      if (counted) alarms.push(counted);
    }
    if (measure.includes("auto")) {
      automatic = await attempt("auto", () =>
        measureAutomatic(program, newDevice, { unprotected, expected }, runs),
      );
    }
    for (const flavor of measure.includes("components") ? flavors : []) {
      const configuration = usualOf(configurations, flavor, "signature")!;
      const parts = await attempt(`components, ${flavor}`, () =>
        measureComponents(program, newDevice, unprotected, configuration, runs),
      );
      if (parts) components.push(parts);
    }
    for (const flavor of meter ? (["none", ...flavors] as const) : []) {
      const configuration = flavor === "none" ? undefined : usualOf(configurations, flavor, "signature");
      const watts = await attempt(`power, ${flavor}`, async () =>
        measurePower(program, await newDevice(), configuration, meter!, powerTime),
      );
      if (watts) power.push(watts);
    }
    if (ceilings) {
      roofline = await attempt("memory and arithmetic", async () =>
        measureRoofline(program, unprotected, await newDevice(), ceilings, runs),
      );
    }
  });
  const measured = {
    overheads,
    ...(automatic && { automatic }),
    ...(roofline && { roofline }),
    ...{ components, power, faultFree: alarms },
  };
  return { name, verdict, ...measured, failures };
}

/** Whether the program was right, and protected without a false alarm, another result, or a failure. */
export function isSound({ verdict, overheads, automatic, faultFree, failures }: ProgramResult): boolean {
  return (
    verdict.ok &&
    failures.length === 0 &&
    [...overheads, ...(automatic ? [automatic.predicted, automatic.tuned] : [])].every(
      (each) => "refused" in each || (each.identical && each.detections + each.unverified === 0),
    ) &&
    faultFree.every(({ detections, unverified, different }) => detections + unverified + different === 0)
  );
}
