/**
 * The run of a campaign: controls, profiles, and injections until every interval is narrow enough.
 */

import { performance } from "node:perf_hooks";
import type { LongWork } from "belay-gpu";
import {
  flag,
  longWork,
  refuseUnknown,
  type Values,
  wholeFrom,
} from "belay-gpu/internal/diagnostics/options";
import { beginStore } from "./begin.ts";
import { refuseOtherAdapter } from "./model/fingerprint.ts";
import type { CampaignSettings, Shard, StoreRecord } from "./model/records.ts";
import { type Missing, missingInjections } from "./planned.ts";
import { type WatchedProcess, WatchedProcesses } from "./processes/watchedProcess.ts";
import type { Results } from "./results/results.ts";
import type { Store } from "./store/store.ts";
import { profilesOf, standardLimits, strike, type UnitWork } from "./unitWork.ts";

/**
 * The options of {@link runCampaign}. A step of the progress is one injection; the number of
 * injections depends on their outcomes. An abort ends the processes and leaves a store that can be
 * resumed.
 */
export interface CampaignOptions extends LongWork {
  /** The directory of the store, existing or new. */
  readonly directory: string;
  readonly settings: CampaignSettings;
  readonly shard: Shard;
  /** True if the campaign in the directory is resumed. */
  readonly resume: boolean;
  /**
   * The module that knows the programs by name (see `Programs`). The process that keeps the device
   * loads it.
   */
  readonly programs: URL;
  /** The number of processes with a device, which inject at the same time. Default: one. */
  readonly jobs?: number;
  /** The time in milliseconds after which an unfinished campaign stops. Default: never. */
  readonly timeLimitMs?: number;
  /**
   * The time limit for compiling a program and running it a few times without a fault, in
   * milliseconds. Default: two minutes.
   */
  readonly openLimitMs?: number;
  /**
   * The time in milliseconds after which a struck run counts as hanging. Fifty times the duration
   * of a clean run is added. Default: two seconds.
   */
  readonly hangLimitMs?: number;
}

const options: { readonly [Name in keyof Required<CampaignOptions>]: Values | null } = {
  directory: null,
  settings: null,
  shard: null,
  resume: flag,
  programs: null,
  jobs: wholeFrom(1),
  timeLimitMs: null,
  openLimitMs: null,
  hangLimitMs: null,
  ...longWork,
};

/** The number of a unit's injections that one process makes before another is worth its start. */
const SHARED = 200;

/**
 * Runs or resumes a campaign, and returns everything that its store then holds. Rejects with a
 * `CampaignError` when the store cannot be used, with a `TypeError` for unknown options, and with
 * the signal's reason. A problem with one program becomes a record of the store.
 */
export async function runCampaign(given: CampaignOptions): Promise<Results> {
  refuseUnknown(given, options);
  const { signal } = given;
  signal?.throwIfAborted();
  const { store, results } = beginStore(given);
  using _ = store;
  const run = new CampaignRun(given, results, store);
  const abort = () => run.end(signal!.reason);
  signal?.addEventListener("abort", abort);
  try {
    await run.profile();
    while (await run.round());
    signal?.throwIfAborted();
  } finally {
    signal?.removeEventListener("abort", abort);
    run.end(new Error("the campaign has ended"));
    store.sync();
  }
  return results;
}

class CampaignRun {
  readonly #options: CampaignOptions;
  readonly #results: Results;
  readonly #store: Store;
  readonly #processes: WatchedProcesses;
  #told = Number.NEGATIVE_INFINITY;
  readonly #start = performance.now();
  readonly #work: UnitWork;

  constructor(options: CampaignOptions, results: Results, store: Store) {
    this.#options = options;
    const { settings, openLimitMs, hangLimitMs } = options;
    this.#work = {
      settings,
      openLimitMs: openLimitMs ?? standardLimits.openLimitMs,
      hangLimitMs: hangLimitMs ?? standardLimits.hangLimitMs,
      useAdapter: (adapter) => this.#useAdapter(adapter),
      tell: (doing) => this.#tell(doing),
      isOver: () => this.#isOver(),
    };
    this.#results = results;
    this.#store = store;
    this.#processes = new WatchedProcesses(options.jobs ?? 1, options.programs);
  }

  /** Runs every unit without a fault, and counts the executions of its sites. */
  profile(): Promise<void> {
    const { programs } = this.#options.settings;
    return this.#processes.share(
      programs,
      () => this.#isOver(),
      ({ name }, watched) => this.#profile(name, watched),
    );
  }

  async #profile(program: string, watched: WatchedProcess): Promise<void> {
    const missing = this.#results.unknownConfigurations(program);
    const counted = this.#results.units.find((unit) => unit.program === program)?.kernels;
    for await (const record of profilesOf(program, missing, watched, this.#work, counted)) this.#add(record);
  }

  /** Makes the missing injections of the rounds decided so far. Returns whether there were any. */
  async round(): Promise<boolean> {
    const missing = missingInjections(this.#results);
    // The longest parts begin first. Large parts are shared among the processes.
    const all = missing.reduce((sum, { count }) => sum + count, 0);
    const most = Math.max(SHARED, Math.ceil(all / this.#processes.count));
    const parts = missing
      .toSorted((a, b) => timeOf(b) - timeOf(a))
      .flatMap((part) =>
        Array.from({ length: Math.min(this.#processes.count, Math.ceil(part.count / most)) }, () => part),
      );
    await this.#processes.share(
      parts,
      () => this.#isOver(),
      (part, watched) => this.#strike(part, watched),
    );
    return missing.length > 0 && !this.#isOver();
  }

  async #strike({ unit, planned }: Missing, watched: WatchedProcess): Promise<void> {
    for await (const record of strike(unit, planned, watched, this.#work)) this.#add(record);
  }

  /**
   * Records the adapter that the campaign begins on. Refuses any other adapter, also when a GPU is
   * lost during the campaign.
   */
  #useAdapter(adapter: string): void {
    const begunOn = this.#results.adapter;
    if (begunOn === undefined) this.#add({ kind: "adapter", description: adapter });
    else refuseOtherAdapter(this.#options.directory, begunOn, adapter);
  }

  /** Ends the processes permanently. Nothing is recorded afterwards. */
  end(reason: unknown): void {
    this.#processes.end(reason);
  }

  #tell(doing: string): void {
    const { onProgress } = this.#options;
    const time = performance.now();
    if (!onProgress || time - this.#told < TELL_EVERY) return;
    this.#told = time;
    onProgress({ doing, ...this.#results.amount() });
  }

  #add(record: Exclude<StoreRecord, { kind: "header" }>): void {
    this.#store.append(record);
    this.#results.add(record);
  }

  #isOver(): boolean {
    const { timeLimitMs = Number.POSITIVE_INFINITY, signal } = this.#options;
    return signal?.aborted || this.#processes.failed || performance.now() - this.#start > timeLimitMs;
  }
}

const timeOf = ({ unit, count }: Missing) => count * unit.milliseconds.protected;

/** The least time between two reports of the progress, in milliseconds. */
const TELL_EVERY = 200;
