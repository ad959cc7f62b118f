/** Runs a campaign: controls, profiles, and injections until every interval is narrow enough. */
import { performance } from "node:perf_hooks";
import { type CampaignConfiguration, unprotected } from "./configurations.ts";
import { CampaignError } from "./failure.ts";
import { drawFault, drawRestingFault, type Fault, type FaultModel } from "./faultModel.ts";
import { refuseOther } from "./fingerprint.ts";
import { type Injected, inject } from "./injections.ts";
import { classify } from "./outcome.ts";
import { injectionName, type Stratum, stratumName } from "./plan.ts";
import { digest } from "./random.ts";
import type { InjectionRecord, Settings, Shard, StoreRecord, UnitRecord } from "./records.ts";
import { Results } from "./results.ts";
import { readStore, Store } from "./store.ts";
import { ProcessLost, WatchedProcess } from "./watchedProcess.ts";

export interface CampaignOptions {
  /** Where the store is, or is to be. */
  readonly directory: string;
  readonly settings: Settings;
  readonly shard: Shard;
  /** Goes on with the campaign that the directory holds. */
  readonly resume: boolean;
  /** The module that knows the programs by name (see `Programs`). It is loaded by the process that keeps the device. */
  readonly programs: URL;
  /** Ends before it is done after so many milliseconds. Default: never. */
  readonly timeLimit?: number;
  /** Milliseconds that compiling a program, and running it without a fault a few times, may take. Default: two minutes. */
  readonly openLimit?: number;
  /** Milliseconds, besides fifty times those of a clean run, after which a struck run hangs. Default: two seconds. */
  readonly hangLimit?: number;
  readonly progress?: (progress: CampaignProgress) => void;
}

export interface CampaignProgress {
  readonly doing: string;
  /** Injections that are done, by this run of the campaign and in all, and that are planned, as far as is known. */
  readonly now: number;
  readonly done: number;
  readonly planned: number;
  /** Injections per second; 0 before the first. */
  readonly rate: number;
}

const CONTROL_RUNS = 3;
/** Milliseconds that starting a process and opening an adapter may take. */
const START_LIMIT = 60_000;
/** Milliseconds between two words about the progress. */
const TELL_EVERY = 200;

/**
 * Runs or resumes a campaign, and returns all that its store holds then. Rejects with a `CampaignError` when the store
 * cannot be used; what is wrong with one program only is a record of the store.
 */
export async function runCampaign(options: CampaignOptions): Promise<Results> {
  const { directory, settings, shard, resume } = options;
  const stored = resume ? readStore(directory) : undefined;
  if (stored) refuseOther(directory, stored.header, { settings, shard });
  const header = { kind: "header", version: 1, settings, shard } as const;
  using store = stored ? Store.resume(directory, stored) : Store.create(directory, header);
  const results = new Results(header, stored?.records ?? []);
  const run = new CampaignRun(options, results, store);
  try {
    await run.profile();
    while (await run.round());
  } finally {
    run.close();
    store.sync();
  }
  return results;
}

/** One injection to be done. */
interface Planned extends Stratum {
  readonly id: string;
  readonly number: number;
  readonly model: FaultModel;
  readonly fault: Fault;
}

class CampaignRun {
  readonly #options: CampaignOptions;
  readonly #results: Results;
  readonly #store: Store;
  readonly #watched: WatchedProcess;
  readonly #start = performance.now();
  #injecting = 0;
  #now = 0;
  #told = Number.NEGATIVE_INFINITY;

  constructor(options: CampaignOptions, results: Results, store: Store) {
    this.#options = options;
    this.#results = results;
    this.#store = store;
    this.#watched = new WatchedProcess(options.programs);
  }

  /** Runs every unit without a fault, and counts what it executes. */
  async profile(): Promise<void> {
    const { settings } = this.#options;
    for (const { name: program } of settings.programs) {
      let broken: CampaignError | undefined;
      for (const configuration of settings.configurations) {
        const unit = { program, configuration: configuration.name };
        if (this.#results.knows(unit)) continue;
        if (this.#isLate()) return;
        this.#tell(`${program}, ${configuration.name}: profile`);
        try {
          if (broken) throw broken;
          await this.#profile(program, configuration);
        } catch (error) {
          const failure = failureOf(error, program);
          // A program that is bad without protection is bad with it.
          if (configuration.name === unprotected.name) broken = failure;
          this.#add({ kind: "skipped", ...unit, code: failure.code, message: failure.message });
        }
      }
    }
  }

  async #profile(program: string, configuration: CampaignConfiguration): Promise<void> {
    const { openLimit = 120_000 } = this.#options;
    await this.#watched.ask("start", {}, START_LIMIT);
    const counted = this.#results.units.find((unit) => unit.program === program)?.kernels ?? [];
    const unit = await this.#watched.ask("open", { program, configuration, counted }, openLimit);
    const runs = await this.#watched.ask(
      "control",
      { runs: CONTROL_RUNS },
      CONTROL_RUNS * this.#limitOf(unit),
    );
    // The control first: a unit is known when its record is there.
    this.#add({ kind: "control", program, configuration: configuration.name, ...runs });
    this.#add(unit);
  }

