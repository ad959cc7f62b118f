/**
 * The degree to which memory bounds a program, as in figure 3 of the paper, and the least cost of
 * full replication.
 */
import type { VerifiableProgram } from "belay-gpu/internal/runtime/tuning/workload";
import type { Ceilings } from "../measuring/ceilings.ts";
import { alternate, TimedProgram, type Times } from "../measuring/timing.ts";
import { type CountedWork, countWork } from "./countedWork.ts";
import { residentKernel, withKernels } from "./residentKernels.ts";

export interface Roofline {
  /** The median milliseconds of the unprotected program. */
  readonly time: number;
  /** The rates of the least work that it has to do. */
  readonly bytesPerSecond: number;
  readonly flopsPerSecond: number;
  /**
   * The milliseconds that its bytes take at the rate of a copy; below, those of its operations at
   * the device's best.
   */
  readonly memoryTime: number;
  readonly arithmeticTime: number;
  /**
   * The milliseconds with its buffers wrapped around in the last-level cache: an estimate of its
   * time without memory.
   */
  readonly computeTime: number;
  /**
   * The ratio that full replication can't be expected to beat. It is twice the time without memory,
   * or the time of memory, which replicas share, whichever is longer.
   */
  readonly limit: number;
  readonly counted: CountedWork;
}

/** Times a program against its own form whose data stay in a cache, and counts its work. */
export async function measureRoofline(
  program: VerifiableProgram,
  unprotected: TimedProgram,
  newDevice: () => Promise<GPUDevice>,
  ceilings: Ceilings,
  runs: number,
): Promise<Roofline> {
  using resident = new TimedProgram(program, withKernels(await newDevice(), residentKernel));
  const [before, without] = await alternate(runs, unprotected, resident);
  const counted = await countWork(program, await newDevice());
  return { ...rooflineOf(program.work, before, without, ceilings), counted };
}

export function rooflineOf(
  { bytes, flops }: VerifiableProgram["work"],
  unprotected: Times,
  resident: Times,
  ceilings: Ceilings,
): Omit<Roofline, "counted"> {
  const time = unprotected.median;
  const memoryTime = (1000 * bytes) / ceilings.memory;
  // In wrapped buffers, stores of many workgroups meet. The time without memory is no longer than
  // the whole.
  const computeTime = Math.min(resident.median, time);
  return {
    time,
    bytesPerSecond: (1000 * bytes) / time,
    flopsPerSecond: (1000 * flops) / time,
    memoryTime,
    arithmeticTime: (1000 * flops) / ceilings.flops,
    computeTime,
    limit: Math.max(2 * computeTime, memoryTime) / time,
  };
}
