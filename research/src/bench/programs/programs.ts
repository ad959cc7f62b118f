/**
 * Measures the time that a program waits for verified results. Each policy has a device of its own,
 * and the devices take turns in one process.
 */
import type { Policy } from "belay-gpu";
import { algebra } from "belay-gpu/algebra";
import { auditor } from "belay-gpu/audit";
import { messageOf } from "belay-gpu/internal/diagnostics/messageOf";
import type { AuditReport } from "belay-gpu/internal/runtime/context/auditing";
import { harden } from "belay-gpu/internal/runtime/harden";
import type { HardenedDevice } from "belay-gpu/internal/runtime/hardenedDevice";
import { median, sum } from "simple-statistics";
import { summarize, type Times } from "../measuring/timing.ts";
import { type HostTimes, measureHostTimes } from "./hostTime.ts";
import type { UsedProgram } from "./program.ts";

/** The policies that are compared with the plain device, by name. */
export const comparedPolicies = {
  default: {},
  audited: { audit: auditor() },
  algebra: { algebra: algebra() },
  throw: { onFault: "throw" },
  unprotected: { redundancy: "none" },
  checksum: { redundancy: "none", memory: "checksum" },
  secded128: { redundancy: "none", memory: "secded128" },
  passes: { redundancy: "none", memory: "secded128", memoryCheck: "passes" },
  scrubs: { redundancy: "none", memory: "secded128", memoryCheck: "scrubs", scrubIntervalMs: 1000 },
} as const satisfies Readonly<Record<string, Policy>>;

export type PolicyName = keyof typeof comparedPolicies;

/** A program under one policy. */
export interface PolicyTimes {
  readonly policy: PolicyName;
  readonly times: Times;
  /** The ratio of the medians of wall time: hardened to plain. */
  readonly ratio: number;
  /** The ratio of the sums of wall time, in which rare slow runs count: hardened to plain. */
  readonly total: number;
  /** The milliseconds from hardening to the first result, with compilation. */
  readonly first: number;
  /** The ratio of medians of the first runs after it, during which JavaScript is compiled. */
  readonly early: number;
  /** True if each result had the same bits as on the plain device. */
  readonly identical: boolean;
  /** The number of detected faults. No fault is injected. */
  readonly faults: number;
  /** The copies of earlier contents, and the most GPU memory for them in bytes. */
  readonly copies: number;
  readonly peakBytes: number;
  /** The bytes of buffers that Belay holds at the end, beside the program's. */
  readonly heldBytes: number;
  /** The counts of the policy's audit, if it has one. */
  readonly audit?: AuditReport;
}

export interface ProgramTimes {
  readonly name: string;
  readonly source: string;
  readonly plain: Times;
  readonly plainFirst: number;
  readonly policies: readonly PolicyTimes[];
  /** The reason why the program was not measured. */
  readonly failure?: string;
}

export interface ProgramsResult {
  readonly ok: boolean;
  readonly programs: readonly ProgramTimes[];
  readonly host: readonly ({ readonly device: PolicyName | "plain" } & HostTimes)[];
}

export interface ProgramsOptions {
  readonly newDevice: () => Promise<GPUDevice>;
  readonly programs: readonly UsedProgram[];
  readonly policies: readonly PolicyName[];
  /** The runs on each device, in alternation. */
  readonly runs: number;
  /** The runs before them, after the first one. They do not count. */
  readonly warmup: number;
  /** The calls of which host time is measured. */
  readonly calls: number;
  readonly progress: (doing: string) => void;
  readonly save: (sofar: ProgramsResult) => Promise<void>;
}

/** Returns whether a program ran, with the right bits and without a false alarm. */
export const isSound = ({ failure, policies }: ProgramTimes): boolean =>
  failure === undefined &&
  policies.every(({ identical, faults, audit }) => identical && faults === 0 && !audit?.disagreed);

/** Measures all programs, and host time per call. */
export async function measurePrograms(options: ProgramsOptions): Promise<ProgramsResult> {
  const { programs, policies, newDevice, runs, calls, progress, save } = options;
  const all: ProgramTimes[] = [];
  const result = (host: ProgramsResult["host"]): ProgramsResult => ({
    ok: all.every(isSound),
    programs: all,
    host,
  });
  for (const program of programs) {
    progress(program.name);
    all.push(await measureProgram(program, options));
    await save(result([]));
  }
  progress("host time");
  const names = ["plain", ...policies] as const;
  const devices = await Promise.all(names.map(async (name) => deviceFor(name, await newDevice())));
  const times = calls > 0 ? await measureHostTimes(devices, { calls, runs }) : [];
  for (const device of devices) device.destroy();
  return result(times.map((each, i) => ({ device: names[i]!, ...each })));
}

