/** The planner of a campaign over machines: it adds jobs to a queue, and stores their results. */
import { performance } from "node:perf_hooks";
import { setTimeout } from "node:timers/promises";
import type { LongWork } from "belay-gpu";
import type { Queue } from "bullmq";
import { beginStore } from "../begin.ts";
import { CampaignError } from "../model/failure.ts";
import type { CampaignSettings, StoreRecord, UnitRecord } from "../model/records.ts";
import { missingParts } from "../planned.ts";
import type { Results } from "../results/results.ts";
import { identityOfThisProcess, type ProcessIdentity } from "../store/processIdentity.ts";
import type { Store } from "../store/store.ts";
import { standardLimits } from "../unitWork.ts";
import {
  type Announcement,
  Board,
  campaignId,
  type Delivery,
  type Job,
  jobId,
  queueName,
  type WorkerState,
} from "./board.ts";
import { connectRedis, importQueuePackages, type RedisAddress } from "./redis.ts";

/**
 * The options of {@link planCampaign}. An abort drains: no job is added, jobs under way are awaited
 * and stored, and the campaign can be resumed.
 */
export interface PlannerOptions extends LongWork {
  readonly redis: RedisAddress;
  /** The directory of the store, existing or new. */
  readonly directory: string;
  readonly settings: CampaignSettings;
  /** True if the campaign in the directory is resumed. */
  readonly resume: boolean;
  /** The version of Belay, which workers must have too. */
  readonly version: string;
  /** The time in milliseconds after which an unfinished campaign stops. Default: never. */
  readonly timeLimitMs?: number;
  /** As in `CampaignOptions`. */
  readonly openLimitMs?: number;
  /** As in `CampaignOptions`. */
  readonly hangLimitMs?: number;
  /** The greatest number of injections in a job. Default: 512. */
  readonly jobInjections?: number;
  /** The durations that differ from the default. */
  readonly durations?: Partial<PlannerDurations>;
  /** Receives a line about an event, such as a worker that joins. */
  onEvent?(line: string): void;
}

/** The durations by which a planner works. */
export interface PlannerDurations {
  /** The time that the injections of one job should take at most. Default: 5 s. */
  readonly jobMs: number;
  /** The interval between two looks at the queue. Default: 0.1 s. */
  readonly lookMs: number;
  /** The interval between two looks at workers, lost jobs and the state in Redis. Default: 1 s. */
  readonly upkeepMs: number;
  /** The time without a sign of life after which a worker counts as lost. Default: 15 s. */
  readonly lostMs: number;
  /** The time for which a planner that stops waits for jobs under way. Default: 30 s. */
  readonly drainMs: number;
  /** The time after which a planner's claim ends without a sign of life. Default: 10 s. */
  readonly leaseMs: number;
  /** The time until a job that failed is tried again, which doubles each time. Default: 3 s. */
  readonly retryMs: number;
}

const standardDurations: PlannerDurations = {
  jobMs: 5000,
  lookMs: 100,
  upkeepMs: 1000,
  lostMs: 15_000,
  drainMs: 30_000,
  leaseMs: 10_000,
  retryMs: 3000,
};

/** The results of a campaign over machines. */
export interface PlannedCampaign {
  readonly results: Results;
  /** The jobs that failed on several workers, each with the reason. */
  readonly failures: readonly string[];
}

/** The greatest number of injections in a job by default. */
const MOST_INJECTIONS = 512;
/** The number of jobs in the queue for each one that can be executed at the same time. */
const AHEAD = 4;
/** The number of jobs in the queue for any number of workers, at least and at most. */
const [FEWEST_JOBS, MOST_JOBS] = [256, 4096] as const;
/** The number of injections in a job at the end of a round, so that workers end together. */
const FEWEST_INJECTIONS = 16;
/** The number of results that are stored in one go. */
const BATCH = 100;
/** The number of times that a job is tried. */
const ATTEMPTS = 3;

/**
 * Plans a campaign, has workers execute it, and stores their results. Rejects with a
 * `CampaignError` when the store or the queue cannot be used.
 */
