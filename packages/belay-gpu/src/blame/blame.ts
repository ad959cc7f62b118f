/**
 * Finds who is to blame for wrong results of a kernel: the kernel, the implementation of WebGPU,
 * the driver, or the hardware. Cuts the kernel down first.
 */
import { lineAt } from "../diagnostics/lines.ts";
import { TriedDevice } from "../qualify/deviceRun.ts";
import { examine, mostIterations, mostIterationsOf } from "../qualify/examine.ts";
import type { Dispute, KernelCase } from "../qualify/qualification.ts";
import { createReferenceBuffer } from "../reference/buffers.ts";
import { resolveKernel, type UndecidedResult } from "../reference/referenceKernel.ts";
import { obstacleOn, racingReferenceOf, refuseUnusable, trialOf } from "./dispute.ts";
import { otherText } from "./otherText.ts";
import { smallerModules } from "./smaller.ts";

/** The party that makes the results wrong, or `"nobody"` if they are right. */
export type Culprit =
  | "nobody"
  | "kernel"
  | "implementation"
  | "driver"
  | "driver or implementation"
  | "hardware";

/** The outcome of a dispatch on one device. */
export type Testimony = Pick<KernelCase, "outcome" | "reason" | "wrong">;

/** The verdict on a disputed dispatch, with its evidence. */
export interface BlameVerdict {
  readonly culprit: Culprit;
  /** The dispatch, as small as it could be cut. */
  readonly dispute: Dispute;
  readonly evidence: {
    /** The reason why the specification does not fix the results of the kernel, if it does not. */
    readonly kernel?: string;
    /** The runs of the kernel on the device. */
    readonly device: readonly Testimony[];
    /** The kernel with another text of the same meaning, or its own one, on the same device. */
    readonly otherText?: Testimony;
    /** The kernel on a device that computes on the CPU. */
    readonly software?: Testimony;
  };
}

/** The devices and the limits of `blame`. */
export interface BlameOptions {
  readonly device: GPUDevice;
  /** A device with another driver, which computes on the CPU. Not asked beyond its limits. */
  readonly software?: GPUDevice | undefined;
  /** The time for cutting the kernel down, in milliseconds. Default: 20,000. */
  readonly milliseconds?: number;
  /** Returns the text that the device runs in place of the kernel's. Default: the kernel's. */
  readonly textFor?: (source: string) => string | undefined;
  readonly onProgress?: ((doing: string) => void) | undefined;
}

/** The number of runs that show whether results are the same in each. */
const runs = 5;

/**
 * Blames somebody for the results of a dispatch. Rejects with a `TypeError` for a dispatch that
 * `refuseUnusable` refuses, and for one that takes the executor too long.
 */
export async function blame(
  dispute: Dispute,
  { device, software, milliseconds = 20_000, textFor, onProgress = () => {} }: BlameOptions,
): Promise<BlameVerdict> {
  refuseUnusable(dispute, device);
  const tried = new TriedDevice(device, undefined);
  onProgress("asking the executor");
  const { judged, doubt } = judgeable(dispute);
  const kernel = resolveKernel(judged);
  const isAccepted = software && obstacleOn(software, kernel, trialOf(judged, kernel)) === undefined;
  const other = isAccepted && new TriedDevice(software, undefined);
  try {
    const repeated: Testimony[] = [];
    const onDevice = (each: Dispute) => testimonyOf(tried, each, textFor?.(each.source));
    onProgress("running the kernel");
    for (let run = 0; run < runs; run++) repeated.push(await onDevice(judged));
    const isWrong = repeated.some(({ outcome }) => outcome === "differs");
    const isSteady = new Set(repeated.map((each) => JSON.stringify(each))).size === 1;
    onProgress("cutting the kernel down");
    const small =
      doubt !== undefined
        ? await cutDown(judged, milliseconds, async (each) => undecidedBy(each)?.reason === doubt)
        : isWrong && isSteady
          ? await cutDown(judged, milliseconds, async (each) => {
              const { outcome } = await onDevice(each);
              return outcome === "differs" && undecidedBy(each) === undefined;
            })
          : judged;
    onProgress("asking others");
    const again = isSteady && small !== judged ? [await onDevice(small)] : [];
    const second = textFor ? small.source : otherText(small.source);
    const open = doubt ?? repeated.find(({ outcome }) => outcome === "undecided")?.reason;
    const evidence: BlameVerdict["evidence"] = {
      ...(open !== undefined && { kernel: open }),
      device: again.length > 0 ? repeated.map(() => again[0]!) : repeated,
      ...(second !== undefined && { otherText: await testimonyOf(tried, small, second) }),
      ...(other && { software: await testimonyOf(other, small) }),
    };
    const culprit = culpritOf(evidence, isSteady);
    if (culprit === "nobody" && judged !== dispute)
      throw new TypeError(
        `${tooLong(dispute)}, and the results of ${judged.workgroups.join(" × ")} of its workgroups are right`,
      );
    return { culprit, dispute: small, evidence };
  } finally {
    tried.end();
    if (other) other.end();
  }
}

