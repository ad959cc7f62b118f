/** What the codes of a kernel's memory cost it, as far as its text tells. */
import { bindingPointOf } from "../analysis/bindings.ts";
import { addressSpaceOf } from "../analysis/places.ts";
import {
  type AccessWork,
  type BufferWork,
  estimateWork,
  type WorkEstimate,
} from "../analysis/workEstimate.ts";
import { type SchemeName, schemes } from "../codes/scheme.ts";
import type { FunctionDeclaration, GlobalVariable } from "../wgsl/ast.ts";
import { sizeOf } from "../wgsl/layout.ts";
import type { Program } from "../wgsl/program.ts";
import { type CodeOperations, codeOperations } from "./codeOperations.ts";
import type { ProtectedBinding } from "./contract.ts";
import { gatheredBuffers } from "./gatheredBuffers.ts";

export interface MemoryCost {
  /** Predicted time of an invocation of the unprotected kernel, in bytes moved by memory. */
  readonly time: number;
  /** That of the protected kernel, the unprotected one's being 1. */
  readonly predicted: number;
  /** Why it costs that, in a sentence. */
  readonly reason: string;
}

/** How fast a device does what a kernel needs, relative to each other; the defaults are the ceilings measured on an NVIDIA H200. */
export interface Rates {
  /** Operations on words, and bytes from the last-level cache, in the time in which memory moves one byte. */
  readonly operationsPerByte: number;
  readonly cachedPerByte: number;
}

export const usualRates: Rates = { operationsPerByte: 7.8, cachedPerByte: 1.8 };

/** What an access that hits a cache costs, in operations. */
const operationsPerAccess = 8;

/**
 * What overlaps: the time of parts that run at once is their p-norm, between their maximum (perfect overlap) and their sum.
 */
const overlap = 4;

/** Time of each resource, in bytes moved by memory. */
interface Times {
  memory: number;
  cache: number;
  arithmetic: number;
}

/** What protecting `bindings` costs the entry point `kernel`. */
export function estimateMemoryCost(
  program: Program,
  kernel: FunctionDeclaration,
  bindings: readonly ProtectedBinding[],
  rates: Rates = usualRates,
): MemoryCost {
  const work = estimateWork(program, kernel);
  const gathered = gatheredBuffers(program, kernel);
  const plain = timesOf(work, gathered, rates);
  const guarded = { ...plain };
  let [passes, exchanges] = [0, 0];
  for (const [variable, accesses] of work.buffers) {
    const point = bindingPointOf(program, variable);
    const binding = bindings.find(({ of }) => of.group === point?.group && of.binding === point.binding);
    if (!binding) continue;
    if (binding.mode !== "checked") passes += passTime(binding, accesses);
    else if (addressSpaceOf(variable) === "uniform") {
      addUniformChecks(
        guarded,
        binding.scheme,
        sizeOf(program.declaredTypeOf(variable)),
        accesses.loads,
        rates,
      );
    } else {
      addChecks(guarded, binding.scheme, accesses, gathered.has(variable), rates);
      if (sharesGranules(binding.scheme, accesses.stores))
        exchanges += timePerExchange * accesses.stores.count;
    }
  }
  const [before, after] = [timeOf(plain), timeOf(guarded) + passes + exchanges];
  return { time: before, predicted: after / before, reason: reasonFor(plain, guarded, passes, bindings) };
}

function timesOf(
  { buffers, bytes, operations, accesses }: WorkEstimate,
  gathered: ReadonlySet<GlobalVariable>,
  { operationsPerByte, cachedPerByte }: Rates,
): Times {
  let cached = 0;
  for (const [variable, { loads, stores }] of buffers) {
    if (addressSpaceOf(variable) === "uniform") continue;
    for (const work of [loads, stores]) cached += cachedBytes(work, gathered.has(variable));
  }
  return {
    memory: bytes,
    cache: cached / cachedPerByte,
    arithmetic: (operations + operationsPerAccess * accesses) / operationsPerByte,
  };
}

/** Check words beside what is accessed, and the arithmetic on whole granules. */
function addChecks(
  times: Times,
  scheme: SchemeName,
  { loads, stores }: BufferWork,
  isGathered: boolean,
  { operationsPerByte, cachedPerByte }: Rates,
): void {
  const { granuleBytes } = schemes[scheme];
  const { syndrome, encode, contribution } = instructionsOf(scheme);
  for (const [work, whole, part] of [
    [loads, syndrome, syndrome + operationsPerPart],
    [stores, encode, contribution + operationsPerExchange],
  ] as const) {
    if (work.count === 0) continue;
    const width = work.bytes / work.count;
    const granules = Math.max(1, width / granuleBytes);
    const split = partsOf(width, granuleBytes) - partsOf(width);
    const operations =
      granules * ((width < granuleBytes ? part : whole) + operationsPerAccess) + split * operationsPerAccess;
    times.arithmetic += (work.count * operations) / operationsPerByte;
    times.cache +=
      (cachedBytes(work, isGathered, granuleBytes) - cachedBytes(work, isGathered)) / cachedPerByte;
    times.memory += (4 * work.streamed) / granuleBytes;
  }
}