export async function planCampaign(options: PlannerOptions): Promise<PlannedCampaign> {
  const { redis: address, onEvent = () => {} } = options;
  const packages = await importQueuePackages();
  const redis = await connectRedis(address, packages, onEvent);
  const board = new Board(redis);
  const durations = { ...standardDurations, ...options.durations };
  let queue: Queue<Job, Delivery> | undefined;
  try {
    await claim(board, address, durations.leaseMs, options.signal);
    const { store, results } = beginStore({ ...options, shard: { index: 0, count: 1 } });
    using _ = store;
    const id = campaignId(options.settings);
    const abandoned = await board.announced();
    if (abandoned && abandoned.id !== id) {
      await new packages.bullmq.Queue(queueName(abandoned.id), { connection: redis }).obliterate({
        force: true,
      });
      await board.clear(abandoned.id);
    }
    queue = new packages.bullmq.Queue<Job, Delivery>(queueName(id), {
      connection: redis,
      defaultJobOptions: {
        attempts: ATTEMPTS,
        backoff: { type: "exponential", delay: durations.retryMs },
      },
      // An event repeats the result of its job.
      streams: { events: { maxLen: 1 } },
    });
    queue.on("error", () => {});
    const run = new Planner(options, durations, { store, results, board, queue, id });
    await run.run();
    store.sync();
    await board.release();
    return { results, failures: run.failures };
  } finally {
    await queue?.close();
    redis.disconnect();
  }
}

/** Claims the database, and waits for the end of the claim of a planner that is gone. */
async function claim(
  board: Board,
  address: RedisAddress,
  leaseMs: number,
  signal?: AbortSignal,
): Promise<void> {
  const start = performance.now();
  for (;;) {
    signal?.throwIfAborted();
    const other = await board.claim(identityOfThisProcess(), leaseMs);
    if (other === undefined) return;
    if (performance.now() - start > 1.1 * leaseMs) {
      const message = `${address.name} is in use by the planner ${nameOf(other)}`;
      throw new CampaignError("queue-unavailable", message, {
        help: "name another database, such as redis://host:6379/1",
      });
    }
    await setTimeout(leaseMs / 50);
  }
}

const nameOf = ({ host, pid }: ProcessIdentity) => `${host}/${pid}`;

interface Parts {
  readonly store: Store;
  readonly results: Results;
  readonly board: Board;
  readonly queue: Queue<Job, Delivery>;
  readonly id: string;
}

class Planner {
  readonly #options: PlannerOptions;
  readonly #durations: PlannerDurations;
  readonly #results: Results;
  readonly #store: Store;
  readonly #board: Board;
  readonly #queue: Queue<Job, Delivery>;
  readonly #announcement: Announcement;
  readonly #start = performance.now();
  /** The jobs in the queue whose results are not stored yet. */
  readonly #outstanding = new Map<string, Job>();
  readonly #failed = new Map<string, string>();
  readonly #workers = new Map<string, { state: WorkerState["state"] | "lost"; beat: number; seen: number }>();
  #lanes = 0;
  #kept = Number.NEGATIVE_INFINITY;
  #round: Iterator<Job> = [][Symbol.iterator]();

  constructor(
    options: PlannerOptions,
    durations: PlannerDurations,
    { store, results, board, queue, id }: Parts,
  ) {
    this.#options = options;
    this.#durations = durations;
    this.#results = results;
    this.#store = store;
    this.#board = board;
    this.#queue = queue;
    const { settings, version, openLimitMs, hangLimitMs } = options;
    const limits = {
      openLimitMs: openLimitMs ?? standardLimits.openLimitMs,
      hangLimitMs: hangLimitMs ?? standardLimits.hangLimitMs,
    };
    this.#announcement = { id, settings, version, limits, isOver: false };
  }

