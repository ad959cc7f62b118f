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
import { codeOf } from "belay-gpu/internal/diagnostics/registry";
import { type CampaignConfiguration, unprotected } from "./model/configurations.ts";
import { CampaignError } from "./model/failure.ts";
import { refuseOther, refuseOtherAdapter } from "./model/fingerprint.ts";
import type { CampaignSettings, Shard, SkipRecord, StoreRecord, Unit, UnitRecord } from "./model/records.ts";
import { type Missing, missingInjections, recordOf } from "./planned.ts";
import { inject } from "./processes/injections.ts";
import {
  openDevice,
  ProcessLost,
  START_LIMIT,
  type WatchedProcess,
  WatchedProcesses,
} from "./processes/watchedProcess.ts";
import { Results } from "./results/results.ts";
import { isCutShort, Store } from "./store/store.ts";

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

const CONTROL_RUNS = 3;
/** The number of crashes while a program is profiled after which the program is left out. */
const ATTEMPTS = 2;
/** The number of a unit's injections that one process makes before another is worth its start. */
const SHARED = 200;
/**
 * Runs or resumes a campaign, and returns everything that its store then holds. Rejects with a
 * `CampaignError` when the store cannot be used, with a `TypeError` for unknown options, and with
 * the signal's reason. A problem with one program becomes a record of the store.
 */
export async function runCampaign(given: CampaignOptions): Promise<Results> {
  refuseUnknown(given, options);
  const { directory, settings, shard, resume, signal } = given;
  signal?.throwIfAborted();
  const header = { kind: "header", version: 1, settings, shard } as const;
  using store = resume && !isCutShort(directory) ? Store.resume(directory) : Store.create(directory, header);
  refuseOther(directory, store.begunWith.header, { settings, shard });
  const known = store.begunWith.records.filter((record) => record.kind !== "skipped" || !record.lost);
  const results = new Results(header, known);
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

  constructor(options: CampaignOptions, results: Results, store: Store) {
    this.#options = options;
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
    let broken: Omit<SkipRecord, "kind" | keyof Unit> | undefined;
    for (const configuration of this.#options.settings.configurations) {
      const unit = { program, configuration: configuration.name };
      if (this.#results.knows(unit)) continue;
      if (this.#isOver()) return;
      this.#tell(`${program}, ${configuration.name}: profile`);
      const failure = broken ?? (await this.#profileUnit(program, configuration, watched));
      if (!failure) continue;
      // A program that fails without protection also fails with protection.
      if (configuration.name === unprotected.name) broken = failure;
      this.#add({ kind: "skipped", ...unit, ...failure });
    }
  }

  /** Profiles a unit. Returns the reason if the unit is left out. */
  async #profileUnit(
    program: string,
    configuration: CampaignConfiguration,
    watched: WatchedProcess,
  ): Promise<Omit<SkipRecord, "kind" | keyof Unit> | undefined> {
    for (let attempt = 1; ; attempt++) {
      this.#useAdapter(await openDevice(watched));
      try {
        return await this.#countUnit(program, configuration, watched);
      } catch (error) {
        const isLost = error instanceof ProcessLost;
        // The program need not be the cause of a crash. A program that crashes each time is left
        // out.
        if (isLost && error.how === "crash" && attempt < ATTEMPTS) continue;
        const { code, message } = failureOf(error, program);
        if (code === codeOf("other-campaign")) throw error;
        return { code, message, ...(isLost && { lost: true }) };
      }
    }
  }

  async #countUnit(
    program: string,
    configuration: CampaignConfiguration,
    watched: WatchedProcess,
  ): Promise<undefined> {
    const { openLimitMs = 120_000 } = this.#options;
    const counted = this.#results.units.find((unit) => unit.program === program)?.kernels ?? [];
    const { seed } = this.#options.settings;
    const digest = this.#digestOf(program);
    const unit = await watched.ask("open", { program, digest, configuration, counted, seed }, openLimitMs);
    const control = await watched.ask("control", { runs: CONTROL_RUNS }, CONTROL_RUNS * this.#limitOf(unit));
    // The control comes first, because a unit counts as known once its own record exists.
    this.#add({ kind: "control", program, configuration: configuration.name, ...control });
    this.#add(unit);
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
    const { settings, openLimitMs = 120_000 } = this.#options;
    const { program } = unit;
    const configuration = settings.configurations.find(({ name }) => name === unit.configuration)!;
    const open = async () => {
      const { adapter } = await watched.ask("start", {}, START_LIMIT);
      this.#useAdapter(adapter);
      const digest = this.#digestOf(program);
      await watched.ask("reopen", { program, digest, configuration, kernels: unit.kernels }, openLimitMs);
    };
    const milliseconds = this.#limitOf(unit);
    const doing = `${program}, ${configuration.name}`;
    for await (const [item, injected] of inject(watched, planned, { open, milliseconds })) {
      this.#add(recordOf(item, injected));
      this.#tell(doing);
      if (this.#isOver()) break;
    }
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

  #digestOf(program: string): string {
    return this.#options.settings.programs.find(({ name }) => name === program)!.digest;
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

  /**
   * Returns the milliseconds after which a struck run counts as hanging. The limit leaves time for
   * replaying the work.
   */
  #limitOf({ milliseconds }: UnitRecord): number {
    return (this.#options.hangLimitMs ?? 2000) + 50 * milliseconds.protected;
  }

  #isOver(): boolean {
    const { timeLimitMs = Number.POSITIVE_INFINITY, signal } = this.#options;
    return signal?.aborted || this.#processes.failed || performance.now() - this.#start > timeLimitMs;
  }
}

const timeOf = ({ unit, count }: Missing) => count * unit.milliseconds.protected;

function failureOf(error: unknown, program: string): CampaignError {
  if (error instanceof CampaignError) return error;
  if (!(error instanceof ProcessLost)) throw error;
  return error.how === "hang"
    ? new CampaignError("program-not-ending", `${program} does not end: ${error.message}`)
    : new CampaignError("program-fails", `${program} fails without a fault: ${error.message}`);
}

/** The least time between two reports of the progress, in milliseconds. */
const TELL_EVERY = 200;
