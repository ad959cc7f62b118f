import type { KernelReport } from "belay-gpu/internal/runtime/belay";
import type { DetectedFault } from "belay-gpu/internal/runtime/context/detectedFault";
import { harden } from "belay-gpu/internal/runtime/harden";
import type { HardenedDevice } from "belay-gpu/internal/runtime/hardenedDevice";
import type { ArmedFault } from "belay-gpu/internal/runtime/injection/injector";
import { findDifference } from "belay-gpu/internal/runtime/tuning/outputDifference";
import type { Outputs, Prepared, VerifiableProgram } from "belay-gpu/internal/runtime/tuning/workload";
import type { AdapterChoice, OpenedGpu } from "belay-node/internal/adapter";
import { newDevice } from "belay-node/internal/newDevice";
import { median } from "simple-statistics";
import type { PolicyFlags } from "../../shared/options.ts";
import type { CatalogEntry } from "../../shared/research.ts";
import { rememberPipelines } from "../../shared/workloads/rememberPipelines.ts";
import { policyFrom, runUnlessRefused, runWorkload } from "../../shared/workloads/runWorkload.ts";

/** The result of a demo: the output of `belay demo --json` and the source of its report. */
export interface DemoResult {
  /** True if every program gave the right results and its injected fault was caught. */
  readonly ok: boolean;
  readonly date: string;
  readonly node: string;
  readonly platform: string;
  readonly adapter: AdapterChoice;
  readonly policy: PolicyFlags;
  readonly size: ProgramSize;
  readonly programs: readonly Demonstration[];
}

export type ProgramSize = "small" | "full";

/** The outcome of one program: unprotected, protected, and protected with a fault. */
export interface Demonstration {
  readonly name: string;
  readonly kernels: readonly KernelReport[];
  /**
   * The comparison of the protected results with the unprotected ones. The outcome `"right"` means
   * correct, but rounded differently, because WGSL leaves the fusing of operations to the driver.
   * The message of `"wrong"` gives the reason.
   */
  readonly results: { readonly outcome: "identical" | "right" | "wrong"; readonly message: string };
  readonly injection: Injection;
  readonly milliseconds: DemoTimes;
}

export interface Injection {
  /**
   * The outcome of the fault. `"recovered"`: corrected before the program saw results. `"refused"`:
   * results held back. `"silent"`: wrong results that nobody noticed. `"none"`: no fault changed a
   * result.
   */
  readonly outcome: "recovered" | "refused" | "silent" | "none";
  /** The number of earlier faults that struck nothing or changed no result. */
  readonly harmless: number;
  readonly armed?: ArmedFault;
  /** The WGSL of the struck kernel. `struck` is the place of the struck value in it. */
  readonly source?: string;
  readonly struck?: { readonly start: number; readonly end: number };
  readonly fault?: DetectedFault;
}

/** Returns whether the results are right and the fault was caught. */
export function succeeded({ results, injection: { outcome } }: Demonstration): boolean {
  return results.outcome !== "wrong" && (outcome === "recovered" || outcome === "refused");
}

/** Runs one program unprotected, protected, and with a fault, each on a device of its own. */
export async function demonstrate(
  entry: CatalogEntry,
  size: ProgramSize,
  opened: OpenedGpu,
  policy: PolicyFlags,
): Promise<Demonstration> {
  const plain = await newDevice(opened);
  const program = size === "small" ? entry.small() : entry.full(plain.limits);
  const expected = await runWorkload(program.workload, plain);

  const native = await newDevice(opened);
  const device = await harden(native, policyFrom(policy));
  const results = judge(program, expected, await runWorkload(program.workload, device));
  const milliseconds = await timeAlternately(program, plain, device);
  const { kernels } = await device.belay.report();
  plain.destroy();
  native.destroy();

  const struckNative = await newDevice(opened);
  const struckDevice = await harden(struckNative, { ...policyFrom(policy), injectFaults: true });
  const injection = await injectOne(program, struckDevice);
  struckNative.destroy();

  return {
    name: entry.name,
    kernels,
    results,
    injection,
    milliseconds,
  };
}

function judge(program: VerifiableProgram, expected: Outputs, actual: Outputs): Demonstration["results"] {
  const { ok, message } = program.verify(actual);
  if (!ok) return { outcome: "wrong", message };
  return { outcome: findDifference(expected, actual) === undefined ? "identical" : "right", message };
}

/**
 * Flips one bit of one value of one replica. Tries another fault while no result changes and
 * nothing is detected.
 */
