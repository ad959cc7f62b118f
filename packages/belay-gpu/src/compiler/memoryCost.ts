/**
 * How long a kernel takes, from what a subgroup of it does and what the device can do at most. No
 * constant belongs to a program: each is measured on the device, a fact about GPUs, or an
 * assumption, as it says.
 */

import { addressSpaceOf } from "../analysis/places.ts";
import type { LaneAccess } from "../analysis/subgroup/laneMemory.ts";
import { laneCount } from "../analysis/subgroup/laneValues.ts";
import type { SubgroupRun } from "../analysis/subgroup/subgroupRun.ts";
import type { GlobalVariable } from "../wgsl/ast.ts";

/** What a device can do at most, per second; measured by `belay bench`. */
export interface Rates {
  /** Bytes that a copy reads and writes in memory, and in the last-level cache. */
  readonly memory: number;
  readonly cache: number;
  /** Operations on floats and on integers, of which a multiply-add has two. */
  readonly flops: number;
  readonly integers: number;
  /** Invocations that load and store a word each: what the latency of memory lets pass. */
  readonly invocations: number;
}

/** Those of an NVIDIA H200. */
export const usualRates: Rates = {
  memory: 4.2e12,
  cache: 7.6e12,
  flops: 61.5e12,
  integers: 32.8e12,
  invocations: 2.8e11,
};

/** Seconds that an invocation keeps each part of a device busy, all of which work at once. */
export interface Times {
  readonly memory: number;
  readonly cache: number;
  /** The first cache and workgroup memory. */
  readonly lines: number;
  readonly integers: number;
  readonly instructions: number;
  readonly latency: number;
}

/** Bytes in which GPUs move memory, and those that the first cache finds at once. */
const sectorBytes = 32;
const lineBytes = 128;

/**
 * Compilers make one instruction of two operations: multiply-adds, rotations, logic of three words.
 */
const operationsPerInstruction = 2;

/**
 * An access takes instructions for its address and bounds, all on integers, and itself; assumed.
 */
const instructionsPerAccess = 4;

/**
 * What an invocation takes to begin and to end: a copy of words has 30 instructions in all, as
 * chains of operations on integers show that were added to it.
 */
const instructionsPerInvocation = 20;

/**
 * Passes that verify or encode hardly write: a sum of a buffer takes so much longer than half a
 * copy of it.
 */
export const passSlowdown = 1.15;

/**
 * A compute unit's first cache delivers so many bytes in the time in which it begins an instruction
 * of a lane (128 of both per cycle on NVIDIA's).
 */
const bytesPerInstruction = 1;

/**
 * A sector that is stored in parts takes the cache longer than a whole one; fitted to one
 * measurement, a copy of 16-byte elements stored as four words each.
 */
const partialSector = 1.5;

/**
 * The time of parts that work at once is their p-norm, between their maximum (perfect overlap) and
 * their sum; assumed.
 */
const overlap = 4;

/** The average of some subgroups. */
export function timesOf(runs: readonly SubgroupRun[], rates: Rates): Times {
  const all = runs.map((run) => timesOfOne(run, rates));
  const parts = Object.keys(all[0]!) as (keyof Times)[];
  const average = (part: keyof Times) => all.reduce((sum, times) => sum + times[part], 0) / all.length;
  return Object.fromEntries(parts.map((part) => [part, average(part)])) as unknown as Times;
}

function timesOfOne(run: SubgroupRun, rates: Rates): Times {
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

/** Of parts that work at once. */
export function timeOf(times: Times): number {
  return (
    Object.values(times).reduce((sum: number, time: number) => sum + time ** overlap, 0) ** (1 / overlap)
  );
}

/**
 * The bytes of a variable that an invocation streams through: loops go over what is in the cache.
 */
export function streamedBytes(run: SubgroupRun, variable: GlobalVariable): number {
  const streamed = run.accesses.filter((access) => access.variable === variable && access.trip === 0);
  return distinctBytes(streamed.map((access) => ({ ...access, kind: "load" })));
}

/**
 * What memory moves for accesses: each sector that some of them load once, and once what some of
 * them store.
 */
function distinctBytes(accesses: readonly LaneAccess[]): number {
  const sectors = accesses.flatMap((access) =>
    [...sectorsOf(access)].map((sector) => `${access.variable.name} ${access.kind === "load"} ${sector}`),
  );
  return bytesPerLane(new Set(sectors).size);
}

/** What the last-level cache delivers: the first cache keeps what loads that go together touch. */
function loadedBytes(accesses: readonly LaneAccess[]): number {
  const trips = new Map<number, LaneAccess[]>();
  for (const access of accesses)
    if (access.kind === "load") trips.set(access.trip, [...(trips.get(access.trip) ?? []), access]);
  return [...trips.values()].reduce((total, loads) => total + loads[0]!.times * distinctBytes(loads), 0);
}

/** What it takes: every store goes there, and every atomic operation. */
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
