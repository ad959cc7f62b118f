import { CampaignError } from "./failure.ts";
import { ProcessLost, type WatchedProcess } from "./watchedProcess.ts";

/** Milliseconds that starting a process and opening an adapter may take. */
export const START_LIMIT = 60_000;
const ATTEMPTS = 3;

/**
 * Opens the device in a process, and returns its adapter's description. Rejects with a
 * `CampaignError` where there is none, which says nothing of the programs: a campaign ends with it,
 * and can be resumed.
 */
export async function openDevice(watched: Pick<WatchedProcess, "ask">): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    try {
      const { adapter } = await watched.ask("start", {}, START_LIMIT);
      return adapter;
    } catch (error) {
      if (!(error instanceof ProcessLost)) throw error;
      if (attempt < ATTEMPTS) continue;
      throw new CampaignError("BELAY612", `no device can be opened: ${error.message}`, { cause: error });
    }
  }
}
