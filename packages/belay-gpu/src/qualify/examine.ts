/** Tries one kernel: on the device, on the reference executor, and word by word. */
import { usesAtomicResults } from "../analysis/atomicResults.ts";
import { messageOf } from "../diagnostics/messageOf.ts";
import { createReferenceBuffer, type ReferenceBuffer } from "../reference/buffers.ts";
import { representatives } from "../reference/intervals.ts";
import { RaceDetector } from "../reference/races.ts";
import {
  type ReferenceKernel,
  type ReferenceOutcome,
  type ReferenceSource,
  type ResolvedKernel,
  referenceOf,
  resolveKernel,
  whyUnsupported,
} from "../reference/referenceKernel.ts";
import { compare, type WordComparison } from "./comparison.ts";
import type { TriedDevice } from "./deviceRun.ts";
import { subgroupSizes } from "./inputs.ts";
import type { Dispute, KernelCase } from "./qualification.ts";
import { laneKernel } from "./suite.ts";
import { builtInTrial, type Trial } from "./trials.ts";

/**
 * The most iterations of loops and calls of functions in a dispatch. The executor takes about a
 * second for them.
 */
const mostIterations = 2 ** 20;

/** A kernel to try. */
export interface Candidate {
  readonly name: string;
  readonly kernel: ReferenceSource;
  /** Another text of the same meaning, which the device runs. Default: that of the kernel. */
  readonly onDevice?: ReferenceSource;
  /** The features that the kernel needs. Default: those that its module enables. */
  readonly needs?: readonly string[];
  /** True if the results are known not to depend on the order of invocations. */
  readonly isBuiltIn: boolean;
  trials(kernel: ResolvedKernel): Iterable<Trial>;
}

/** The results of a trial on the executor, in the order of its bindings. */
interface Execution {
  /** The reason why the specification does not fix the results. */
  readonly undecided?: string;
  /** Absent if no results are known. An undecided trial may have those of one allowed execution. */
  readonly buffers?: readonly ReferenceBuffer[];
}

/** Runs a kernel on the device and on the executor, and compares the words. */
export async function examine(tried: TriedDevice, candidate: Candidate): Promise<KernelCase> {
  const { name, kernel } = candidate;
  let needs = candidate.needs ?? [];
  let resolved: ResolvedKernel;
  let reference: ReturnType<typeof referenceOf>;
  try {
    resolved = resolveKernel(kernel);
    needs = candidate.needs ?? featuresOf(resolved);
    reference = referenceOf(resolved);
  } catch (error) {
    // The kernel has an error, or the page does not allow the executor to compile.
    return { name, outcome: "not-checked", needs, words: 0, reason: messageOf(error) };
  }
  if ("construct" in reference) {
    const reason = whyUnsupported(kernel.source, reference);
    return { name, outcome: "not-checked", needs, words: 0, reason };
  }
  try {
    return { name, needs, ...(await examineTrials(tried, candidate, resolved, reference, needs)) };
  } catch (error) {
    tried.throwIfAborted();
    // The program has given a value that WebGPU or this function does not take.
    if (error instanceof TypeError) throw error;
    return { name, outcome: "failed", needs, words: 0, reason: messageOf(error) };
  }
}

async function examineTrials(
  tried: TriedDevice,
  { kernel, onDevice = kernel, isBuiltIn, trials }: Candidate,
  resolved: ResolvedKernel,
  reference: ReferenceKernel,
  needs: readonly string[],
): Promise<Omit<KernelCase, "name" | "needs">> {
  const pipeline = await tried.compile(onDevice);
  const hasSubgroups = needs.includes("subgroups");
  const sizes = hasSubgroups ? subgroupSizes(tried.device) : [32];
  let words = 0;
  let undecided = "the specification bounds no result for the inputs that were made";
  for (const trial of trials(resolved)) {
    const executions = sizes.flatMap((size) => executionsOf(resolved, reference, trial, size));
    const doubtful = executions.find((each) => each.undecided !== undefined)?.undecided;
    const known = executions.flatMap(({ buffers }) => (buffers ? [buffers] : []));
    undecided = doubtful ?? undecided;
    if (known.length === 0) continue;
    const outputs = await tried.run(pipeline, trial.workgroups, trial.buffers);
    const comparisons = known.map((each) => compareAll(trial, each, outputs));
    const agreeing = comparisons.find(({ wrong }) => !wrong);
    if (agreeing) {
      words += agreeing.words;
      continue;
    }
    const isCertain = isBuiltIn && compareAll(trial, known[0]!, outputs, "checks").wrong !== undefined;
    const doubt = isCertain
      ? undefined
      : (doubtful ??
        (isBuiltIn ? undefined : orderDoubt(resolved, trial, sizes)) ??
        (hasSubgroups && !(await mapsLinearly(tried, resolved.size))
          ? "the device maps invocations to lanes in an order of its own"
          : undefined));
    if (doubt !== undefined) return { outcome: "undecided", words, reason: doubt };
    // Of several sizes of subgroups, the nearest one says most.
    const wrong = comparisons.flatMap((each) => each.wrong ?? []).sort((a, b) => a.wrong - b.wrong)[0]!;
    const reason = `${wrong.place} is ${wrong.actual}, not ${wrong.expected}`;
    return { outcome: "differs", words, reason, wrong, dispute: disputeOf(kernel, trial) };
  }
  return words > 0 ? { outcome: "agrees", words } : { outcome: "undecided", words, reason: undecided };
}

