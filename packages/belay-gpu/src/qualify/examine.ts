/** Tries one kernel: on the device, on the reference executor, and word by word. */
import { usesAtomicResults } from "../analysis/atomicResults.ts";
import { reachableFrom, variablesOf } from "../analysis/callGraph.ts";
import { messageOf } from "../diagnostics/messageOf.ts";
import { createReferenceBuffer, type ReferenceBuffer } from "../reference/buffers.ts";
import { representatives } from "../reference/intervals.ts";
import {
  type ReferenceKernel,
  type ReferenceOutcome,
  type ReferenceSource,
  type ResolvedKernel,
  referenceOf,
  resolveKernel,
  roundingsOf,
  whyUnsupported,
} from "../reference/referenceKernel.ts";
import type { TextureContents } from "../reference/textures.ts";
import { compare, type WordComparison } from "./comparison.ts";
import type { TriedDevice } from "./deviceRun.ts";
import { subgroupSizes } from "./inputs.ts";
import type { Dispute, KernelCase } from "./qualification.ts";
import { laneKernel } from "./suite.ts";
import type { TrialTexture } from "./textureTrials.ts";
import { builtInTrial, type Trial } from "./trials.ts";

/**
 * The most iterations of loops, calls of functions, and invocations of a dispatch. The executor
 * takes about a second for them.
 */
export const mostIterations = 2 ** 20;

/** Returns the share of each workgroup in them. */
export const mostIterationsOf = (workgroups: Trial["workgroups"]): number =>
  Math.floor(mostIterations / workgroups.reduce((product, each) => product * each, 1));