/** Granules of uniform buffers are checked once at most, and come from a cache of their own. */
function addUniformChecks(
  times: Times,
  scheme: SchemeName,
  size: number,
  { count, bytes }: AccessWork,
  { operationsPerByte }: Rates,
): void {
  const { granuleBytes } = schemes[scheme];
  const granules = Math.min(Math.ceil(size / granuleBytes), Math.max(count, bytes / granuleBytes));
  times.arithmetic +=
    (granules * (instructionsOf(scheme).syndrome + operationsPerAccess)) / operationsPerByte;
}

/** The unit in which caches move what is not side by side, and the widest access, in bytes. */
const sectorBytes = 32;
const widestAccess = 16;

/** Accesses that one of so many bytes becomes, where none is wider than a granule. */
const partsOf = (width: number, granuleBytes = widestAccess) =>
  Math.max(1, width / Math.min(widestAccess, granuleBytes));

/**
 * What caches move for accesses, and for those to their check words. Each part of a value that is accessed in parts touches all
 * lines that the value touches, since the lanes' parts lie as far apart as their values; so do the check words of the parts.
 */
function cachedBytes({ count, bytes }: AccessWork, isGathered: boolean, granuleBytes?: number): number {
  if (count === 0) return 0;
  const width = bytes / count;
  const touched = (span: number) => (isGathered ? Math.max(sectorBytes, span) : span);
  const data = partsOf(width, granuleBytes) * touched(width);
  if (granuleBytes === undefined) return count * data;
  const granules = width / granuleBytes;
  return count * (data + Math.max(1, granules) * touched(4 * granules));
}

/** Whether lanes that store the parts of a granule make its check word together. */
function sharesGranules(scheme: SchemeName, { bytes, count }: AccessWork): boolean {
  return count > 0 && bytes / count < schemes[scheme].granuleBytes;
}

/**
 * What lanes do to make a check word together, and how long each waits, in bytes moved by memory: for the others, and for check
 * words that are atomic and so pass by the first cache; the time is fitted.
 */
const operationsPerExchange = 24;
const timePerExchange = 4.5;

/** What it takes to choose a value out of a wider granule, and to hold that meanwhile; fitted. */
const operationsPerPart = 30;

/**
 * Passes over a whole buffer: all that is bracketed is verified before, also what is only stored, and what is stored is encoded
 * after. What loops access is in the cache, and cheap to pass over.
 */
function passTime({ scheme, stores }: ProtectedBinding, work: BufferWork): number {
  const bytes = Math.max(work.loads.streamed, work.stores.streamed) * (1 + 4 / schemes[scheme].granuleBytes);
  return stores ? 2 * bytes : bytes;
}

/**
 * What an invocation takes at least from its loads to its stores, when as many are in flight as fit; fitted to copies of elements of
 * 4 and 8 bytes.
 */
const latency = 14.7;

const timeOf = (times: Times) =>
  [latency, ...Object.values(times)].reduce((sum: number, time: number) => sum + time ** overlap, 0) **
  (1 / overlap);

function reasonFor(
  plain: Times,
  guarded: Times,
  passes: number,
  bindings: readonly ProtectedBinding[],
): string {
  const bracketed = bindings.filter(({ mode }) => mode === "bracketed").length;
  const limit = (["memory", "cache", "arithmetic"] as const).reduce((most, each) =>
    guarded[each] > guarded[most] ? each : most,
  );
  const more = (name: keyof Times) =>
    `${Math.round(plain[name] === 0 ? 0 : 100 * (guarded[name] / plain[name] - 1))} % more ${name}`;
  const parts = [`bound by ${limit}`, `${more("memory")} traffic and ${more("arithmetic")}`];
  if (passes > 0) parts.push(`passes over ${bracketed} of ${bindings.length} buffers before or after`);
  return parts.join("; ");
}

/** Compilers make one instruction of a rotation's three operations, and of two operations of logic. */
const mergedOperations = 2;

function instructionsOf(scheme: SchemeName): CodeOperations {
  const { encode, syndrome, contribution } = codeOperations(scheme);
  return {
    encode: encode / mergedOperations,
    syndrome: syndrome / mergedOperations,
    contribution: contribution / mergedOperations,
  };
}
