/**
 * Predicts the time of a kernel from the work of one subgroup and the rates of the device. No
 * constant is specific to a program. Each is measured on the device, a fact about GPUs, or an
 * assumption, as its comment says.
 */

import { addressSpaceOf } from "../analysis/places.ts";
import type { LaneAccess } from "../analysis/subgroup/laneMemory.ts";
import { laneCount } from "../analysis/subgroup/laneValues.ts";
import type { SubgroupRun } from "../analysis/subgroup/subgroupRun.ts";
import type { GlobalVariable } from "../wgsl/ast.ts";

/** The highest rates of a device per second, as measured by `belay bench`. */
export interface Rates {
  /** The bytes that a copy reads and writes in memory. */
  readonly memory: number;
  /** The bytes that a copy reads and writes in the last-level cache. */
  readonly cache: number;
  /** The floating-point operations. A multiply-add counts as two. */
  readonly flops: number;
  /** The integer operations. A multiply-add counts as two. */
  readonly integers: number;
  /** The invocations that load and store one word each, which the latency of memory limits. */
  readonly invocations: number;
}

/** The rates of an NVIDIA H200. */
export const usualRates: Rates = {
  memory: 4.2e12,
  cache: 7.6e12,
  flops: 61.5e12,
  integers: 32.8e12,
  invocations: 2.8e11,
};

/**
 * The seconds for which an invocation keeps each part of a device busy. All parts work at the same
 * time.
 */
export interface KernelTimes {
  readonly memory: number;
  readonly cache: number;
  /** The first-level cache and workgroup memory. */
  readonly lines: number;
  readonly integers: number;
  readonly instructions: number;
  readonly latency: number;
}

/** The bytes of the unit in which GPUs move memory. */
const sectorBytes = 32;
/** The bytes that the first-level cache looks up at once. */
const lineBytes = 128;

/**
 * The operations per instruction. Compilers merge two: multiply-adds, rotations, logic of three
 * words.
 */
const operationsPerInstruction = 2;

/**
 * The instructions of an access, all on integers: address, bounds, and the access itself. Assumed.
 */
const instructionsPerAccess = 4;

/**
 * The instructions to begin and end an invocation. A copy of words has 30 instructions in all, as
 * measured by adding chains of integer operations to it.
 */
const instructionsPerInvocation = 20;

/**
 * The time of a pass that verifies or encodes, which hardly writes, relative to half a copy of the
 * buffer.
 */
export const passSlowdown = 1.15;

/**
 * The bytes that a compute unit's first-level cache delivers per issued instruction of a lane (128
 * of both per cycle on NVIDIA's GPUs).
 */
const bytesPerInstruction = 1;

/**
 * The factor for a sector that is stored in parts. Fitted to one measurement: a copy of 16-byte
 * elements that are stored as four words each.
 */
const partialSector = 1.5;

/**
 * The exponent of overlap. Parts that work at the same time take the p-norm of their times, between
 * the maximum (perfect overlap) and the sum. Assumed.
 */
const overlap = 4;

/** Returns the average times of some subgroups. */
export function timesOf(runs: readonly SubgroupRun[], rates: Rates): KernelTimes {
  const all = runs.map((run) => timesOfOne(run, rates));
  const parts = Object.keys(all[0]!) as (keyof KernelTimes)[];
  const average = (part: keyof KernelTimes) => all.reduce((sum, times) => sum + times[part], 0) / all.length;
  return Object.fromEntries(parts.map((part) => [part, average(part)])) as unknown as KernelTimes;
}

function timesOfOne(run: SubgroupRun, rates: Rates): KernelTimes {
  const storage = run.accesses.filter(({ variable }) => addressSpaceOf(variable) === "storage");
  const shared = run.accesses.filter(({ variable }) => addressSpaceOf(variable) !== "uniform");
  const sum = (accesses: readonly LaneAccess[], of: (access: LaneAccess) => number) =>
    accesses.reduce((total, access) => total + access.times * of(access), 0);
  const integers =
    run.integerOperations / operationsPerInstruction +
    instructionsPerAccess * sum(shared, () => 1) +
    instructionsPerInvocation;
  const instructions = integers + run.floatOperations / operationsPerInstruction;
  const starts = rates.flops / operationsPerInstruction;
  const streamed = storage.filter(({ trip }) => trip === 0);
  return {
    memory: distinctBytes(streamed) / rates.memory,
    cache: (loadedBytes(storage) + sum(storage, storedBytes)) / rates.cache,
    lines: sum(shared, bytesOfLines) / (bytesPerInstruction * starts),
    integers: integers / (rates.integers / operationsPerInstruction),
    instructions: instructions / starts,
    latency: storage.length > 0 ? 1 / rates.invocations : 0,
  };
}

/** Returns the time of parts that work at the same time. */
export function timeOf(times: KernelTimes): number {
  return (
    Object.values(times).reduce((sum: number, time: number) => sum + time ** overlap, 0) ** (1 / overlap)
  );
}

/**
 * Returns the bytes of a variable that an invocation streams through. Loops access cached memory.
 */
export function streamedBytes(run: SubgroupRun, variable: GlobalVariable): number {
  const streamed = run.accesses.filter((access) => access.variable === variable && access.trip === 0);
  return distinctBytes(streamed.map((access) => ({ ...access, kind: "load" })));
}

/**
 * Returns the bytes that memory moves for accesses: each sector once for its loads and once for its
 * stores.
 */
function distinctBytes(accesses: readonly LaneAccess[]): number {
  const sectors = accesses.flatMap((access) =>
    [...sectorsOf(access)].map((sector) => `${access.variable.name} ${access.kind === "load"} ${sector}`),
  );
  return bytesPerLane(new Set(sectors).size);
}

/**
 * Returns the bytes that the last-level cache delivers. The first-level cache keeps the sectors of
 * one iteration's loads.
 */
function loadedBytes(accesses: readonly LaneAccess[]): number {
  const trips = new Map<number, LaneAccess[]>();
  for (const access of accesses)
    if (access.kind === "load") trips.set(access.trip, [...(trips.get(access.trip) ?? []), access]);
  return [...trips.values()].reduce((total, loads) => total + loads[0]!.times * distinctBytes(loads), 0);
}

/** Returns the bytes that the last-level cache receives: all stores and atomic operations. */
function storedBytes(access: LaneAccess): number {
  if (access.kind === "load") return 0;
  const { size } = sectorsOf(access);
  const isWhole = access.addresses.length * access.width >= size * sectorBytes;
  return bytesPerLane(size) * (isWhole ? 1 : partialSector);
}

function bytesOfLines(access: LaneAccess): number {
  const lines = new Set(
    [...sectorsOf(access)].map((sector) => Math.floor((sector * sectorBytes) / lineBytes)),
  );
  return Math.max((access.width * access.addresses.length) / laneCount, (lines.size * lineBytes) / laneCount);
}

const bytesPerLane = (sectors: number) => (sectors * sectorBytes) / laneCount;

function sectorsOf({ addresses, width }: LaneAccess): Set<number> {
  const sectors = new Set<number>();
  for (const address of addresses)
    for (let at = address - (address % sectorBytes); at < address + width; at += sectorBytes)
      sectors.add(at / sectorBytes);
  return sectors;
}
