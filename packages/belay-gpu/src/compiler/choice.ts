/**
 * `redundancy: "auto"`: which configuration promises to protect a kernel at the lowest cost, and
 * why.
 */
import { functionsOf, stageOf } from "../analysis/callGraph.ts";
import { hazardousVariables, loadsAfterStores } from "../analysis/hazards.ts";
import { hasIndirectAccess } from "../analysis/indirectAccess.ts";
import { addressSpaceOf } from "../analysis/places.ts";
import { estimateWork, type WorkEstimate } from "../analysis/workEstimate.ts";
import type { FunctionDeclaration } from "../wgsl/ast.ts";
import { parse } from "../wgsl/parser.ts";
import type { Program } from "../wgsl/program.ts";
import { resolve } from "../wgsl/resolve/index.ts";
import {
  type Configuration,
  configurationsFor,
  type RankedConfiguration,
  type Structure,
  uncoveredBy,
} from "./configurations.ts";

export interface ChoiceOptions {
  /** The structures in which faults must be detected. */
  readonly cover: readonly Structure[];
  /** Features of the device. */
  readonly features?: Iterable<string>;
  /** The entry point to choose for; default: all compute entry points of the module together. */
  readonly entryPoint?: string;
}

/** What an estimate takes from a kernel's text. */
interface Features extends WorkEstimate {
  /** Loads what it stores. */
  readonly isInPlace: boolean;
  /** Loads what indices name that it has loaded. */
  readonly gathers: boolean;
  /** Has no load behind such a store. */
  readonly loadsFirst: boolean;
}

/**
 * The configurations that cover what is asked for, the one with the lowest predicted cost first.
 * The prediction knows the kernel's text only: how much it computes for each byte it moves, how
 * wide its accesses are, whether it works in place. Not every kernel can be protected in every way,
 * so whoever protects takes the first that fits. Empty for source that is not valid.
 */
export function rankConfigurations(wgsl: string, options: ChoiceOptions): RankedConfiguration[] {
  const parsed = parse(wgsl);
  const program = resolve(parsed.module);
  if ([...parsed.diagnostics, ...program.diagnostics].some(({ severity }) => severity === "error")) return [];
  const kernels = functionsOf(program).filter(
    (fn) => stageOf(fn) === "compute" && (!options.entryPoint || fn.name === options.entryPoint),
  );
  const covering = configurationsFor(options.features ?? []).filter(
    (each) => uncoveredBy(each, options.cover).length === 0,
  );
  return rank(program, kernels, covering);
}

/**
 * Returns configurations for these kernels together, the one with the lowest predicted cost first.
 */
export function rank(
  program: Program,
  kernels: readonly FunctionDeclaration[],
  configurations: readonly Configuration[],
): RankedConfiguration[] {
  const features = kernels.map((kernel) => featuresOf(program, kernel));
  return configurations
    .map((each) => ({ ...each, ...predict(each, features) }))
    .sort((a, b) => a.predicted - b.predicted);
}

function featuresOf(program: Program, kernel: FunctionDeclaration): Features {
  const hazards = [...hazardousVariables(program, [kernel])];
  const isInPlace = hazards.some((variable) => addressSpaceOf(variable) === "storage");
  const loadsFirst = loadsAfterStores(program, kernel).length === 0;
  return {
    ...estimateWork(program, kernel),
    isInPlace,
    loadsFirst,
    gathers: hasIndirectAccess(program, kernel),
  };
}

/** Operations that a GPU does while it moves a byte. */
const operationsPerByte = 6;

/** What an access that hits a cache or workgroup memory costs, in operations. */
const operationsPerAccess = 2.4;

/** An access of this many bytes keeps memory busy with half the lanes. */
const wideAccess = 16;

/** Computing and moving bytes overlap: together they take this p-norm of what each takes alone. */
const overlap = 2.3;
const together = (computing: number, moving: number) =>
  (computing ** overlap + moving ** overlap) ** (1 / overlap);

function predict(
  configuration: Configuration,
  kernels: readonly Features[],
): { predicted: number; reason: string } {
  let [plain, guarded, bytes, arithmetic] = [0, 0, 0, 0];
  for (const kernel of kernels) {
    const computing = (kernel.operations + operationsPerAccess * kernel.accesses) / operationsPerByte;
    const factors = factorsOf(configuration, kernel);
    plain += together(computing, Math.max(kernel.bytes, 1));
    guarded +=
      factors.all * together(factors.computing * computing, factors.bytes * Math.max(kernel.bytes, 1));
    bytes += kernel.bytes;
    arithmetic += computing;
  }
  const limit = bytes > arithmetic ? "memory" : "arithmetic";
  const isInPlace = kernels.some((kernel) => kernel.isInPlace);
  return { predicted: plain === 0 ? 1 : guarded / plain, reason: reasonFor(configuration, limit, isInPlace) };
}

/**
 * How many times as long a protected kernel computes, and moves bytes, and how many times as long
 * both take for other reasons.
 */
interface Factors {
  readonly computing: number;
  readonly bytes: number;
  readonly all: number;
}

/**
 * The factors are fitted to what an NVIDIA H200 shows on the programs of `belay bench rmt`:
 * replicas in one subgroup halve the distinct loads in flight, which wide accesses make up for, and
 * gathers even more, as each line is fetched once for both; those that run one after the other load
 * from the cache, unless they gather; whatever waits before a store costs.
 */
function factorsOf({ redundancy, check, channel, pairing }: Configuration, kernel: Features): Factors {
  const { gathers, isInPlace, loadsFirst } = kernel;
  const isWide = kernel.widestStorage >= wideAccess;
  const shares = kernel.widestWorkgroup > 0;
  if (redundancy === "inter") {
    // In place, whoever comes last stores where an invocation loads before it stores; else the
    // second replica has a copy.
    const apart = isInPlace ? (loadsFirst ? 1.25 : 2.1) : isWide ? 1.49 : 2;
    return {
      computing: isInPlace ? 2.1 : 1.92,
      bytes: gathers ? 1.75 : apart,
      all: check === "store" ? 3 : 1,
    };
  }
  // What is loaded again is in the cache, and what is stored next to it.
  if (pairing === "passes")
    return { computing: 2.05, bytes: gathers ? 1.85 : isInPlace ? 1.05 : 1.3, all: 1 };
  if (pairing === "subgroups")
    return { computing: 1.945, bytes: gathers ? 1.2 : isWide ? 1.45 : 1.97, all: 1 };
  const waiting = (check === "store" ? 1.1 : 1) * (isInPlace ? 1.15 : 1);
  const talking = channel === "workgroup" ? 1.03 : 1;
  const sharing = redundancy === "intra-lds" && shares ? 1.2 : 1;
  return {
    computing: shares ? 1.85 : 1.95,
    bytes: gathers ? 1.02 : isWide ? (shares ? 1.25 : 1.36) : 1.64,
    all: waiting * talking * sharing * (pairing === "half-subgroup" ? 1.05 : 1),
  };
}

function reasonFor(
  { redundancy, pairing }: Configuration,
  limit: "memory" | "arithmetic",
  isInPlace: boolean,
): string {
  const where = isInPlace ? `${limit}, and works in place` : limit;
  if (redundancy === "inter") return `bound by ${where}; whole workgroups run twice and share the cache`;
  if (pairing === "passes")
    return `bound by ${where}; replicas one after the other load from the cache, and no workgroup grows`;
  if (pairing === "subgroups")
    return `bound by ${where}; replicas in different subgroups also cover what a subgroup shares`;
  return `bound by ${where}; replicas in one subgroup hide each other's latency`;
}