/** A kernel to try. */
export interface KernelCandidate {
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

/** The part of this module that has textures. */
type TextureTrials = typeof import("./textureTrials.ts");

/** A kernel that the executor has. */
interface ExecutableKernel {
  readonly resolved: ResolvedKernel;
  readonly reference: ReferenceKernel;
  /** The executors for roundings that the specification allows. */
  readonly rounded: ReturnType<typeof roundingsOf>;
  /** Absent if the kernel has no textures. */
  readonly textures: TextureTrials | undefined;
}

/** The contents of the resources of a trial on the executor, in the order of its bindings. */
interface Contents {
  readonly buffers: readonly ReferenceBuffer[];
  readonly textures: readonly TextureContents[];
}

/** The results of a trial on the executor. */
interface Execution {
  /** The reason why the specification does not fix the results. */
  readonly undecided?: string;
  /** Absent if no results are known. An undecided trial may have those of one allowed execution. */
  readonly contents?: Contents;
}

/** Runs a kernel on the device and on the executor, and compares the words. */
export async function examine(tried: TriedDevice, candidate: KernelCandidate): Promise<KernelCase> {
  const { name, kernel } = candidate;
  let needs = candidate.needs ?? [];
  let resolved: ResolvedKernel;
  let reference: ReturnType<typeof referenceOf>;
  let textures: TextureTrials | undefined;
  try {
    resolved = resolveKernel(kernel);
    needs = candidate.needs ?? featuresOf(resolved);
    reference = referenceOf(resolved);
    if ("construct" in reference && usesTextures(resolved)) {
      textures = await import("./textureTrials.ts");
      reference = referenceOf(resolved, { textures: textures.textureSupport });
    }
  } catch (error) {
    // The kernel has an error, or the page does not allow the executor to compile.
    return { name, outcome: "not-checked", needs, words: 0, reason: messageOf(error) };
  }
  if ("construct" in reference) {
    const reason = whyUnsupported(kernel.source, reference);
    return { name, outcome: "not-checked", needs, words: 0, reason };
  }
  const rounded = roundingsOf(resolved, textures && { textures: textures.textureSupport });
  const executable = { resolved, reference, rounded, textures };
  try {
    return { name, needs, ...(await examineTrials(tried, candidate, executable, needs)) };
  } catch (error) {
    tried.throwIfAborted();
    // The program has given a value that WebGPU or this function does not take.
    if (error instanceof TypeError) throw error;
    return { name, outcome: "failed", needs, words: 0, reason: messageOf(error) };
  }
}

async function examineTrials(
  tried: TriedDevice,
  { kernel, onDevice = kernel, isBuiltIn, trials }: KernelCandidate,
  executable: ExecutableKernel,
  needs: readonly string[],
): Promise<Omit<KernelCase, "name" | "needs">> {
  const pipeline = await tried.compile(onDevice);
  const { resolved, textures } = executable;
  const hasSubgroups = needs.includes("subgroups");
  const sizes = hasSubgroups ? subgroupSizes(tried.device) : [32];
  let words = 0;
  let undecided = "the specification bounds no result for the inputs that were made";
  for (const made of trials(resolved)) {
    const trial = withTextures(made, executable);
    if (!trial) return { outcome: "not-checked", words, reason: "no textures are made for this kernel" };
    const executions = sizes.flatMap((size) => executionsOf(executable, trial, size));
    const doubtful = executions.find((each) => each.undecided !== undefined)?.undecided;
    const known = executions.flatMap(({ contents }) => (contents ? [contents] : []));
    undecided = doubtful ?? undecided;
    if (known.length === 0) continue;
    const images = textures && new textures.DeviceTextures(trial.textures);
    const outputs = await tried.run(pipeline, trial.workgroups, trial.buffers, images);
    const comparisons = known.map((each) => {
      const words = compareAll(trial, each, outputs);
      const texels = images && textures.compareTextures(trial.textures, each.textures, images.outputs);
      return texels ? { words: words.words + texels.words, wrong: words.wrong ?? texels.wrong } : words;
    });
    const agreeing = comparisons.find(({ wrong }) => !wrong);
    if (agreeing) {
      words += agreeing.words;
      continue;
    }
    const isCertain = isBuiltIn && compareAll(trial, known[0]!, outputs, "checks").wrong !== undefined;
    const doubt = isCertain
      ? undefined
      : (doubtful ??
        (isBuiltIn ? undefined : await orderDoubt(executable, trial, sizes)) ??
        (hasSubgroups && !(await mapsLinearly(tried, resolved.size))
          ? "the device maps invocations to lanes in an order of its own"
          : undefined));
    if (doubt !== undefined) return { outcome: "undecided", words, reason: doubt };
    // Of several sizes of subgroups, the nearest one says most.
    const wrong = comparisons.flatMap((each) => each.wrong ?? []).sort((a, b) => a.wrong - b.wrong)[0]!;
    const reason = `${wrong.place} is ${wrong.actual}, not ${wrong.expected}`;
    const dispute = textures ? {} : { dispute: disputeOf(kernel, trial) };
    return { outcome: "differs", words, reason, wrong, ...dispute };
  }
  return words > 0 ? { outcome: "agrees", words } : { outcome: "undecided", words, reason: undecided };
}

function usesTextures({ program, declaration }: ResolvedKernel): boolean {
  const variables = [...variablesOf(program, reachableFrom(program, [declaration]))];
  return variables.some((each) => program.declaredTypeOf(each).kind === "texture");
}

/** A trial with the textures of its kernel. */
type CompleteTrial = Trial & { readonly textures: readonly TrialTexture[] };

/** Adds textures to a trial. Returns undefined if the kernel has some that are not made. */
function withTextures(trial: Trial, { resolved, textures }: ExecutableKernel): CompleteTrial | undefined {
  const made = textures ? textures.texturesFor(resolved, trial.workgroups) : [];
  return made && { ...trial, textures: made };
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
function executionsOf(executable: ExecutableKernel, trial: CompleteTrial, subgroupSize: number): Execution[] {
  const { undecided, contents } = execute(executable, trial, subgroupSize);
  if (!undecided) return [{ contents }];
  const { reason, byRounding } = undecided;
  if (!byRounding) return [{ undecided: reason }];
  return representatives.map((representative) => {
    const reference = executable.rounded(representative);
    const again = execute({ ...executable, reference }, trial, subgroupSize);
    return { undecided: reason, ...(!again.undecided && { contents: again.contents }) };
  });
}

function execute(
  { reference, textures }: ExecutableKernel,
  { workgroups, buffers, textures: images }: CompleteTrial,
  subgroupSize: number,
): ReferenceOutcome & { readonly contents: Contents } {
  const bound = buffers.map(({ group, binding, bytes }) => ({
    group,
    binding,
    buffer: createReferenceBuffer(bytes),
  }));
  const boundTextures = textures?.boundTextures(images) ?? [];
  const outcome = reference.run({
    workgroups,
    buffers: bound,
    textures: boundTextures,
    subgroupSize,
    iterations: mostIterationsOf(workgroups),
  });
  const contents = {
    buffers: bound.map(({ buffer }) => buffer),
    textures: boundTextures.map(({ texture }) => texture),
  };
  return { ...outcome, contents };
}

/** Compares all outputs of a trial, or those with a name. */
function compareAll(
  { buffers }: Trial,
  { buffers: expected }: Contents,
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
async function orderDoubt(
  executable: ExecutableKernel,
  trial: CompleteTrial,
  sizes: readonly number[],
): Promise<string | undefined> {
  const { program, declaration } = executable.resolved;
  if (usesAtomicResults(program, declaration)) return "the order of atomic operations may decide its results";
  // Pages load this part for kernels that are wrong.
  const { RaceDetector } = await import("../reference/races.ts");
  const textures = executable.textures && { textures: executable.textures.textureSupport };
  const parts = { races: new RaceDetector(), ...textures };
  const racing = { ...executable, reference: referenceOf(executable.resolved, parts) as ReferenceKernel };
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
