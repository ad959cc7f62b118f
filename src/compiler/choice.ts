/** `redundancy: "auto"`: which configuration promises to protect a kernel at the lowest cost, and why. */
import { functionsOf, stageOf } from "../analysis/callGraph.ts";
import { hazardousVariables } from "../analysis/hazards.ts";
import { addressSpaceOf } from "../analysis/places.ts";
import { estimateWork, type WorkEstimate } from "../analysis/workEstimate.ts";
import type { FunctionDeclaration } from "../wgsl/ast.ts";
import { parse } from "../wgsl/parser.ts";
import type { Program } from "../wgsl/program.ts";
import { resolve } from "../wgsl/resolve/index.ts";
import { type Configuration, configurationsFor, coveredBy, type Structure } from "./configurations.ts";

export interface RankedConfiguration extends Configuration {
  /** Predicted time of the protected kernel, the unprotected one's being 1. */
  readonly predicted: number;
  /** Why it costs that, in a sentence. */
  readonly reason: string;
}

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
}

/**
 * The configurations that cover what is asked for, the one with the lowest predicted cost first. The prediction knows the
 * kernel's text only: how much it computes for each byte it moves, how wide its accesses are, whether it works in place.
 * Not every kernel can be protected in every way, so whoever protects takes the first that fits. Empty for source that is
 * not valid.
 */
export function rankConfigurations(wgsl: string, options: ChoiceOptions): RankedConfiguration[] {
  const parsed = parse(wgsl);
  const program = resolve(parsed.module);
  if ([...parsed.diagnostics, ...program.diagnostics].some(({ severity }) => severity === "error")) return [];
  const kernels = functionsOf(program).filter(
    (fn) => stageOf(fn) === "compute" && (!options.entryPoint || fn.name === options.entryPoint),
  );
  const features = kernels.map((kernel) => featuresOf(program, kernel));
  return configurationsFor(options.features ?? [])
    .filter((each) => options.cover.every((structure) => coveredBy(each).has(structure)))
    .map((each) => ({ ...each, ...predict(each, features) }))
    .sort((a, b) => a.predicted - b.predicted);
}

function featuresOf(program: Program, kernel: FunctionDeclaration): Features {
  const hazards = [...hazardousVariables(program, [kernel])];
  const isInPlace = hazards.some((variable) => addressSpaceOf(variable) === "storage");
  return { ...estimateWork(program, kernel), isInPlace };
}

/** Operations that a GPU does while it moves a byte; between 10 and 20 on those of the last ten years. */
const operationsPerByte = 14;

/** What an access that hits a cache or workgroup memory costs, in operations. */
const operationsPerAccess = 8;

/** An access of this many bytes keeps memory busy with half the lanes, and two of them meet in workgroup memory's banks. */
const wideAccess = 16;

function predict(
  configuration: Configuration,
  kernels: readonly Features[],
): { predicted: number; reason: string } {
  let [plain, guarded, bytes, arithmetic] = [0, 0, 0, 0];
  for (const kernel of kernels) {
    const computing = (kernel.operations + operationsPerAccess * kernel.accesses) / operationsPerByte;
    plain += Math.max(computing, kernel.bytes, 1);
    guarded += costOf(configuration, kernel, computing);
    bytes += kernel.bytes;
    arithmetic += computing;
  }
  const limit = bytes > arithmetic ? "memory" : "arithmetic";
  const isInPlace = kernels.some((kernel) => kernel.isInPlace);
  return { predicted: plain === 0 ? 1 : guarded / plain, reason: reasonFor(configuration, limit, isInPlace) };
}

/**
 * Time, in bytes moved. The factors are what an NVIDIA H200 shows on the programs of `belay bench rmt`: replicas in one
 * subgroup halve the distinct loads in flight, which wide accesses make up for; those that run one after the other don't,
 * but hide less latency; whatever waits before a store costs.
 */
function costOf(
  { redundancy, check, channel, pairing }: Configuration,
  kernel: Features,
  computing: number,
): number {
  const isWide = kernel.widestStorage >= wideAccess;
  const { bytes } = kernel;
  if (redundancy === "inter") {
    const waiting = check === "store" ? 3 : 1;
    const shadows = kernel.isInPlace ? 2.1 : 1;
    return waiting * Math.max(2 * computing, bytes * Math.max(isWide ? 1.4 : 1.7, shadows));
  }
  if (pairing === "passes") return Math.max(2 * computing, 1.05 * bytes);
  if (pairing === "subgroups") return Math.max(2 * computing, bytes * (isWide ? 1.35 : 1.85));
  const waiting = (check === "store" ? 1.06 : 1) * (kernel.isInPlace ? 1.2 : 1);
  const talking = channel === "workgroup" ? 1.03 : 1;
  const sharing = redundancy === "intra-lds" && kernel.widestWorkgroup > 0 ? 1.5 : 1;
  const meeting = pairing === "adjacent" && kernel.widestWorkgroup >= wideAccess ? 1.5 : 1;
  const spread = pairing === "half-subgroup" ? 1.03 : 1;
  return (
    waiting * talking * sharing * spread * Math.max(1.85 * meeting * computing, bytes * (isWide ? 1.17 : 1.7))
  );
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
