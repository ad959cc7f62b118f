/** Ranks codes for `memory: "auto"` by their predicted cost, with the reasons. */
import { bindingPointOf } from "../analysis/bindings.ts";
import { functionsOf, stageOf } from "../analysis/callGraph.ts";
import { assumedTrips } from "../analysis/loopTrips.ts";
import { addressSpaceOf } from "../analysis/places.ts";
import { runSubgroups, type SubgroupRun } from "../analysis/subgroup/subgroupRun.ts";
import { hostCodeOf, type MemoryCode, type Schemes, schemes, storageOf } from "../ecc/scheme.ts";
import type { FunctionDeclaration } from "../wgsl/ast.ts";
import { parse } from "../wgsl/parser.ts";
import type { Program } from "../wgsl/program.ts";
import { resolve } from "../wgsl/resolve/index.ts";
import { type CompilerOptions, nameInCode, type ProtectedBinding } from "./contract.ts";
import {
  type KernelTimes,
  passSlowdown,
  type Rates,
  streamedBytes,
  timeOf,
  timesOf,
  usualRates,
} from "./memoryCost.ts";
import { protectInPasses } from "./protect.ts";

/** A code with its predicted cost. */
export interface RankedScheme {
  readonly scheme: MemoryCode;
  /**
   * The predicted time of all kernels with protected memory, relative to that with unprotected
   * memory.
   */
  readonly predicted: number;
  readonly kernels: readonly RankedKernel[];
}

/** The predicted cost of a code for one kernel. */
export interface RankedKernel {
  readonly name: string;
  readonly predicted: number;
  /** The reason for the prediction, as one sentence. */
  readonly reason: string;
  /** The number of buffers that the kernel checks itself. */
  readonly checked: number;
  /** The number of buffers that the host verifies. */
  readonly passVerified: number;
}

/** The codes that correct errors, one for each size of granule. */
export const correctingSchemes: readonly MemoryCode[] = ["secded128", "secded64", "secded32"];

/**
 * The candidates of the automatic choices: codes that correct, or also one that only detects, where
 * work can be re-executed.
 */
const automaticMemory = {
  auto: correctingSchemes,
  "auto-detect": ["checksum", ...correctingSchemes],
} as const satisfies Readonly<Record<string, readonly MemoryCode[]>>;

/** The codes to rank, and the device. */
export interface MemoryChoiceOptions extends Pick<CompilerOptions, "features" | "limits" | "redundancy"> {
  /** The codes to rank. Default: `correctingSchemes`. */
  readonly candidates?: readonly MemoryCode[];
  /** The rates of the device. Default: those of an NVIDIA H200. */
  readonly rates?: Rates;
}

/**
 * Returns the code for the memory of some modules on a device, chosen unless `memory` names one.
 */
export function memoryCodeFor<Given extends MemoryCode | "none">(
  memory: Given | "auto" | "auto-detect",
  sources: readonly string[],
  { features, limits }: Pick<MemoryChoiceOptions, "features" | "limits"> = {},
): Given | MemoryCode {
  if (memory !== "auto" && memory !== "auto-detect") return memory;
  const candidates = automaticMemory[memory];
  return rankSchemes(sources, {
    candidates,
    ...(features && { features }),
    ...(limits && { limits }),
  })[0]!.scheme;
}

/**
 * Returns the codes for the memory of some modules, the one with the lowest predicted cost first.
 * Codes within two percent of each other are ordered by the memory that they take. Modules that are
 * not valid do not count. Costs are GPU time relative to the unprotected modules, by the model of
 * docs/design/cost-model.md.
 */
export function rankSchemes(sources: readonly string[], options: MemoryChoiceOptions = {}): RankedScheme[] {
  return rankAmong(schemes, sources, options);
}

/** Ranks as `rankSchemes` does, among given codes. */
export function rankAmong(
  codes: Schemes,
  sources: readonly string[],
  options: MemoryChoiceOptions,
): RankedScheme[] {
  const { candidates = correctingSchemes, rates = usualRates, ...others } = options;
  const compile = (wgsl: string, memory: MemoryCode | "none") => {
    const { result } = protectInPasses(wgsl, { redundancy: "none", ...others, memory }, { codes });
    return { program: resolve(parse(result.code).module), result };
  };
  const plain = sources.map((wgsl) => compile(wgsl, "none").program);
  const ranked = candidates
    .map((scheme): RankedScheme => {
      const costs = sources.flatMap((wgsl, i) => {
        const { program, result } = compile(wgsl, scheme);
        return kernelsOf(plain[i]!).flatMap((before) => {
          const after = kernelsOf(program).find(({ name }) => name === nameInCode(result, before.name));
          const bindings = result.entryPoints.find(({ name }) => name === before.name)?.memory?.bindings;
          if (!after || !bindings) return [];
          return [costOf({ program: plain[i]!, fn: before }, { program, fn: after }, bindings, rates, codes)];
        });
      });
      const sum = (of: (cost: KernelCost) => number) => costs.reduce((total, cost) => total + of(cost), 0);
      const before = sum(({ time }) => time);
      return {
        scheme,
        predicted: before === 0 ? 1 : sum(({ time, predicted }) => time * predicted) / before,
        kernels: costs.map(({ time, ...kernel }) => kernel),
      };
    })
    .sort((a, b) => a.predicted - b.predicted);
  const first = preferred(ranked, codes);
  return first ? [first, ...ranked.filter((each) => each !== first)] : ranked;
}