const deviceFor = (name: PolicyName | "plain", device: GPUDevice): GPUDevice =>
  name === "plain" ? device : harden(device, comparedPolicies[name]);

/** A device with the program on it, and the times so far. */
interface Runner {
  readonly name: PolicyName | "plain";
  readonly device: GPUDevice;
  /** Returns the bytes of all buffers that exist on the device. */
  readonly held: () => number;
  readonly run: () => Promise<ArrayLike<number>>;
  readonly first: number;
  readonly early: number[];
  readonly milliseconds: number[];
  identical: boolean;
}

/**
 * Returns a function that returns the bytes of all buffers that a device creates from now on,
 * without those that were destroyed.
 */
function countHeld(device: GPUDevice): () => number {
  const { createBuffer } = device;
  const sizes = new Map<GPUBuffer, number>();
  device.createBuffer = (descriptor) => {
    const buffer = createBuffer.call(device, descriptor);
    const { destroy } = Object.getPrototypeOf(buffer) as GPUBuffer;
    buffer.destroy = () => {
      sizes.delete(buffer);
      return destroy.call(buffer);
    };
    sizes.set(buffer, descriptor.size);
    return buffer;
  };
  return () => [...sizes.values()].reduce((sum, size) => sum + size, 0);
}

async function measureProgram(
  program: UsedProgram,
  { newDevice, policies, runs, warmup }: ProgramsOptions,
): Promise<ProgramTimes> {
  const { name, source } = program;
  const runners: Runner[] = [];
  try {
    let expected: ArrayLike<number> = [];
    for (const policy of ["plain", ...policies] as const) {
      const native = await newDevice();
      const held = countHeld(native);
      const start = performance.now();
      const device = deviceFor(policy, native);
      const { run } = await program.prepare(device);
      const result = await run();
      if (policy === "plain") expected = result;
      const first = performance.now() - start;
      // A report waits until sums of products are found.
      if (policy === "algebra") await (device as HardenedDevice).belay.report();
      runners.push({
        name: policy,
        device,
        held,
        run,
        first,
        early: [],
        milliseconds: [],
        identical: isSame(result, expected),
      });
    }
    for (let i = 0; i < warmup + runs; i++) {
      for (const runner of runners) {
        const start = performance.now();
        const result = await runner.run();
        const times = i < warmup ? runner.early : runner.milliseconds;
        times.push(performance.now() - start);
        runner.identical &&= isSame(result, expected);
      }
    }
    const [plain, ...hardened] = runners as [Runner, ...Runner[]];
    return {
      name,
      source,
      plain: summarize(plain.milliseconds),
      plainFirst: plain.first,
      policies: await Promise.all(hardened.map((runner) => timesOf(runner, plain))),
    };
  } catch (error) {
    const none = { median: 0, lower: 0, upper: 0 };
    return { name, source, plain: none, plainFirst: 0, policies: [], failure: messageOf(error) };
  } finally {
    for (const { device } of runners) device.destroy();
  }
}

async function timesOf(runner: Runner, plain: Runner): Promise<PolicyTimes> {
  const { faults, snapshots, audit } = await (runner.device as HardenedDevice).belay.report();
  const times = summarize(runner.milliseconds);
  return {
    policy: runner.name as PolicyName,
    times,
    ratio: times.median / summarize(plain.milliseconds).median,
    total: sum(runner.milliseconds) / sum(plain.milliseconds),
    first: runner.first,
    early: earlyMedian(runner) / earlyMedian(plain),
    identical: runner.identical,
    faults: faults.length,
    copies: snapshots.taken,
    peakBytes: snapshots.peak,
    heldBytes: runner.held() - plain.held(),
    ...(audit && { audit }),
  };
}

/** The runs after the first one that show how a program begins. */
const EARLY_RUNS = 7;

const earlyMedian = ({ early, milliseconds }: Runner): number =>
  median([...early, ...milliseconds].slice(0, EARLY_RUNS));

/** Returns true if two results are the same numbers, with their signs and NaN. */
export function isSame(a: ArrayLike<number>, b: ArrayLike<number>): boolean {
  return a.length === b.length && Array.from(a).every((each, i) => Object.is(each, b[i]));
}
