/** The work of a campaign on its units, by one process with a device: profiles and injections. */
import { codeOf } from "belay-gpu/internal/diagnostics/registry";
import { unprotected } from "./model/configurations.ts";
import { CampaignError } from "./model/failure.ts";
import type { StruckKernel } from "./model/profile.ts";
import type {
  CampaignSettings,
  ControlRecord,
  InjectionRecord,
  SkipRecord,
  Unit,
  UnitRecord,
} from "./model/records.ts";
import { type PlannedInjection, recordOf } from "./planned.ts";
import { inject } from "./processes/injections.ts";
import { openDevice, ProcessLost, START_LIMIT, type WatchedProcess } from "./processes/watchedProcess.ts";

/** The limits of the work on one unit, and the listeners to it. */
export interface UnitWork {
  readonly settings: CampaignSettings;
  /** The time limit for compiling a program and running it a few times without a fault. */
  readonly openLimitMs: number;
  /** The time after which a struck run counts as hanging, without the time of clean runs. */
  readonly hangLimitMs: number;
  /** Checks the adapter of a process before it works. Throws for an adapter that is refused. */
  useAdapter(description: string): void;
  /** Receives the name of the current work. */
  tell(doing: string): void;
  isOver(): boolean;
}

/** The limits of work whose options name none; see `CampaignOptions`. */
export const standardLimits = { openLimitMs: 120_000, hangLimitMs: 2000 } as const;

const CONTROL_RUNS = 3;
/** The number of crashes while a program is profiled after which the program is left out. */
const ATTEMPTS = 2;

type Profile = ControlRecord | UnitRecord | SkipRecord;
type Reason = Omit<SkipRecord, "kind" | keyof Unit>;

/**
 * Runs a program without a fault in each of the named configurations, and counts the executions of
 * its sites. A unit that cannot be profiled ends in a `SkipRecord`.
 *
 * `counted`: the kernels of a unit of the same program that is known already.
 */
export async function* profilesOf(
  program: string,
  configurations: readonly string[],
  watched: WatchedProcess,
  work: UnitWork,
  counted: readonly StruckKernel[] = [],
): AsyncGenerator<Profile> {
  let known = counted;
  let broken: Reason | undefined;
  for (const configuration of configurations) {
    if (work.isOver()) return;
    const unit = { program, configuration };
    work.tell(`${program}, ${configuration}: profile`);
    const profile = broken ?? (await profileUnit(unit, watched, work, known));
    if (Array.isArray(profile)) {
      yield* profile;
      if (known.length === 0) known = profile[1].kernels;
      continue;
    }
    // A program that fails without protection also fails with protection.
    if (configuration === unprotected.name) broken = profile;
    yield { kind: "skipped", ...unit, ...profile };
  }
}

/** Profiles a unit. Returns the reason if the unit is left out. */
async function profileUnit(
  unit: Unit,
  watched: WatchedProcess,
  work: UnitWork,
  counted: readonly StruckKernel[],
): Promise<[ControlRecord, UnitRecord] | Reason> {
  for (let attempt = 1; ; attempt++) {
    work.useAdapter((await openDevice(watched)).adapter);
    try {
      return await countUnit(unit, watched, work, counted);
    } catch (error) {
      const isLost = error instanceof ProcessLost;
      // The program need not be the cause of a crash. A program that crashes each time is left
      // out.
      if (isLost && error.how === "crash" && attempt < ATTEMPTS) continue;
      const { code, message } = failureOf(error, unit.program);
      if (code === codeOf("other-campaign")) throw error;
      return { code, message, ...(isLost && { lost: true }) };
    }
  }
}

async function countUnit(
  unit: Unit,
  watched: WatchedProcess,
  work: UnitWork,
  counted: readonly StruckKernel[],
): Promise<[ControlRecord, UnitRecord]> {
  const { seed } = work.settings;
  const opened = await watched.ask(
    "open",
    { program: unit.program, digest: digestOf(unit, work), configuration: named(unit, work), counted, seed },
    work.openLimitMs,
  );
  const control = await watched.ask(
    "control",
    { runs: CONTROL_RUNS },
    CONTROL_RUNS * limitOf(opened, work, 1),
  );
  // The control comes first, because a unit counts as known once its own record exists.
  return [{ kind: "control", ...unit, ...control }, opened];
}

/**
 * Makes planned injections into one unit. `isOpen` is true if the process has the unit open
 * already.
 */
export async function* strike(
  unit: UnitRecord,
  planned: Iterator<PlannedInjection>,
  watched: WatchedProcess,
  work: UnitWork,
  isOpen = false,
): AsyncGenerator<InjectionRecord> {
  const { program, configuration, kernels } = unit;
  const open = async () => {
    const { adapter } = await watched.ask("start", {}, START_LIMIT);
    work.useAdapter(adapter);
    const question = { program, digest: digestOf(unit, work), configuration: named(unit, work), kernels };
    await watched.ask("reopen", question, work.openLimitMs);
  };
  const limits = { openLimitMs: work.openLimitMs, limitMs: (runs: number) => limitOf(unit, work, runs) };
  for await (const [item, injected] of inject(watched, planned, { open, ...limits, isOpen })) {
    yield recordOf(item, injected);
    work.tell(`${program}, ${configuration}`);
    if (work.isOver()) break;
  }
}

const named = ({ configuration }: Unit, { settings }: UnitWork) =>
  settings.configurations.find(({ name }) => name === configuration)!;

const digestOf = ({ program }: Unit, { settings }: UnitWork) =>
  settings.programs.find(({ name }) => name === program)!.digest;

/**
 * Returns the milliseconds after which struck runs count as hanging. The limit leaves time for
 * replaying the work.
 */
const limitOf = ({ milliseconds }: UnitRecord, { hangLimitMs }: UnitWork, runs: number) =>
  hangLimitMs + 50 * runs * milliseconds.protected;

function failureOf(error: unknown, program: string): CampaignError {
  if (error instanceof CampaignError) return error;
  if (!(error instanceof ProcessLost)) throw error;
  return error.how === "hang"
    ? new CampaignError("program-not-ending", `${program} does not end: ${error.message}`)
    : new CampaignError("program-fails", `${program} fails without a fault: ${error.message}`);
}
