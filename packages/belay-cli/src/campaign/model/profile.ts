import type { CampaignSite } from "belay-gpu/internal/compiler/contract";
import type { CampaignDevice } from "belay-gpu/internal/runtime/hardenedDevice";
import type { Execution } from "belay-gpu/internal/runtime/injection/injector";
import type { KernelProfile } from "belay-gpu/internal/runtime/injection/profiler";
import { Draws } from "./random.ts";

/** The stored form of an execution: dispatch, workgroup x, y, z, local index, occurrence, line. */
export type Sample = readonly [number, number, number, number, number, number, number];

type CountedSite = KernelProfile["sites"][number];

/** A site with its number of executions in one run, and a uniform sample of these executions. */
export interface StruckSite
  extends Pick<CountedSite, "id" | "kind" | "span" | "components" | "uniform" | "machinery" | "executions"> {
  readonly samples: readonly Sample[];
}

/** The executions of one kernel in one run. */
export interface StruckKernel extends Pick<KernelProfile, "kernel" | "entryPoint" | "source" | "iterations"> {
  readonly sites: readonly StruckSite[];
}

/**
 * The number of profiled runs after which a program with incomplete samples counts as
 * nondeterministic.
 */
const ATTEMPTS = 8;

/**
 * Counts the executions of a program's struck kernels on the device (`injectFaults: "profile"`).
 * `name` decides which executions are drawn. Returns undefined when the runs execute too
 * differently.
 */
export async function profileOf(
  device: CampaignDevice,
  run: () => Promise<unknown>,
  name: string,
  isStruck: (kernel: string) => boolean,
): Promise<StruckKernel[] | undefined> {
  const draws = new Draws(name);
  await run();
  // Executions can be drawn only once their number is known.
  await device.belay.profile({ seed: draws.word() });
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    await run();
    const all = await device.belay.profile({ seed: draws.word() });
    const profile = all.filter(({ kernel }) => isStruck(kernel));
    if (profile.every(({ sites }) => sites.every(isComplete))) return profile.map(toStruckKernel);
  }
  return undefined;
}

/**
 * Returns whether the profile holds every drawn execution. Otherwise the order of invocations would
 * decide which executions it holds.
 */
const isComplete = ({ executions, drawn, samples }: CountedSite): boolean =>
  samples.length === drawn && (executions === 0 || drawn > 0);

const toStruckKernel = ({ kernel, entryPoint, source, iterations, sites }: KernelProfile): StruckKernel => ({
  kernel,
  entryPoint,
  source,
  iterations,
  sites: sites.map(({ id, kind, span, components, uniform, machinery, executions, samples }) => ({
    id,
    kind,
    span,
    components,
    uniform,
    executions,
    ...(machinery && { machinery }),
    samples: samples.map(toSample),
  })),
});

/**
 * Returns whether a device's struck kernels have the counted sites, so that the counts also hold
 * for them.
 */
export function hasSites(
  { belay }: CampaignDevice,
  counted: readonly StruckKernel[],
  isStruck: (kernel: string) => boolean,
): boolean {
  const present = belay.faultSites().filter(({ kernel }) => isStruck(kernel));
  return (
    present.length > 0 &&
    present.length === counted.length &&
    counted.every(({ kernel, sites }) => {
      const same = present.find((each) => each.kernel === kernel)?.sites;
      return same?.length === sites.length && sites.every((site, i) => isSame(site, same[i]!));
    })
  );
}

const isSame = (a: StruckSite, b: CampaignSite) =>
  a.id === b.id &&
  a.kind === b.kind &&
  a.machinery === b.machinery &&
  a.uniform === b.uniform &&
  a.components === b.components &&
  a.span.start === b.span.start &&
  a.span.end === b.span.end;

const toSample = ({ dispatch = 0, workgroup, localIndex, occurrence = 0, line = 0 }: Execution): Sample => [
  dispatch,
  ...workgroup,
  localIndex,
  occurrence,
  line,
];

export const toExecution = ([
  dispatch,
  x,
  y,
  z,
  localIndex,
  occurrence,
  line,
]: Sample): Required<Execution> => ({
  dispatch,
  localIndex,
  occurrence,
  line,
  workgroup: [x, y, z],
});
