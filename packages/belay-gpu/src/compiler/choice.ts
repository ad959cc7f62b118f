/** Ranks configurations for `redundancy: "auto"` by their predicted cost, with the reasons. */
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

/** The requirements that a configuration has to meet. */
export interface ChoiceOptions {
  /** The structures in which faults must be detected. */
  readonly cover: readonly Structure[];
  /** The features of the device. */
  readonly features?: Iterable<string>;
  /** The entry point to choose for. Default: all compute entry points of the module together. */
  readonly entryPoint?: string;
}

/** The properties of a kernel's source that an estimate uses. */
interface KernelTraits extends WorkEstimate {
  /** The kernel both loads and stores one of its buffers. */
  readonly isInPlace: boolean;
  /** The share of such buffers in all accesses to storage, from 0 to 1. */
  readonly inPlace: number;
  /** The kernel loads at indices that it has loaded. */
  readonly isIndirect: boolean;
  /** The kernel has no load after a store to the same buffer. */
  readonly loadsFirst: boolean;
}

/**
 * Returns the configurations that cover the requested structures, the one with the lowest predicted
 * cost first. The prediction knows the kernel's source only: its arithmetic for each byte that it
 * moves, the width of its accesses, and whether it works in place. Not every configuration fits
 * every kernel, so the compiler takes the first that does. Empty for a source that is not valid.
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
 * Returns the configurations for these kernels together, the one with the lowest predicted cost
 * first.
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

function featuresOf(program: Program, kernel: FunctionDeclaration): KernelTraits {
  const hazards = [...hazardousVariables(program, [kernel])];
  const changed = new Set(hazards.filter((variable) => addressSpaceOf(variable) === "storage"));
  const work = estimateWork(program, kernel, changed);
  const loadsFirst = loadsAfterStores(program, kernel).length === 0;
  return {
    ...work,
    isInPlace: changed.size > 0,
    inPlace: work.markedAccesses / Math.max(1, work.storageAccesses),
    loadsFirst,
    isIndirect: hasIndirectAccess(program, kernel),
  };
}

/** The operations that a GPU does while it moves a byte. */
const operationsPerByte = 6;

/** The cost of an access that hits a cache or workgroup memory, in operations. */
const operationsPerAccess = 2.4;

/** The width of an access, in bytes, with which half the lanes keep memory busy. */
const wideAccess = 16;

/**
 * The operations for each access to workgroup memory below which that memory feeds a tile in
 * registers.
 */
const operationsOfTile = 16;

/**
 * Returns true if a kernel keeps a tile in registers and feeds it from workgroup memory, as
 * products of matrices do.
 */
const feedsTile = ({ localArrays, widestWorkgroup, accesses, storageAccesses, operations }: KernelTraits) =>
  localArrays > 0 && widestWorkgroup > 0 && operations < operationsOfTile * (accesses - storageAccesses);

/**
 * The exponent of overlap. Computing and moving bytes together take this p-norm of their own times.
 */
const overlap = 2.3;
const together = (computing: number, moving: number) =>
  (computing ** overlap + moving ** overlap) ** (1 / overlap);

function predict(
  configuration: Configuration,
  kernels: readonly KernelTraits[],
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

/** The slowdown of a protected kernel, in parts. */
interface Factors {
  /** The factor of the time for computing. */
  readonly computing: number;
  /** The factor of the time for moving bytes. */
  readonly bytes: number;
  /** The factor of both for other reasons. */
  readonly all: number;
}

/**
 * Returns the slowdown of a configuration. The factors are fitted to measurements on an NVIDIA H200
 * with the programs of `belay bench rmt`.
 *
 * Replicas in one subgroup halve the distinct loads in flight. Wide accesses make up for that, and
 * indirect accesses even more, because both replicas share each fetched line. Replicas that run one
 * after the other load from the cache, except with indirect accesses. Any wait before a store costs
 * time. A kernel that changes few words in place waits as rarely. If it also keeps arrays in
 * registers, too few of its subgroups run at once to hide the wait. A tile in registers that is fed
 * from workgroup memory costs more in doubled workgroups, as each replica loads from its own copy.
 */
function factorsOf({ redundancy, check, channel, pairing }: Configuration, kernel: KernelTraits): Factors {
  const { isIndirect, isInPlace, inPlace, loadsFirst } = kernel;
  const isWide = kernel.widestStorage >= wideAccess;
  const shares = kernel.widestWorkgroup > 0;
  const ofTile = feedsTile(kernel) ? 2.3 : undefined;
  if (redundancy === "inter") {
    // A kernel in place: if it loads before it stores, the last-arriving replica stores. Otherwise
    // the second replica has a copy.
    const apart = isInPlace ? (loadsFirst ? 1.25 : 2.1) : isWide ? 1.49 : 2;
    return {
      computing: isInPlace ? 2.1 : 1.92,
      bytes: isIndirect ? 1.75 : apart,
      all: check === "store" ? 3 : 1,
    };
  }
  // Data that is loaded again, or was stored nearby, is in the cache.
  if (pairing === "passes")
    return { computing: 2.05, bytes: isIndirect ? 1.85 : 1.3 - 0.25 * inPlace, all: 1 };
  if (pairing === "subgroups")
    return { computing: ofTile ?? 1.945, bytes: isIndirect ? 1.2 : isWide ? 1.45 : 1.97, all: 1 };
  const inPlaceWaits = isInPlace && kernel.localArrays > 0 ? 1 : inPlace;
  const waiting = (check === "store" ? 1.1 : 1) * (1 + 0.15 * inPlaceWaits);
  const talking = channel === "workgroup" ? 1.03 : 1;
  const sharing = redundancy === "intra-lds" && shares ? 1.2 : 1;
  return {
    computing: ofTile ?? (shares ? 1.85 : 1.95),
    bytes: isIndirect ? 1.02 : isWide ? (shares ? 1.25 : 1.36) : 1.64,
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
