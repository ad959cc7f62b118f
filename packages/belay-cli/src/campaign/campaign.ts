/** Runs a campaign: controls, profiles, and injections until every interval is narrow enough. */

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
import type { Settings, Shard, SkipRecord, StoreRecord, Unit, UnitRecord } from "./model/records.ts";
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
 * What to inject, where to keep it, and with how many processes. A step of the progress is an
 * injection; how many there are follows from what they find. An abort ends the processes, and
 * leaves a store that can be resumed.
 */
export interface CampaignOptions extends LongWork {
  /** Where the store is, or is to be. */
  readonly directory: string;
  readonly settings: Settings;
  readonly shard: Shard;
  /** Goes on with the campaign that the directory holds. */
  readonly resume: boolean;
  /**
   * The module that knows the programs by name (see `Programs`). It is loaded by the process that
   * keeps the device.
   */
  readonly programs: URL;
  /** Processes with a device, which inject at the same time. Default: one. */
  readonly jobs?: number;
  /** Ends before it is done after so many milliseconds. Default: never. */
  readonly timeLimit?: number;
  /**
   * Milliseconds that compiling a program, and running it without a fault a few times, may take.
   * Default: two minutes.
   */
  readonly openLimit?: number;
  /**
   * Milliseconds, besides fifty times those of a clean run, after which a struck run hangs.
   * Default: two seconds.
   */
  readonly hangLimit?: number;
}

const options: { readonly [Name in keyof Required<CampaignOptions>]: Values | null } = {
  directory: null,
  settings: null,
  shard: null,
  resume: flag,
  programs: null,
  jobs: wholeFrom(1),
  timeLimit: null,
  openLimit: null,
  hangLimit: null,
  ...longWork,
};

const CONTROL_RUNS = 3;
/** Times that the process may end while a program is profiled, before the program is left out. */
const ATTEMPTS = 2;
/** Injections of a unit that are worth another process's start. */
const SHARED = 200;
/**
 * Runs or resumes a campaign, and returns all that its store holds then. Rejects with a
 * `CampaignError` when the store cannot be used, with a `TypeError` for options that do not exist,
 * and with the signal's reason. What is wrong with one program only is a record of the store.
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

  /** Runs every unit without a fault, and counts what it executes. */
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
      // A program that is bad without protection is bad with it.
      if (configuration.name === unprotected.name) broken = failure;
      this.#add({ kind: "skipped", ...unit, ...failure });
    }
  }

  /** Returns why the unit is left out, if it is. */
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
        // Whoever ended the process need not have been the program. One that ends it each time is
        // bad.
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
    const { openLimit = 120_000 } = this.#options;
    const counted = this.#results.units.find((unit) => unit.program === program)?.kernels ?? [];
    const { seed } = this.#options.settings;
    const digest = this.#digestOf(program);
    const unit = await watched.ask("open", { program, digest, configuration, counted, seed }, openLimit);
    const control = await watched.ask("control", { runs: CONTROL_RUNS }, CONTROL_RUNS * this.#limitOf(unit));
    // The control first: a unit is known when its record is there.
    this.#add({ kind: "control", program, configuration: configuration.name, ...control });
    this.#add(unit);
  }

  /** Does what is missing, as far as it is known to be; returns whether there was something. */
  async round(): Promise<boolean> {
    const missing = missingInjections(this.#results);
    // What takes longest begins first, and what many processes wait for is shared among them.
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
    const { settings, openLimit = 120_000 } = this.#options;
    const { program } = unit;
    const configuration = settings.configurations.find(({ name }) => name === unit.configuration)!;
    const open = async () => {
      const { adapter } = await watched.ask("start", {}, START_LIMIT);
      this.#useAdapter(adapter);
      const digest = this.#digestOf(program);
      await watched.ask("reopen", { program, digest, configuration, kernels: unit.kernels }, openLimit);
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
   * Records the adapter that the campaign begins on, and refuses any other, also where a GPU is
   * lost on the way.
   */
  #useAdapter(adapter: string): void {
    const begunOn = this.#results.adapter;
    if (begunOn === undefined) this.#add({ kind: "adapter", description: adapter });
    else refuseOtherAdapter(this.#options.directory, begunOn, adapter);
  }

  #digestOf(program: string): string {
    return this.#options.settings.programs.find(({ name }) => name === program)!.digest;
  }

  /** Ends the processes for good. Nothing is recorded after that. */
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

  /** A struck run may replay its work a few times; what takes longer than this hangs. */
  #limitOf({ milliseconds }: UnitRecord): number {
    return (this.#options.hangLimit ?? 2000) + 50 * milliseconds.protected;
  }

  #isOver(): boolean {
    const { timeLimit = Number.POSITIVE_INFINITY, signal } = this.#options;
    return signal?.aborted || this.#processes.failed || performance.now() - this.#start > timeLimit;
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

/** Milliseconds between two words about the progress. */
const TELL_EVERY = 200;
