/** Tries whether a device computes kernels as the WGSL specification defines them. */
import { listOf, longWork, refuseUnknown } from "../diagnostics/options.ts";
import type { Progress } from "../diagnostics/progress.ts";
import { TriedDevice } from "./deviceRun.ts";
import { examine, type KernelCandidate } from "./examine.ts";
import { subgroupSizes } from "./inputs.ts";
import type { KernelCase, KernelToQualify, Qualification } from "./qualification.ts";
import { builtInKernels } from "./suite.ts";
import { builtInTrial, trialsOf } from "./trials.ts";

/** The progress of `qualify`. Its steps are kernels, which end in any order. */
export interface QualifyProgress extends Progress {
  /** The kernel that was tried last. Undefined at the beginning. */
  readonly finished?: KernelCase;
}

/** The options of `qualify`. */
export interface QualifyOptions {
  /** The kernels of the program. The built-in ones are tried in any case. */
  readonly kernels?: readonly KernelToQualify[];
  /** The signal that ends the trial. `qualify` then rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** The listener to call at the beginning, and after each kernel. */
  readonly onProgress?: ((progress: QualifyProgress) => void) | undefined;
}

/**
 * Tries whether a device computes right. Runs built-in kernels and those of the program on the
 * device and on the reference executor, and compares each word. The result holds for this device
 * object.
 *
 * Errors of the device become reasons of the result. Rejects with a `TypeError` for an argument
 * that is no device and for invalid options, and with the signal's reason.
 */
export async function qualify(device: GPUDevice, options: QualifyOptions = {}): Promise<Qualification> {
  if (typeof device?.createComputePipeline !== "function")
    throw new TypeError("only a GPUDevice can be qualified");
  const isKernel = (each: unknown) => typeof (each as KernelToQualify | null)?.source === "string";
  refuseUnknown(options, { kernels: listOf("kernels with a source", isKernel), ...longWork });
  options.signal?.throwIfAborted();
  const tried = new TriedDevice(device, options.signal);
  try {
    const candidates = [...builtInCandidates(device), ...ownCandidates(options.kernels ?? [], device)];
    const total = candidates.length;
    let done = 0;
    options.onProgress?.({ done, total, doing: "trying kernels" });
    const tryKernel = async (each: KernelCandidate) => {
      const finished = await examine(tried, each);
      options.onProgress?.({ done: ++done, total, doing: "trying kernels", finished });
      return finished;
    };
    // All of them end before the result, so that no buffer is left.
    const settled = await Promise.allSettled(candidates.map(tryKernel));
    const failed = settled.find((each) => each.status === "rejected");
    if (failed) throw failed.reason;
    return conclude(settled.flatMap((each) => (each.status === "fulfilled" ? [each.value] : [])));
  } finally {
    tried.end();
  }
}

/** Returns the built-in kernels for a device. */
export function builtInCandidates({ features }: GPUDevice): KernelCandidate[] {
  const isOptional = (feature: string) => feature === "subgroups" || feature === "shader-f16";
  return builtInKernels
    .filter(({ needs = [] }) => needs.every((each) => !isOptional(each) || features.has(each)))
    .flatMap((builtIn) =>
      (builtIn.variants ?? [{}]).map((constants) => ({
        name: [builtIn.name, Object.values(constants).join("×")].filter(Boolean).join(", "),
        kernel: { source: builtIn.source, constants },
        needs: builtIn.needs ?? [],
        isBuiltIn: true,
        trials: (kernel) => [builtInTrial(builtIn, kernel)],
      })),
    );
}

/** Returns the kernels of the program. */
export function ownCandidates(kernels: readonly KernelToQualify[], device: GPUDevice): KernelCandidate[] {
  const lanes = subgroupSizes(device).at(-1)!;
  if (!kernels.every(({ workgroups }) => workgroups === undefined || isGrid(workgroups)))
    throw new TypeError("the workgroups of a kernel are three whole numbers, as in [16, 1, 1]");
  return kernels.map((kernel, i) => ({
    name: kernel.name ?? kernel.entryPoint ?? `kernel ${i + 1}`,
    kernel,
    isBuiltIn: false,
    trials: (resolved) => trialsOf(kernel, resolved, lanes),
  }));
}

function isGrid(workgroups: unknown): boolean {
  const isSize = (each: unknown) => Number.isInteger(each) && (each as number) >= 0;
  return Array.isArray(workgroups) && workgroups.length === 3 && workgroups.every(isSize);
}

/** Returns the verdict on a device whose kernels have been tried. */
function conclude(cases: readonly KernelCase[]): Qualification {
  const wrong = cases.filter(({ outcome }) => outcome === "differs" || outcome === "failed");
  const reasons = wrong.map(({ name, outcome, needs, reason }) => {
    const feature = needs.length > 0 ? ` (needs ${needs.join(", ")})` : "";
    return `"${name}"${feature} ${outcome === "differs" ? "computes a wrong word" : "fails"}: ${reason}`;
  });
  const isCompared = cases.some(({ outcome }) => outcome === "agrees");
  if (!isCompared && wrong.length === 0)
    reasons.push(`no kernel could be compared: ${cases.find(({ reason }) => reason)?.reason}`);
  const isBasic = !isCompared || wrong.some(({ needs }) => needs.length === 0);
  return {
    verdict: isBasic ? "not-usable" : wrong.length > 0 ? "usable-without" : "usable",
    without: [...new Set(wrong.flatMap(({ needs }) => needs))],
    reasons,
    cases,
  };
}
