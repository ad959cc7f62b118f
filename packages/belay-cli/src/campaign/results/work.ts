/** The work of the machines that share a campaign, and the work that is left. */
import type { Results } from "./results.ts";

/** The work of one worker. */
export interface WorkerSummary {
  /** The name of the worker: its host and process. */
  readonly worker: string;
  readonly jobs: number;
  readonly injections: number;
  /** The time in which the worker executed jobs, over all its processes. */
  readonly milliseconds: number;
  /** The injections per second of one process of the worker. */
  readonly perSecond: number;
}

/** A worker that the campaign has refused. */
export interface RefusedWorker {
  readonly worker: string;
  readonly reason: string;
}

/** Returns the work of each worker, the most injections first. */
export function workersOf({ work }: Pick<Results, "work">): WorkerSummary[] {
  const sums = new Map<string, { jobs: number; injections: number; milliseconds: number }>();
  for (const { worker, injections, milliseconds } of work) {
    const sum = sums.get(worker) ?? { jobs: 0, injections: 0, milliseconds: 0 };
    sum.jobs++;
    sum.injections += injections;
    sum.milliseconds += milliseconds;
    sums.set(worker, sum);
  }
  return [...sums]
    .map(([worker, sum]) => ({
      worker,
      ...sum,
      perSecond: sum.milliseconds === 0 ? 0 : (1000 * sum.injections) / sum.milliseconds,
    }))
    .sort((a, b) => b.injections - a.injections || (a.worker < b.worker ? -1 : 1));
}