/** Returns whom the evidence speaks against. */
export function culpritOf(
  { kernel, device, software }: BlameVerdict["evidence"],
  isSteady: boolean,
): Culprit {
  if (kernel !== undefined) return "kernel";
  if (device.every(({ outcome }) => outcome !== "differs" && outcome !== "failed")) return "nobody";
  if (!isSteady) return "hardware";
  if (!software) return "driver or implementation";
  return software.outcome === "agrees" ? "driver" : "implementation";
}

/** Runs a dispatch on a device, perhaps with another text of its kernel. */
async function testimonyOf(
  tried: TriedDevice,
  dispute: Dispute,
  text: string = dispute.source,
): Promise<Testimony> {
  const { outcome, reason, wrong } = await examine(tried, {
    name: dispute.entryPoint ?? "kernel",
    kernel: dispute,
    onDevice: { ...dispute, source: text },
    isBuiltIn: false,
    trials: (resolved) => [trialOf(dispute, resolved)],
  });
  return { outcome, ...(reason !== undefined && { reason }), ...(wrong && { wrong }) };
}

/**
 * Returns the dispatch, or the part of its grid that the executor takes about a second for. Also
 * returns the reason why the specification does not fix its results, if it does not.
 */
function judgeable(dispute: Dispute): { readonly judged: Dispute; readonly doubt: string | undefined } {
  for (let judged = dispute; ; ) {
    const undecided = undecidedBy(judged);
    if (!undecided?.byBudget) return { judged, doubt: undecided?.reason };
    const [x, y, z] = judged.workgroups;
    const most = Math.max(x, y, z);
    if (most === 1) {
      const { line } = lineAt(judged.source, undecided.at);
      throw new TypeError(`${tooLong(dispute)}: one workgroup does not end there (line ${line})`);
    }
    const longest = judged.workgroups.indexOf(most);
    judged = halvedGrid(judged, longest);
  }
}

const tooLong = ({ workgroups }: Dispute) =>
  `the dispatch of ${workgroups.join(" × ")} workgroups takes more than ${mostIterations} iterations, calls and invocations, and the executor gives up`;

/** Returns a dispatch with half of its grid in one dimension. */
const halvedGrid = (dispute: Dispute, halved: number): Dispute => ({
  ...dispute,
  workgroups: dispute.workgroups.map((each, i) => (i === halved ? each >> 1 : each)) as [
    number,
    number,
    number,
  ],
});

/**
 * Executes a dispatch. Returns why the specification does not fix its results: a race, an index out
 * of bounds, rounding. Undefined if it does.
 */
function undecidedBy(dispute: Dispute): UndecidedResult | undefined {
  const resolved = resolveKernel(dispute);
  const reference = racingReferenceOf(dispute, resolved);
  const buffers = trialOf(dispute, resolved).buffers.map(({ group, binding, bytes }) => ({
    group,
    binding,
    buffer: createReferenceBuffer(bytes),
  }));
  const { workgroups } = dispute;
  return reference.run({ workgroups, buffers, iterations: mostIterationsOf(workgroups) }).undecided;
}

/** Cuts a dispatch down while `isDisputed` holds and time is left: grid, text and inputs. */
async function cutDown(
  dispute: Dispute,
  milliseconds: number,
  isDisputed: (dispute: Dispute) => Promise<boolean>,
): Promise<Dispute> {
  const end = performance.now() + milliseconds;
  const stays = async (each: Dispute) => {
    try {
      return await isDisputed(each);
    } catch {
      // Smaller texts may be invalid, or have a construct that the executor lacks.
      return false;
    }
  };
  let small = dispute;
  for (let isSmaller = true; isSmaller && performance.now() < end; ) {
    isSmaller = false;
    for (const each of smallerDispatches(small)) {
      if (performance.now() >= end) break;
      if (!(await stays(each))) continue;
      small = each;
      isSmaller = true;
      break;
    }
  }
  return small;
}

function* smallerDispatches(dispute: Dispute): Generator<Dispute> {
  const { workgroups, buffers } = dispute;
  const [x, y, z] = workgroups;
  if (x * y * z > 1) yield { ...dispute, workgroups: [1, 1, 1] };
  for (const at of [0, 1, 2]) if (workgroups[at]! > 1) yield halvedGrid(dispute, at);
  for (const source of smallerModules(dispute.source)) yield withUsedBuffers({ ...dispute, source });
  for (const [i, { words }] of buffers.entries()) {
    const change = (changed: readonly number[]) => ({
      ...dispute,
      buffers: buffers.map((each, at) => (at === i ? { ...each, words: changed } : each)),
    });
    if (words.length > 4) yield change(words.slice(0, Math.max(4, words.length >> 1)));
    if (words.some((word) => word !== 0)) yield change(words.map(() => 0));
  }
}

/** Returns a dispatch without the buffers that its kernel does not use. */
function withUsedBuffers(dispute: Dispute): Dispute {
  const resolved = resolveKernel(dispute);
  const { buffers } = trialOf({ ...dispute, buffers: [] }, resolved);
  const isUsed = (each: Dispute["buffers"][number]) =>
    buffers.some(({ group, binding }) => group === each.group && binding === each.binding);
  return { ...dispute, buffers: dispute.buffers.filter(isUsed) };
}