/** Returns a dispatch of a kernel as plain data. */
export const disputeOf = (kernel: ReferenceSource, { workgroups, buffers }: Trial): Dispute => ({
  source: kernel.source,
  ...(kernel.entryPoint !== undefined && { entryPoint: kernel.entryPoint }),
  ...(kernel.constants && { constants: kernel.constants }),
  workgroups,
  buffers: buffers.map(({ group, binding, bytes }) => ({
    group,
    binding,
    words: [...new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)],
  })),
});

/** Returns the features that a module enables, by their names in WebGPU. */
export function featuresOf({ program }: ResolvedKernel): string[] {
  return program.module.directives.flatMap((directive) =>
    directive.kind === "enable"
      ? directive.names.map((name) => (name === "f16" ? "shader-f16" : name.replaceAll("_", "-")))
      : [],
  );
}

/** Executes a trial, and where rounding decides also with numbers that stand for intervals. */
function executionsOf(
  kernel: ResolvedKernel,
  reference: ReferenceKernel,
  trial: Trial,
  subgroupSize: number,
): Execution[] {
  const { undecided, buffers } = execute(reference, trial, subgroupSize);
  if (!undecided) return [{ buffers }];
  if (!undecided.byRounding) return [{ undecided: undecided.reason }];
  return representatives.map((representative) => {
    const allowed = referenceOf(kernel, { representative }) as ReferenceKernel;
    const again = execute(allowed, trial, subgroupSize);
    return { undecided: undecided.reason, ...(!again.undecided && { buffers: again.buffers }) };
  });
}

function execute(
  reference: ReferenceKernel,
  { workgroups, buffers }: Trial,
  subgroupSize: number,
): ReferenceOutcome & { readonly buffers: readonly ReferenceBuffer[] } {
  const bound = buffers.map(({ group, binding, bytes }) => ({
    group,
    binding,
    buffer: createReferenceBuffer(bytes),
  }));
  const outcome = reference.run({
    workgroups,
    buffers: bound,
    subgroupSize,
    iterations: Math.ceil(mostIterations / workgroups.reduce((product, each) => product * each, 1)),
  });
  return { ...outcome, buffers: bound.map(({ buffer }) => buffer) };
}

/** Compares all outputs of a trial, or those with a name. */
function compareAll(
  { buffers }: Trial,
  expected: readonly ReferenceBuffer[],
  outputs: readonly Uint32Array[],
  name?: string,
): WordComparison {
  const written = buffers.flatMap((binding, i) =>
    binding.isOutput ? [{ binding, expected: expected[i]! }] : [],
  );
  const compared = written.map((each, i) => ({ ...each, actual: outputs[i]! }));
  return compare(compared.filter(({ binding }) => name === undefined || binding.name === name));
}

/** Returns the reason why the order of invocations may decide what a kernel stores, if it may. */
function orderDoubt(kernel: ResolvedKernel, trial: Trial, sizes: readonly number[]): string | undefined {
  if (usesAtomicResults(kernel.program, kernel.declaration))
    return "the order of atomic operations may decide its results";
  const racing = referenceOf(kernel, { races: new RaceDetector() }) as ReferenceKernel;
  return sizes.map((size) => execute(racing, trial, size).undecided?.reason).find(Boolean);
}

/**
 * Returns true if invocation `i` of a workgroup has lane `i % size` of a subgroup. The
 * specification leaves the mapping open.
 */
async function mapsLinearly(tried: TriedDevice, [x, y, z]: readonly number[]): Promise<boolean> {
  const kernel = { source: laneKernel.source, constants: { x: x!, y: y!, z: z! } };
  const count = x! * y! * z!;
  const trial = builtInTrial({ ...laneKernel, elements: 2 * count }, resolveKernel(kernel));
  const outputs = await tried.run(await tried.compile(kernel), trial.workgroups, trial.buffers);
  const lanes = outputs[trial.buffers.findIndex(({ name }) => name === "lanes")]!;
  for (let i = 0; i < 2 * count; i++)
    if (lanes[2 * i] !== lanes[0] || lanes[2 * i + 1] !== (i % count) % lanes[0]!) return false;
  return true;
}