  /** The jobs that failed on several workers, each with the reason. */
  get failures(): string[] {
    return [...this.#failed.values()];
  }

  async run(): Promise<void> {
    // Jobs that failed under an earlier planner are tried again.
    await this.#queue.clean(0, 0, "failed");
    for (;;) {
      const stored = await this.#collect();
      await this.#keepUp();
      if (this.#isStopped()) return this.#drain();
      if (await this.#fill()) break;
      if (!stored) await setTimeout(this.#durations.lookMs);
    }
    // A failure may be younger than the last look.
    await this.#noteFailures();
    await this.#board.announce({ ...this.#announcement, isOver: this.#failed.size === 0 });
    if (this.#failed.size > 0) return;
    await this.#queue.obliterate({ force: true });
    await this.#board.clear(this.#announcement.id);
  }

  /** Adds jobs while there is room for them. Returns whether nothing is left to be done. */
  async #fill(): Promise<boolean> {
    const room = Math.min(MOST_JOBS, Math.max(FEWEST_JOBS, AHEAD * this.#lanes));
    const added: Job[] = [];
    while (this.#outstanding.size < room) {
      let next = this.#round.next();
      // The next round depends on all results of this one.
      if (next.done && this.#outstanding.size === 0) {
        // The number of workers decides the size of the jobs.
        this.#noteWorkers(await this.#board.workers(this.#announcement.id));
        this.#round = this.#jobs();
        next = this.#round.next();
        if (next.done) return true;
      }
      if (next.done) break;
      this.#outstanding.set(jobId(next.value), next.value);
      added.push(next.value);
    }
    await this.#enqueue(added);
    return false;
  }

  /** Adds jobs to the queue, except for those that it has. */
  async #enqueue(jobs: readonly Job[]): Promise<void> {
    if (jobs.length === 0) return;
    await this.#queue.addBulk(jobs.map((data) => ({ name: data.kind, data, opts: { jobId: jobId(data) } })));
  }

  /**
   * Returns the jobs of a round that have not failed. All programs are profiled before the first
   * injection.
   */
  *#jobs(): Generator<Job> {
    const hasFailed = (job: Job) => this.#failed.has(jobId(job));
    const profiles = this.#options.settings.programs.flatMap(({ name: program }): Job[] => {
      const configurations = this.#results.unknownConfigurations(program);
      return configurations.length === 0 ? [] : [{ kind: "profile", program, configurations }];
    });
    if (profiles.length > 0) {
      yield* profiles.filter((job) => !hasFailed(job));
      return;
    }
    const { jobInjections = MOST_INJECTIONS } = this.#options;
    const { jobMs } = this.#durations;
    const { done, total } = this.#results.amount();
    let left = total - done;
    const mostOf = ({ milliseconds }: UnitRecord) => {
      const most = Math.min(jobInjections, Math.floor(jobMs / Math.max(1, milliseconds.protected)));
      // Jobs shrink with the rest of the round (guided self-scheduling: Polychronopoulos, 1987).
      const share = Math.max(FEWEST_INJECTIONS, Math.ceil(left / (2 * Math.max(1, this.#lanes))));
      return Math.max(1, Math.min(most, share));
    };
    for (const { unit, ranges, size } of missingParts(this.#results, mostOf)) {
      left -= size;
      const { program, configuration } = unit;
      const job: Job = { kind: "injections", program, configuration, ranges };
      if (!hasFailed(job)) yield job;
    }
  }

  /** Stores results that workers have delivered. Returns whether there were any. */
  async #collect(): Promise<boolean> {
    const done = await this.#queue.getJobs(["completed"], 0, BATCH - 1, true);
    for (const { returnvalue } of done) this.#take(returnvalue);
    if (done.length > 0) {
      await this.#board.publish(
        this.#announcement.id,
        done.flatMap(({ returnvalue }) => unitsIn(returnvalue)),
      );
      // A job leaves the queue only after its results have reached the disk.
      this.#store.sync();
      await Promise.all(done.map(({ id }) => this.#queue.remove(id!)));
      for (const { id } of done) this.#outstanding.delete(id!);
      this.#tell();
    }
    return done.length > 0;
  }

  /** Stores a delivery. Results that an earlier delivery brought are left out. */
  #take({ worker, adapter, records, milliseconds }: Delivery): void {
    if (this.#results.adapter === undefined) this.#add({ kind: "adapter", description: adapter });
    if (this.#results.adapter !== adapter) {
      // A worker can only have joined with another adapter if Redis had lost the campaign's.
      this.#refuse(worker, `it has the adapter ${adapter}`);
      return;
    }
    let injections = 0;
    for (const record of records) {
      if (record.kind === "injection") {
        if (this.#results.has(record)) continue;
        injections++;
      } else if (record.kind === "header" || ("program" in record && this.#results.knows(record))) {
        continue;
      }
      this.#add(record);
    }
    if (records.some(({ kind }) => kind === "injection") && injections === 0) return;
    this.#add({ kind: "work", worker, injections, milliseconds: Math.round(milliseconds) });
  }

  #refuse(worker: string, reason: string): void {
    if (this.#results.refusals.get(worker)?.reason === reason) return;
    this.#add({ kind: "refused", worker, reason });
    this.#options.onEvent?.(`${worker} is refused: ${reason}`);
  }

  #add(record: Exclude<StoreRecord, { kind: "header" }>): void {
    this.#store.append(record);
    this.#results.add(record);
  }

  /** Renews the claim, repairs what Redis has lost, and looks at workers and failures. */
  async #keepUp(): Promise<void> {
    if (performance.now() - this.#kept < this.#durations.upkeepMs) return;
    const { id } = this.#announcement;
    await this.#keepClaim();
    const announced = await this.#board.announced();
    if (announced?.id !== id || announced.isOver) await this.#board.announce(this.#announcement);
    if ((await this.#board.unitCount(id)) < this.#results.units.length) {
      await this.#board.publish(id, this.#results.units);
    }
    if (this.#results.adapter !== undefined) await this.#board.setAdapter(id, this.#results.adapter);
    const counts = await this.#queue.getJobCounts();
    const queued = Object.values(counts).reduce((sum, count) => sum + count, 0);
    if (queued < this.#outstanding.size) await this.#enqueue([...this.#outstanding.values()]);
    await this.#noteFailures();
    this.#noteWorkers(await this.#board.workers(id));
    this.#tell();
    this.#kept = performance.now();
  }

  async #keepClaim(): Promise<void> {
    const other = await this.#board.claim(identityOfThisProcess(), this.#durations.leaseMs);
    if (other === undefined) return;
    throw new CampaignError("queue-unavailable", `the planner ${nameOf(other)} has taken the queue over`, {
      help: "go on by --resume with another database, such as redis://host:6379/1",
    });
  }

  async #noteFailures(): Promise<void> {
    const { onEvent = () => {} } = this.#options;
    for (const { worker, job, reason, attempt } of await this.#board.takeFailures(this.#announcement.id)) {
      onEvent(`${describe(job)} failed on ${worker}: ${reason} (try ${attempt} of ${ATTEMPTS})`);
    }
    const failed = await this.#queue.getJobs(["failed"]);
    for (const { id, data, failedReason } of failed.filter((job) => !this.#failed.has(job.id!))) {
      const message = `${describe(data)} failed: ${failedReason}`;
      this.#failed.set(id!, message);
      this.#outstanding.delete(id!);
      onEvent(`${message} (given up)`);
    }
  }

  #noteWorkers(states: ReadonlyMap<string, WorkerState>): void {
    const { onEvent = () => {} } = this.#options;
    const now = performance.now();
    this.#lanes = 0;
    for (const [name, { state, beat, adapter, jobs, reason }] of states) {
      if (state === "refused") {
        this.#refuse(name, reason ?? "");
        continue;
      }
      const known = this.#workers.get(name);
      const seen = known && known.beat === beat ? known.seen : now;
      const current = state === "working" && now - seen > this.#durations.lostMs ? "lost" : state;
      if (current === "working") this.#lanes += jobs;
      if (current !== known?.state) onEvent(`${name} ${inWords[current]}${known ? "" : ` with ${adapter}`}`);
      this.#workers.set(name, { state: current, beat, seen });
    }
  }

  /** Stores the results of jobs under way, and leaves a campaign that can be resumed. */
  async #drain(): Promise<void> {
    await this.#queue.drain(true);
    const start = performance.now();
    while (performance.now() - start < this.#durations.drainMs) {
      const stored = await this.#collect();
      if (!stored && (await this.#queue.getActiveCount()) === 0) return;
      if (!stored) await setTimeout(this.#durations.lookMs);
      await this.#keepClaim();
    }
  }

  #isStopped(): boolean {
    const { timeLimitMs = Number.POSITIVE_INFINITY, signal } = this.#options;
    return signal?.aborted || performance.now() - this.#start > timeLimitMs;
  }

  #tell(): void {
    const working = [...this.#workers.values()].filter(({ state }) => state === "working").length;
    const doing = working === 1 ? "1 worker" : `${working} workers`;
    this.#options.onProgress?.({ doing, ...this.#results.amount() });
  }
}

const inWords = { working: "works", left: "has left", lost: "gives no sign of life" } as const;

const describe = ({ kind, program }: Job) =>
  `${kind === "profile" ? "the profile of" : "injections into"} ${program}`;

const unitsIn = ({ records }: Delivery): UnitRecord[] =>
  records.flatMap((record) => (record.kind === "unit" ? record : []));
