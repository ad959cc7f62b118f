/** A worker of a campaign over machines: it executes jobs of the queue on its device. */
import { hostname } from "node:os";
import { setTimeout } from "node:timers/promises";
import { messageOf } from "belay-gpu/internal/diagnostics/messageOf";
import { codeOf } from "belay-gpu/internal/diagnostics/registry";
import { CampaignError } from "../model/failure.ts";
import type { StoreRecord, Unit } from "../model/records.ts";
import { injectionsOf } from "../planned.ts";
import { openDevice, WatchedProcess } from "../processes/watchedProcess.ts";
import { profilesOf, strike, type UnitWork } from "../unitWork.ts";
import { type Announcement, Board, type Delivery, type Job, queueName, type WorkerState } from "./board.ts";
import { connectRedis, importQueuePackages, type RedisAddress } from "./redis.ts";

/**
 * The options of {@link workOnCampaign}. An abort drains: jobs under way are finished and
 * delivered.
 */
export interface WorkerOptions {
  readonly redis: RedisAddress;
  /** The module that knows the programs by name (see `Programs`). */
  readonly programs: URL;
  /** Returns the digest of the version of a program on this machine. */
  digestOf(program: string): Promise<string>;
  /** The version of Belay, which the planner must have too. */
  readonly version: string;
  /** The number of processes with a device, which execute jobs at the same time. */
  readonly jobs: number;
  /** True if a software adapter may take part. */
  readonly software: boolean;
  /** The time without a sign of life after which a job goes to another worker. Default: 10 s. */
  readonly lockMs?: number;
  /** The interval between two signs of life. Default: 1 s. */
  readonly beatMs?: number;
  readonly signal?: AbortSignal;
  /** Receives a line about an event, such as a job that fails. */
  onEvent?(line: string): void;
}

/** The work that a worker has done. */
export interface Worked {
  readonly injections: number;
  readonly jobs: number;
}

const BEAT_MS = 1000;
const LOCK_MS = 10_000;
/** The number of workers that may be lost with a job before it counts as failed. */
const MOST_LOSSES = 20;
/** The number of consecutive jobs that fail before a worker leaves. */
const MOST_FAILURES = 3;

/**
 * Executes jobs of the campaign that is announced in a database, or will be, until the campaign is
 * over. Rejects with a `CampaignError` when the queue cannot be used, or refuses this machine.
 */
export async function workOnCampaign(options: WorkerOptions): Promise<Worked> {
  const { redis: address, onEvent = () => {}, beatMs = BEAT_MS } = options;
  const packages = await importQueuePackages();
  const lanes = Array.from(
    { length: options.jobs },
    (): Lane => ({
      watched: new WatchedProcess(options.programs),
      opened: undefined,
    }),
  );
  const redis = await connectRedis(address, packages, onEvent);
  const board = new Board(redis);
  const name = `${hostname()}/${process.pid}`;
  try {
    const { adapter, isSoftware } = await openDevice(lanes[0]!.watched);
    const campaign = await awaitCampaign(board, beatMs, options.signal, () =>
      onEvent(`waits for a campaign in ${address.name}`),
    );
    if (!campaign) return { injections: 0, jobs: 0 };
    const work = new Working(options, { name, adapter, board, campaign, beatMs }, lanes);
    const refusal = await refusalOf(options, campaign, board, adapter, isSoftware);
    if (refusal) {
      await work.tell("refused", refusal.message);
      throw refusal;
    }
    const lockDuration = options.lockMs ?? LOCK_MS;
    const worker = new packages.bullmq.Worker<Job, Delivery>(
      queueName(campaign.id),
      (job) => work.execute(job.data, job.attemptsMade + 1),
      {
        connection: redis,
        concurrency: options.jobs,
        lockDuration,
        stalledInterval: lockDuration / 2,
        maxStalledCount: MOST_LOSSES,
      },
    );
    worker.on("error", () => {});
    worker.on("failed", (_, error) => onEvent(`a job failed: ${error.message}`));
    try {
      onEvent(`works on campaign ${campaign.id} with ${adapter}`);
      await work.untilOver();
      // Waits for the jobs under way.
      await worker.close();
    } finally {
      await worker.close(true);
    }
    if (!work.isOver) await work.tell("left");
    if (work.broken) throw work.broken;
    return work.done;
  } finally {
    redis.disconnect();
    for (const { watched } of lanes) watched.end(new Error("the worker has ended"));
  }
}

async function awaitCampaign(
  board: Board,
  beatMs: number,
  signal: AbortSignal | undefined,
  onWait: () => void,
): Promise<Announcement | undefined> {
  for (let isFirst = true; !signal?.aborted; isFirst = false) {
    const campaign = await board.announced();
    if (campaign && !campaign.isOver) return campaign;
    if (isFirst) onWait();
    await setTimeout(beatMs);
  }
  return undefined;
}

/** Returns the error for a worker that the campaign must not have. */
async function refusalOf(
  { version, software, digestOf }: WorkerOptions,
  campaign: Announcement,
  board: Board,
  adapter: string,
  isSoftware: boolean,
): Promise<CampaignError | undefined> {
  const refused = (message: string, help: string) => new CampaignError("worker-refused", message, { help });
  if (version !== campaign.version) {
    return refused(
      `this is Belay ${version}, and the campaign was planned by Belay ${campaign.version}`,
      "install that version on every machine",
    );
  }
  if (isSoftware && !software) {
    return refused(
      `this machine has no GPU, only the software adapter ${adapter}`,
      "leave the machine out, or begin a campaign of software adapters by --software on each",
    );
  }
  for (const { name, digest } of campaign.settings.programs) {
    if ((await digestOf(name)) === digest) continue;
    return refused(
      `${name} is another version here than at the planner`,
      "bring the planner's version of the program to every machine",
    );
  }
  const begunOn = await board.adapterOf(campaign.id, adapter);
  if (begunOn === adapter) return undefined;
  return refused(
    `the campaign was begun on ${begunOn}, and the adapter here is ${adapter}`,
    "use machines with one kind of adapter and one driver, and another campaign for the others",
  );
}