  /** Does what is missing, as far as it is known to be; returns whether there was something. */
  async round(): Promise<boolean> {
    const missing = this.#missing();
    for (const [unit, planned] of missing) {
      if (this.#isLate()) return false;
      await this.#strike(unit, planned);
    }
    return missing.size > 0 && !this.#isLate();
  }

  /** Injections that are not in the store, by unit, in the order of their numbers. */
  #missing(): Map<UnitRecord, Planned[]> {
    const { settings, shard } = this.#options;
    const missing = new Map<UnitRecord, Planned[]>();
    for (const cell of this.#results.cells()) {
      for (const stratum of cell.progress.state === "open" ? cell.strata : []) {
        const name = stratumName({ ...stratum, ...stratum.unit });
        const done = this.#results.numbersOf(name);
        const planned = missing.get(stratum.unit) ?? [];
        missing.set(stratum.unit, planned);
        for (let number = shard.index; number < cell.progress.quota; number += shard.count) {
          if (!done.has(number)) planned.push(plan(stratum, name, number, settings.seed));
        }
      }
    }
    for (const [unit, planned] of missing) {
      if (planned.length === 0) missing.delete(unit);
      else planned.sort((a, b) => a.number - b.number);
    }
    return missing;
  }

  async #strike(unit: UnitRecord, planned: readonly Planned[]): Promise<void> {
    const { settings, openLimit = 120_000 } = this.#options;
    const { program } = unit;
    const configuration = settings.configurations.find(({ name }) => name === unit.configuration)!;
    const open = async () => {
      await this.#watched.ask("start", {}, START_LIMIT);
      await this.#watched.ask("reopen", { program, configuration }, openLimit);
    };
    const milliseconds = this.#limitOf(unit);
    const doing = `${program}, ${configuration.name}`;
    this.#tell(doing);
    let start = performance.now();
    for await (const [item, injected] of inject(this.#watched, planned, { open, milliseconds })) {
      this.#add(recordOf(item, injected));
      this.#now++;
      const now = performance.now();
      this.#injecting += now - start;
      start = now;
      this.#tell(doing);
      if (this.#isLate()) break;
    }
  }

  close(): void {
    this.#watched.kill();
  }

  #add(record: Exclude<StoreRecord, { kind: "header" }>): void {
    this.#store.append(record);
    this.#results.add(record);
  }

  /** A struck run may replay its work a few times; what takes longer than this hangs. */
  #limitOf({ milliseconds }: UnitRecord): number {
    return (this.#options.hangLimit ?? 2000) + 50 * milliseconds.protected;
  }

  #isLate(): boolean {
    const { timeLimit = Number.POSITIVE_INFINITY } = this.#options;
    return performance.now() - this.#start > timeLimit;
  }

  #tell(doing: string): void {
    const { progress } = this.#options;
    const time = performance.now();
    if (!progress || time - this.#told < TELL_EVERY) return;
    this.#told = time;
    const rate = this.#injecting === 0 ? 0 : (1000 * this.#now) / this.#injecting;
    const { done, planned } = this.#results.amount();
    progress({ doing, now: this.#now, done, planned, rate });
  }
}

function plan(stratum: Stratum, name: string, number: number, seed: number): Planned {
  const { unit, kernel, structure, models } = stratum;
  const injection = injectionName(seed, name, number);
  const replicas = unit.configuration === unprotected.name ? 1 : 2;
  const struck = () => unit.kernels.find((each) => each.kernel === kernel)!;
  const drawn =
    structure === "memory"
      ? { model: "at-rest" as const, fault: drawRestingFault(injection, unit.buffers) }
      : drawFault(injection, struck(), structure, models, replicas);
  return { ...stratum, ...drawn, number, id: digest(injection) };
}

function recordOf(
  { unit, id, kernel, structure, model, number, fault }: Planned,
  injected: Injected,
): InjectionRecord {
  const detail = "lost" in injected ? injected.detail : injected.error;
  return {
    kind: "injection",
    id,
    ...{ program: unit.program, configuration: unit.configuration, kernel, structure, model, number, fault },
    outcome: "lost" in injected ? injected.lost : classify(injected),
    ...(detail !== undefined && { detail }),
  };
}

function failureOf(error: unknown, program: string): CampaignError {
  if (error instanceof CampaignError) return error;
  if (!(error instanceof ProcessLost)) throw error;
  return error.how === "hang"
    ? new CampaignError("BELAY604", `${program} does not end: ${error.message}`)
    : new CampaignError("BELAY602", `${program} fails without a fault: ${error.message}`);
}
