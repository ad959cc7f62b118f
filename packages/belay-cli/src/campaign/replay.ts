import { CampaignError } from "./model/failure.ts";
import { classify, type Outcome } from "./model/outcome.ts";
import type { StruckKernel, StruckSite } from "./model/profile.ts";
import type { InjectionRecord } from "./model/records.ts";
import type { Explanation } from "./processes/instance.ts";
import type { Exchanges } from "./processes/messages.ts";
import { openDevice, ProcessLost, WatchedProcess } from "./processes/watchedProcess.ts";
import { readResults } from "./store/merge.ts";

/** One injection, made again. */
export interface Replay {
  readonly injection: InjectionRecord;
  /** The struck kernel and site; absent for a fault at rest. */
  readonly place?: { readonly kernel: StruckKernel; readonly site: StruckSite };
  /** The outcome of the repeated injection. */
  readonly outcome: Outcome;
  /** The details; absent when the process was lost. */
  readonly explanation?: Explanation;
  readonly detail?: string;
  /** The adapters of the campaign and of this process, if they differ. */
  readonly elsewhere?: { readonly begunOn: string; readonly present: string };
}

/**
 * Injects one fault of a campaign again, and returns all details. Rejects with a `CampaignError` if
 * the injection is unknown or the program cannot be prepared.
 */
export async function replay(directory: string, id: string, programs: URL): Promise<Replay> {
  const { header, injections, units, adapter: begunOn } = readResults(directory);
  const found = injections.filter((injection) => injection.id.startsWith(id));
  const [injection] = found;
  if (!injection || found.length > 1) {
    const what = injection ? `${found.length} injections whose ids begin with ${id}` : `no injection ${id}`;
    throw new CampaignError("unknown-injection", `${directory} has ${what}`, {
      help: "the lines of campaign.jsonl that tell of injections have ids",
    });
  }
  const { program, fault } = injection;
  const configuration = header.settings.configurations.find(({ name }) => name === injection.configuration)!;
  const unit = units.find((each) => each.program === program && each.configuration === configuration.name);
  const kernel = unit?.kernels.find((each) => each.kernel === injection.kernel);
  const site = "site" in fault ? kernel?.sites.find((each) => each.id === fault.site) : undefined;
  const place = kernel && site ? { place: { kernel, site } } : {};
  const watched = new WatchedProcess(programs);
  let elsewhere: Pick<Replay, "elsewhere"> = {};
  try {
    const { adapter: present } = await openDevice(watched);
    if (begunOn !== undefined && begunOn !== present) elsewhere = { elsewhere: { begunOn, present } };
    const { digest } = header.settings.programs.find(({ name }) => name === program)!;
    await makeReady(watched, { program, digest, configuration, kernels: unit?.kernels ?? [] });
    const explanation = await watched.ask(
      "explain",
      { fault },
      10_000 + 100 * (unit?.milliseconds.protected ?? 0),
    );
    return { injection, ...place, ...elsewhere, outcome: classify(explanation), explanation };
  } catch (error) {
    if (!(error instanceof ProcessLost)) throw error;
    return { injection, ...place, ...elsewhere, outcome: error.how, detail: error.message };
  } finally {
    watched.kill();
  }
}

/**
 * Reopens the unit. Rejects with a `CampaignError` if the process is lost, because no fault has
 * struck yet.
 */
async function makeReady(watched: WatchedProcess, unit: Exchanges["reopen"]["ask"]): Promise<void> {
  try {
    await watched.ask("reopen", unit, 120_000);
  } catch (error) {
    if (!(error instanceof ProcessLost)) throw error;
    throw new CampaignError(
      "device-process-failed",
      `${unit.program} cannot be made ready: ${error.message}`,
      {
        cause: error,
      },
    );
  }
}