/** A process with a device, and the unit that it has open. */
interface Lane {
  readonly watched: WatchedProcess;
  opened: string | undefined;
}

interface Parts {
  readonly name: string;
  readonly adapter: string;
  readonly board: Board;
  readonly campaign: Announcement;
  readonly beatMs: number;
}

class Working {
  readonly #options: WorkerOptions;
  readonly #name: string;
  readonly #adapter: string;
  readonly #board: Board;
  readonly #campaign: Announcement;
  readonly #beatMs: number;
  readonly #idle: Lane[];
  readonly #work: UnitWork;
  readonly done = { injections: 0, jobs: 0 };
  #beat = 0;
  #failures = 0;
  #broken: CampaignError | undefined;
  #isOver = false;

  constructor(
    options: WorkerOptions,
    { name, adapter, board, campaign, beatMs }: Parts,
    lanes: readonly Lane[],
  ) {
    this.#options = options;
    this.#name = name;
    this.#adapter = adapter;
    this.#board = board;
    this.#campaign = campaign;
    this.#beatMs = beatMs;
    this.#idle = [...lanes];
    this.#work = {
      settings: campaign.settings,
      ...campaign.limits,
      useAdapter: (present) => {
        if (present === adapter) return;
        throw new CampaignError("worker-refused", `the adapter was ${adapter}, and is now ${present}`);
      },
      tell: () => {},
      isOver: () => false,
    };
  }

  /** The reason for leaving before the campaign is over. */
  get broken(): CampaignError | undefined {
    return this.#broken;
  }

  /** True if all results of the campaign are delivered. Redis then forgets its workers. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Executes a job, and returns its results. */
  async execute(job: Job, attempt: number): Promise<Delivery> {
    const isOpen = ({ opened }: Lane) => opened === unitOf(job);
    const at = Math.max(0, this.#idle.findIndex(isOpen));
    const [lane] = this.#idle.splice(at, 1);
    const start = performance.now();
    try {
      const records: StoreRecord[] = [];
      for await (const record of this.#recordsOf(job, lane!)) {
        // A program that this machine cannot load may work on another one.
        if (record.kind === "skipped" && record.code === codeOf("device-process-failed")) {
          throw new Error(record.message);
        }
        records.push(record);
        if (record.kind === "injection") this.done.injections++;
      }
      this.done.jobs++;
      this.#failures = 0;
      const milliseconds = performance.now() - start;
      return { worker: this.#name, adapter: this.#adapter, records, milliseconds };
    } catch (error) {
      lane!.watched.kill();
      const reason = messageOf(error);
      await this.#board.tellFailure(this.#campaign.id, { worker: this.#name, job, reason, attempt });
      if (++this.#failures >= MOST_FAILURES) {
        this.#broken = new CampaignError(
          "device-process-failed",
          `${MOST_FAILURES} jobs failed in a row, the last one because ${reason}`,
          { help: "run belay doctor on this machine", cause: error },
        );
      }
      throw error;
    } finally {
      this.#idle.push(lane!);
    }
  }

  async *#recordsOf(job: Job, lane: Lane): AsyncGenerator<StoreRecord> {
    const { program } = job;
    const { settings, id } = this.#campaign;
    const { watched } = lane;
    if (job.kind === "profile") {
      lane.opened = undefined;
      const known = settings.configurations.find(({ name }) => !job.configurations.includes(name));
      const counted = known && (await this.#board.unit(id, { program, configuration: known.name }));
      yield* profilesOf(program, job.configurations, watched, this.#work, counted?.kernels);
      return;
    }
    const unit = await this.#board.unit(id, job);
    if (!unit) throw new Error(`Redis has lost the profile of ${program}, ${job.configuration}`);
    const isOpen = lane.opened === unitOf(job) && watched.isRunning;
    lane.opened = undefined;
    yield* strike(unit, injectionsOf({ unit, ranges: job.ranges }, settings), watched, this.#work, isOpen);
    // The last injection may have ended the process.
    if (watched.isRunning) lane.opened = unitOf(job);
  }

  /** Gives signs of life until the campaign is over, the machine fails, or the signal aborts. */
  async untilOver(): Promise<void> {
    const { signal } = this.#options;
    while (!signal?.aborted && !this.#broken) {
      await this.tell("working");
      const announced = await this.#board.announced();
      this.#isOver = announced !== undefined && (announced.id !== this.#campaign.id || announced.isOver);
      if (this.#isOver) return;
      await setTimeout(this.#beatMs, undefined, { ...(signal && { signal }) }).catch(() => {});
    }
  }

  async tell(state: WorkerState["state"], reason?: string): Promise<void> {
    await this.#board.tellWorker(this.#campaign.id, this.#name, {
      state,
      adapter: this.#adapter,
      jobs: this.#options.jobs,
      injections: this.done.injections,
      beat: this.#beat++,
      ...(reason !== undefined && { reason }),
    });
  }
}

/** Returns the name of the unit that a job needs open. */
const unitOf = (job: Job & Partial<Unit>): string => JSON.stringify([job.program, job.configuration]);