async function injectOne(program: VerifiableProgram, device: HardenedDevice): Promise<Injection> {
  const faults: DetectedFault[] = [];
  device.belay.addEventListener("fault", ({ detail }) => faults.push(detail));
  // Every run uses the same kernels, and compiling them takes most of a run's time.
  const remembering = rememberPipelines(device);
  // Kernels and their sites are known only after a run.
  const expected = await runWorkload(program.workload, remembering);
  const { kernels } = await device.belay.report();
  const dispatches = new Map(kernels.map(({ kernel, dispatches }) => [kernel, dispatches]));
  let harmless = 0;
  for (const { armed, entryPoint, span } of candidates(device, dispatches)) {
    device.belay.arm(armed);
    const place = { armed, source: sourceOf(program, entryPoint), struck: span, harmless };
    const outputs = await runUnlessRefused(program.workload, remembering);
    const isWrong = outputs !== undefined && findDifference(expected, outputs) !== undefined;
    const [fault] = faults;
    if (isWrong) return { ...place, outcome: "silent" };
    if (fault) return { ...place, outcome: outputs ? "recovered" : "refused", fault };
    harmless++;
  }
  return { outcome: "none", harmless };
}

const maxCandidates = 96;

/**
 * Returns faults worth trying: a middle bit of each value, then its last bit. Each bit is tried in
 * a kernel's first dispatch and in one halfway. Values computed last come first, because late
 * values reach the results. Kernels take turns.
 */
function candidates({ belay }: HardenedDevice, dispatches: ReadonlyMap<string, number>) {
  const places = [
    { workgroup: [1, 0, 0], localIndex: 5 },
    { workgroup: [0, 0, 0], localIndex: 0 },
  ] as const;
  return [1 << 20, 1]
    .flatMap((xor) => [0, 0.5].map((part) => ({ xor, part })))
    .flatMap(({ xor, part }) =>
      interleave(
        belay.faultSites().map(({ kernel, entryPoint, sites }) =>
          sites.toReversed().flatMap(({ id, kind, span }) =>
            (kind === "value" ? places : []).map((place) => {
              const dispatch = Math.floor(part * (dispatches.get(kernel) ?? 0));
              const armed: ArmedFault = {
                kernel,
                site: id,
                replica: 1,
                effect: { xor },
                dispatch,
                ...place,
              };
              return { armed, entryPoint, span };
            }),
          ),
        ),
      ),
    )
    .slice(0, maxCandidates);
}

/** Returns the first item of each list, then the second of each, and so on. */
function interleave<Each>(lists: readonly (readonly Each[])[]): Each[] {
  const longest = Math.max(0, ...lists.map(({ length }) => length));
  return Array.from({ length: longest }, (_, i) => lists.flatMap((list) => list.slice(i, i + 1))).flat();
}

function sourceOf({ kernelSources }: VerifiableProgram, entryPoint: string): string {
  const declaration = new RegExp(`\\bfn\\s+${entryPoint}\\b`);
  return Object.values(kernelSources).find((source) => declaration.test(source)) ?? "";
}

/** The median times of one run, in milliseconds. */
export interface DemoTimes {
  readonly unprotected: number;
  readonly protected: number;
}

const timedBatches = 5;
/**
 * The intended duration of a batch in milliseconds. Shorter times tell more of the host than of the
 * GPU.
 */
const batchMilliseconds = 10;
const maxBatch = 128;
/**
 * The time for which a GPU runs at a fraction of its clocks after waiting for the host, in
 * milliseconds.
 */
const warmUpMilliseconds = 300;

/**
 * Returns the median time of a run on each of two devices, which take turns. The time is from
 * submission until the results may be read. Short runs are submitted in batches.
 */
export async function timeAlternately(
  program: VerifiableProgram,
  plain: GPUDevice,
  hardened: GPUDevice,
): Promise<DemoTimes> {
  const [onPlain, onHardened] = [program.prepare(plain), program.prepare(hardened)];
  await timeOfBatch(onHardened, hardened, 1);
  const began = performance.now();
  let shortest = await timeOfBatch(onPlain, plain, 1);
  while (performance.now() - began < warmUpMilliseconds)
    shortest = Math.min(shortest, await timeOfBatch(onPlain, plain, 1));
  const runs = Math.min(maxBatch, Math.ceil(batchMilliseconds / shortest));

  const times: { unprotected: number; protected: number }[] = [];
  for (let batch = 0; batch < timedBatches; batch++)
    times.push({
      unprotected: (await timeOfBatch(onPlain, plain, runs)) / runs,
      protected: (await timeOfBatch(onHardened, hardened, runs)) / runs,
    });
  onPlain.destroy();
  onHardened.destroy();
  return {
    unprotected: median(times.map(({ unprotected }) => unprotected)),
    protected: median(times.map((each) => each.protected)),
  };
}

/** Restores the inputs once, and returns the milliseconds that consecutive runs take together. */
async function timeOfBatch(prepared: Prepared, device: GPUDevice, runs: number): Promise<number> {
  prepared.reset?.();
  await device.queue.onSubmittedWorkDone();
  const start = performance.now();
  const encoder = device.createCommandEncoder();
  for (let run = 0; run < runs; run++) prepared.encode(encoder);
  device.queue.submit([encoder.finish()]);
  await device.queue.onSubmittedWorkDone();
  return performance.now() - start;
}