/** The ratio of two predictions that counts as a tie. */
const tie = 1.02;

/**
 * Returns the code with the lowest predicted cost. Among those within two percent of it, the one
 * that takes least memory.
 */
function preferred(options: readonly RankedScheme[], codes: Schemes): RankedScheme | undefined {
  const least = Math.min(...options.map(({ predicted }) => predicted));
  const granule = ({ scheme }: RankedScheme) => hostCodeOf(scheme, codes).granuleBytes;
  return options
    .filter(({ predicted }) => predicted <= tie * least)
    .toSorted((a, b) => granule(b) - granule(a))[0];
}

/** The ratio of two predictions up to which a measurement may order them differently. */
const doubt = 1.2;

/** Returns the codes between which only a measurement can decide. */
export function inQuestion(ranked: readonly RankedScheme[]): MemoryCode[] {
  const least = Math.min(...ranked.map(({ predicted }) => predicted));
  return ranked.filter(({ predicted }) => predicted <= doubt * least).map(({ scheme }) => scheme);
}

const kernelsOf = (program: Program) => functionsOf(program).filter((fn) => stageOf(fn) === "compute");

interface KernelCost extends RankedKernel {
  /** The predicted seconds of an invocation of the unprotected kernel. */
  readonly time: number;
}

interface Text {
  readonly program: Program;
  readonly fn: FunctionDeclaration;
}

function costOf(
  before: Text,
  after: Text,
  bindings: readonly ProtectedBinding[],
  rates: Rates,
  codes: Schemes,
): KernelCost {
  const plain = runSubgroups(before.program, before.fn);
  const guarded = runSubgroups(after.program, after.fn, { isCold });
  const passVerified = bindings.filter(({ mode }) => mode === "passVerified");
  // A host-verified buffer does not change between dispatches, and a kernel that works in place is
  // dispatched repeatedly.
  const passes =
    passVerified.reduce((sum, each) => sum + passedBytes(before.program, plain[0]!, each, codes), 0) /
    (worksInPlace(plain[0]!) ? assumedTrips : 1);
  const times = { plain: timesOf(plain, rates), guarded: timesOf(guarded, rates) };
  const time = timeOf(times.plain);
  return {
    name: before.fn.name,
    time,
    predicted: (timeOf(times.guarded) + (passSlowdown * passes) / rates.memory) / time,
    reason: reasonFor(times.plain, times.guarded, passes > 0 ? passVerified.length : 0, bindings.length),
    checked: bindings.length - passVerified.length,
    passVerified: passVerified.length,
  };
}

/**
 * Returns true for the functions that kernels call on a fault, by the names that transforms give.
 */
const isCold = ({ name }: FunctionDeclaration) =>
  /^belay_(tell|note|record|repaired|suspect|wrong)/.test(name);

function worksInPlace({ accesses }: SubgroupRun): boolean {
  const storage = accesses.filter(({ variable }) => addressSpaceOf(variable) === "storage");
  return storage.some(
    ({ variable, kind }) =>
      kind === "load" && storage.some((other) => other.variable === variable && other.kind === "store"),
  );
}

/**
 * Returns the bytes of the passes over a host-verified buffer. Every such buffer is verified before
 * the kernel, even if it is only stored, and encoded after the kernel if it is stored.
 */
function passedBytes(
  program: Program,
  run: SubgroupRun,
  { of, scheme, stores }: ProtectedBinding,
  codes: Schemes,
): number {
  const variables = new Set(run.accesses.map(({ variable }) => variable));
  const bytes = [...variables].reduce((sum, variable) => {
    const point = bindingPointOf(program, variable);
    const isIt = point?.group === of.group && point.binding === of.binding;
    return isIt ? sum + streamedBytes(run, variable) : sum;
  }, 0);
  return bytes * (1 + storageOf(scheme, codes)) * (stores ? 2 : 1);
}

const named: Readonly<Record<keyof KernelTimes, string>> = {
  memory: "memory",
  cache: "the last-level cache",
  lines: "the first cache",
  integers: "arithmetic",
  instructions: "instructions",
  latency: "latency",
};

function reasonFor(plain: KernelTimes, guarded: KernelTimes, passes: number, buffers: number): string {
  const parts = Object.keys(named) as (keyof KernelTimes)[];
  const limit = parts.reduce((most, each) => (guarded[each] > guarded[most] ? each : most));
  const more = (part: keyof KernelTimes) =>
    `${Math.round(plain[part] === 0 ? 0 : 100 * (guarded[part] / plain[part] - 1))} % more`;
  const told = [
    `bound by ${named[limit]}`,
    `${more("memory")} traffic and ${more("instructions")} instructions`,
  ];
  if (passes > 0) told.push(`passes over ${passes} of ${buffers} buffers before or after`);
  return told.join("; ");
}
