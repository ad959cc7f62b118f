import type { FaultSite } from "belay-gpu/internal/compiler/contract";
import type { HardenedDevice } from "belay-gpu/internal/runtime/hardenedDevice";
import type { Execution } from "belay-gpu/internal/runtime/injection/injector";
import type { KernelProfile } from "belay-gpu/internal/runtime/injection/profiler";
import { Draws } from "./random.ts";

/** An execution as a store keeps it: dispatch, workgroup x, y, z, local index, occurrence, line. */
export type Sample = readonly [number, number, number, number, number, number, number];

type CountedSite = KernelProfile["sites"][number];

/** A site, how often one run executes it, and some executions, each as likely. */
export interface StruckSite
  extends Pick<CountedSite, "id" | "kind" | "span" | "components" | "uniform" | "machinery" | "executions"> {
  readonly samples: readonly Sample[];
}

/** What one run does in a kernel, counted. */
export interface StruckKernel extends Pick<KernelProfile, "kernel" | "entryPoint" | "source" | "iterations"> {
  readonly sites: readonly StruckSite[];
}

/**
 * Runs in which a program may draw more executions than there is room for, before it counts as not
 * deterministic.
 */
const ATTEMPTS = 8;

/**
 * Counts what a program executes. The device counts (`injectFaults: "profile"`). `name` decides
 * which executions are drawn. Returns undefined when runs differ too much in what they execute.
 */
export async function profileOf(
  device: HardenedDevice,
  run: () => Promise<unknown>,
  name: string,
): Promise<StruckKernel[] | undefined> {
  const draws = new Draws(name);
  await run();
  // Only who knows how many executions there are can draw some of them.
  await device.belay.profile({ seed: draws.word() });
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    await run();
    const profile = await device.belay.profile({ seed: draws.word() });
    if (profile.every(({ sites }) => sites.every(isComplete))) return profile.map(toStruckKernel);
  }
  return undefined;
}

/**
 * Whether all executions that were drawn are known. Which ones had room would depend on the order
 * of invocations.
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
 * Whether the kernels of a device have the sites that were counted, so that the counts are theirs
 * too.
 */
export function hasSites({ belay }: HardenedDevice, counted: readonly StruckKernel[]): boolean {
  const present = belay.faultSites();
  return (
    present.length > 0 &&
    present.length === counted.length &&
    counted.every(({ kernel, sites }) => {
      const same = present.find((each) => each.kernel === kernel)?.sites;
      return same?.length === sites.length && sites.every((site, i) => isSame(site, same[i]!));
    })
  );
}

const isSame = (a: StruckSite, b: FaultSite) =>
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
