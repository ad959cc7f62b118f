/** The state of a campaign that its planner and its workers share, beside the queue of jobs. */
import type { Redis } from "ioredis";
import { digest } from "../model/random.ts";
import type { CampaignSettings, StoreRecord, Unit, UnitRecord } from "../model/records.ts";
import type { InjectionRange } from "../planned.ts";
import { isGone, type ProcessIdentity } from "../store/processIdentity.ts";

/** The campaign that the planner announces to workers. */
export interface Announcement {
  readonly id: string;
  readonly settings: CampaignSettings;
  /** The version of Belay that planned the campaign. */
  readonly version: string;
  readonly limits: { readonly openLimitMs: number; readonly hangLimitMs: number };
  /** True if all results are delivered. */
  readonly isOver: boolean;
}

/** A job: to profile a program, or to make a range of injections into one unit. */
export type Job =
  | { readonly kind: "profile"; readonly program: string; readonly configurations: readonly string[] }
  | ({ readonly kind: "injections"; readonly ranges: readonly InjectionRange[] } & Unit);

/** The result of a job: lines for the store. */
export interface Delivery {
  readonly worker: string;
  readonly adapter: string;
  readonly records: readonly StoreRecord[];
  readonly milliseconds: number;
}

/** A failed attempt to execute a job. */
export interface JobFailure {
  readonly worker: string;
  readonly job: Job;
  readonly reason: string;
  /** The number of the attempt, from 1. */
  readonly attempt: number;
}

/** The latest state of a worker. */
export interface WorkerState {
  readonly state: "working" | "left" | "refused";
  readonly adapter: string;
  /** The number of jobs that the worker executes at the same time. */
  readonly jobs: number;
  readonly injections: number;
  /** A number that changes with each sign of life. */
  readonly beat: number;
  /** The reason for a refusal. */
  readonly reason?: string;
}

/** Returns the id of the campaign with these settings, also after an interruption. */
export const campaignId = (settings: CampaignSettings): string => digest(JSON.stringify(settings));

/**
 * Returns the id of a job, which is the same for the same part of a campaign. BullMQ refuses an id
 * of digits only, which one in 280 digests would be.
 */
export const jobId = (job: Job): string => `job-${digest(JSON.stringify(job))}`;

/** Returns the name of the queue with a campaign's jobs. */
export const queueName = (id: string): string => `belay-${id}`;

/** The script that removes a key if it has the given value. */
const REMOVE_IF_SAME = "return redis.call('get', KEYS[1]) == ARGV[1] and redis.call('del', KEYS[1])";

const CAMPAIGN = "belay:campaign";
const PLANNER = "belay:planner";

/** The seconds for which Redis keeps what workers and planners told last. */
const KEPT_SECONDS = 600;
/** The number of failures that a planner takes in one go. */
const MOST_FAILURES = 1000;

/** The keys of Redis that describe a campaign. */
export class Board {
  readonly #redis: Redis;

  constructor(redis: Redis) {
    this.#redis = redis;
  }

  /** Returns the campaign that is announced in the database, if any. */
  async announced(): Promise<Announcement | undefined> {
    const text = await this.#redis.get(CAMPAIGN);
    return text === null ? undefined : (JSON.parse(text) as Announcement);
  }

  async announce(campaign: Announcement): Promise<void> {
    const text = JSON.stringify(campaign);
    if (campaign.isOver) await this.#redis.set(CAMPAIGN, text, "EX", KEPT_SECONDS);
    else await this.#redis.set(CAMPAIGN, text);
  }

  /**
   * Claims the database for a planner, until it gives no sign of life for `leaseMs`. Returns the
   * other planner that has a claim, if any. The claim of a process of this host ends with it.
   */
  async claim(planner: ProcessIdentity, leaseMs: number): Promise<ProcessIdentity | undefined> {
    const text = JSON.stringify(planner);
    const taken = await this.#redis.set(PLANNER, text, "PX", leaseMs, "NX");
    if (taken) return undefined;
    const other = await this.#redis.get(PLANNER);
    if (other === text) {
      await this.#redis.set(PLANNER, text, "PX", leaseMs);
      return undefined;
    }
    if (other !== null) {
      const holder = JSON.parse(other) as ProcessIdentity;
      if (!isGone(holder)) return holder;
      // Of several planners that find the abandoned claim, one removes it.
      await this.#redis.eval(REMOVE_IF_SAME, 1, PLANNER, other);
    }
    return this.claim(planner, leaseMs);
  }

  async release(): Promise<void> {
    await this.#redis.del(PLANNER);
  }

  /** Returns the adapter of a campaign. The first worker that asks decides it. */
  async adapterOf(id: string, present: string): Promise<string> {
    await this.#redis.setnx(`belay:${id}:adapter`, present);
    return (await this.#redis.get(`belay:${id}:adapter`)) ?? present;
  }

  async setAdapter(id: string, adapter: string): Promise<void> {
    await this.#redis.set(`belay:${id}:adapter`, adapter);
  }

  /** Publishes units with their profiles, from which workers draw faults. */
  async publish(id: string, units: readonly UnitRecord[]): Promise<void> {
    const fields = units.flatMap((unit) => [nameOf(unit), JSON.stringify(unit)]);
    if (fields.length > 0) await this.#redis.hset(`belay:${id}:units`, ...fields);
  }

  /** Returns the number of published units. */
  unitCount(id: string): Promise<number> {
    return this.#redis.hlen(`belay:${id}:units`);
  }

  async unit(id: string, unit: Unit): Promise<UnitRecord | undefined> {
    const text = await this.#redis.hget(`belay:${id}:units`, nameOf(unit));
    return text === null ? undefined : (JSON.parse(text) as UnitRecord);
  }

  async tellWorker(id: string, worker: string, state: WorkerState): Promise<void> {
    const key = `belay:${id}:workers`;
    await this.#redis.multi().hset(key, worker, JSON.stringify(state)).expire(key, KEPT_SECONDS).exec();
  }

  async workers(id: string): Promise<Map<string, WorkerState>> {
    const states = await this.#redis.hgetall(`belay:${id}:workers`);
    return new Map(Object.entries(states).map(([name, text]) => [name, JSON.parse(text) as WorkerState]));
  }

  async tellFailure(id: string, failure: JobFailure): Promise<void> {
    const key = `belay:${id}:failures`;
    await this.#redis.multi().rpush(key, JSON.stringify(failure)).expire(key, KEPT_SECONDS).exec();
  }

  /** Returns the failures since the last call. */
  async takeFailures(id: string): Promise<JobFailure[]> {
    const taken = await this.#redis.lpop(`belay:${id}:failures`, MOST_FAILURES);
    return (taken ?? []).map((text) => JSON.parse(text) as JobFailure);
  }

  /** Removes everything about a campaign but its announcement. */
  async clear(id: string): Promise<void> {
    await this.#redis.del(...["adapter", "units", "workers", "failures"].map((key) => `belay:${id}:${key}`));
  }
}

const nameOf = ({ program, configuration }: Unit) => JSON.stringify([program, configuration]);
