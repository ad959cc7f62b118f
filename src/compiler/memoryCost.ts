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
import type { FunctionDeclaration } from "../wgsl/ast.ts";
import type { Program } from "../wgsl/program.ts";
import { type CodeOperations, codeOperations } from "./codeOperations.ts";
import type { ProtectedBinding } from "./contract.ts";

export interface MemoryCost {
  /** Predicted time of an invocation of the unprotected kernel, in bytes moved by memory. */
  readonly time: number;
  /** That of the protected kernel, the unprotected one's being 1. */
  readonly predicted: number;
  /** Why it costs that, in a sentence. */
  readonly reason: string;
}

/** How fast a device does what a kernel needs, relative to each other; the defaults are those of an NVIDIA H200. */
export interface Rates {
  /** Operations on words, and bytes from the last-level cache, in the time in which memory moves one byte. */
  readonly operationsPerByte: number;
  readonly cachedPerByte: number;
}

export const usualRates: Rates = { operationsPerByte: 14, cachedPerByte: 2 };

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
  const plain = timesOf(work, rates);
  const guarded = { ...plain };
  let [passes, exchanges] = [0, 0];
  for (const [variable, accesses] of work.buffers) {
    const point = bindingPointOf(program, variable);
    const binding = bindings.find(({ of }) => of.group === point?.group && of.binding === point.binding);
    if (!binding) continue;
    const isUniform = addressSpaceOf(variable) === "uniform";
    if (binding.mode === "checked") {
      addChecks(guarded, binding.scheme, accesses, rates, isUniform);
      if (sharesGranules(binding.scheme, accesses.stores))
        exchanges += timePerExchange * accesses.stores.count;
    } else passes += passTime(binding, accesses);
  }
  const [before, after] = [timeOf(plain), timeOf(guarded) + passes + exchanges];
  return { time: before, predicted: after / before, reason: reasonFor(plain, guarded, passes, bindings) };
}

function timesOf(work: WorkEstimate, { operationsPerByte, cachedPerByte }: Rates): Times {
  let all = 0;
  for (const { loads, stores } of work.buffers.values()) all += loads.bytes + stores.bytes;
  return {
    memory: work.bytes,
    cache: all / cachedPerByte,
    arithmetic: (work.operations + operationsPerAccess * work.accesses) / operationsPerByte,
  };
}

/** Check words beside what is accessed, and the arithmetic on whole granules. */
function addChecks(
  times: Times,
  scheme: SchemeName,
  { loads, stores }: BufferWork,
  { operationsPerByte, cachedPerByte }: Rates,
  isUniform: boolean,
): void {
  const { granuleBytes } = schemes[scheme];
  const { syndrome, encode, contribution } = instructionsOf(scheme);
  for (const [work, operations] of [
    [loads, syndrome],
    [stores, encode],
  ] as const) {
    if (work.count === 0) continue;
    const width = work.bytes / work.count;
    const granules = Math.max(1, width / granuleBytes);
    // Lanes that share a granule combine what each stores of it.
    const sharing =
      work === stores && width < granuleBytes ? contribution + operationsPerExchange : operations;
    times.arithmetic += (work.count * granules * (sharing + operationsPerAccess)) / operationsPerByte;
    times.cache += (4 * work.bytes) / granuleBytes / cachedPerByte;
    if (!isUniform) times.memory += (4 * work.streamed) / granuleBytes;
  }
}

/** Whether lanes that store the parts of a granule make its check word together. */
function sharesGranules(scheme: SchemeName, { bytes, count }: AccessWork): boolean {
  return count > 0 && bytes / count < schemes[scheme].granuleBytes;
}

/** What they do for that, and how long each waits for the others, in bytes moved by memory. */
const operationsPerExchange = 24;
const timePerExchange = 1.7;

/** Passes over a whole buffer before and after the kernel; what loops access is in the cache, and cheap to pass over. */
function passTime({ scheme, loads, stores }: ProtectedBinding, work: BufferWork): number {
  const bytes = Math.max(work.loads.streamed, work.stores.streamed) * (1 + 4 / schemes[scheme].granuleBytes);
  return (loads ? bytes : 0) + (stores ? bytes : 0);
}

/**
 * What an invocation takes at least from its loads to its stores, when as many are in flight as fit: a copy with elements of 4 or
 * 8 bytes takes hardly less time than this.
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
