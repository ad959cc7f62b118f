/**
 * The measurements of Wadden et al., "Real-world design and evaluation of compiler-managed GPU redundant multithreading",
 * ISCA 2014, sections 6 to 8: figures 2 to 7 and 9.
 */
import type { Outputs, Program, Verdict } from "../runtime/workload.ts";
import { type CeilingSize, type Ceilings, measureCeilings } from "./ceilings.ts";
import { type Components, measureComponents } from "./components.ts";
import { type Configuration, configurationsFor, type Flavor, nameOf, usualOf } from "./configurations.ts";
import { countFalseAlarms, type FaultFree } from "./faultFree.ts";
import { measureOverhead, type Overhead, type Refusal } from "./overhead.ts";
import { findPowerMeter, measurePower, type Power, type PowerMeter } from "./power.ts";
import { measureRoofline, type Roofline } from "./roofline.ts";
import { TimedProgram } from "./timing.ts";

/** What can be measured, each for itself; figures 2, 6 and 9 are `overhead`, 3 `roofline`, 4 and 7 `components`, 5 `power`. */
export const measurements = ["overhead", "roofline", "components", "power"] as const;
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
}

/** A configuration in which a program failed. */
export interface Failure extends Configuration {
  readonly failed: string;
}

export interface ProgramResult {
  readonly name: string;
  readonly work: Program["work"];
  /** Of the unprotected program, against the CPU. */
  readonly verdict: Verdict;
  readonly overheads: readonly (Overhead | Refusal | Failure)[];
  readonly roofline?: Roofline;
  readonly components: readonly Components[];
  readonly power: readonly Power[];
  readonly faultFree: readonly (FaultFree | Failure)[];
}

export interface RmtResult {
  readonly ok: boolean;
  readonly ceilings?: Ceilings;
  /** Where power readings come from; null where there are none. */
  readonly powerSource: string | null;
  readonly programs: readonly ProgramResult[];
}

/** Measures every program. Rejects only when an unprotected program cannot be run. */
export async function measureRmt(options: RmtOptions): Promise<RmtResult> {
  const { newDevice, size, measure, runs, progress } = options;
  progress("ceilings");
  const probe = await newDevice();
  const configurations = configurationsFor(probe.features).filter(({ redundancy }) =>
    options.flavors.includes(redundancy),
  );
  const ceilings = measure.includes("roofline") ? await measureCeilings(probe, size, runs) : undefined;
  probe.destroy();
  const meter = measure.includes("power") ? await findPowerMeter() : undefined;
  const programs: ProgramResult[] = [];
  for (const { name, create } of options.programs) {
    progress(name);
    programs.push(await measureProgram(name, create(), options, { configurations, ceilings, meter }));
  }
  return {
    ok: programs.every(isSound),
    ...(ceilings && { ceilings }),
    powerSource: meter?.source ?? null,
    programs,
  };
}

interface Conditions {
  readonly configurations: readonly Configuration[];
  readonly ceilings: Ceilings | undefined;
  readonly meter: PowerMeter | undefined;
}

async function measureProgram(
  name: string,
  program: Program,
  { newDevice, measure, flavors, runs, faultFree, powerTime, progress }: RmtOptions,
  { configurations, ceilings, meter }: Conditions,
): Promise<ProgramResult> {
  using unprotected = new TimedProgram(program, await newDevice());
  await unprotected.run();
  const expected: Outputs = await unprotected.read();
  const verdict = program.verify(expected);

  const attempt = async <T>(
    what: string,
    configuration: Configuration,
    work: () => Promise<T>,
  ): Promise<T | Failure> => {
    progress(`${name}: ${what}, ${nameOf(configuration)}`);
    try {
      return await work();
    } catch (error) {
      return { ...configuration, failed: (error as { message?: string }).message ?? String(error) };
    }
  };

  const overheads: ProgramResult["overheads"][number][] = [];
  const alarms: ProgramResult["faultFree"][number][] = [];
  for (const configuration of configurations) {
    const isUsual = usualOf(configurations, configuration.redundancy, configuration.check) === configuration;
    if (measure.includes("overhead") || (measure.includes("components") && isUsual)) {
      const run = async () =>
        measureOverhead(program, await newDevice(), { unprotected, expected }, configuration, runs);
      overheads.push(await attempt("overhead", configuration, run));
    }
    if (faultFree > 0) {
      const run = async () =>
        countFalseAlarms(program, await newDevice(), expected, configuration, faultFree);
      const counted = await attempt("false alarms", configuration, run);
      if (counted) alarms.push(counted);
    }
  }

  const components: Components[] = [];
  for (const flavor of measure.includes("components") ? flavors : []) {
    progress(`${name}: components, ${flavor}`);
    const configuration = usualOf(configurations, flavor, "signature")!;
    components.push(await measureComponents(program, newDevice, unprotected, configuration, runs));
  }
  const power: Power[] = [];
  for (const flavor of meter ? (["none", ...flavors] as const) : []) {
    progress(`${name}: power, ${flavor}`);
    const configuration = flavor === "none" ? undefined : usualOf(configurations, flavor, "signature");
    const measured = await measurePower(program, await newDevice(), configuration, meter!, powerTime);
    if (measured) power.push(measured);
  }
  progress(`${name}: memory and arithmetic`);
  const roofline =
    ceilings && (await measureRoofline(program, unprotected, await newDevice(), ceilings, runs));
  return {
    name,
    work: program.work,
    verdict,
    overheads,
    ...(roofline && { roofline }),
    components,
    power,
    faultFree: alarms,
  };
}

/** Whether the program was right, and protected without a false alarm, a failure or another result. */
export function isSound({ verdict, overheads, faultFree }: ProgramResult): boolean {
  return (
    verdict.ok &&
    overheads.every(
      (each) => "refused" in each || ("ratio" in each && each.identical && each.detections === 0),
    ) &&
    faultFree.every((each) => "runs" in each && each.detections === 0 && each.different === 0)
  );
}
