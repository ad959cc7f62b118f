import { CampaignError } from "../model/failure.ts";
import type { Fault } from "../model/faultModel.ts";
import type { Observation } from "../model/outcome.ts";
import { ProcessLost, type WatchedProcess } from "./watchedProcess.ts";

/**
 * The number of injections requested in advance, so that the device need not wait for this process.
 */
const AHEAD = 8;
/** The bytes of memory above which a process is restarted between two injections. */
const MOST_BYTES = 2 * 2 ** 30;
/** The number of consecutive failures to open the process after which injecting is given up. */
const RETRIES = 3;

/** The observations of an injection, or the way in which the process with the device was lost. */
export type Injected = Observation | { readonly lost: "crash" | "hang"; readonly detail: string };

/**
 * Injects faults in order, one at a time. If a fault crashes or hangs the process, the process is
 * restarted and the other faults follow.
 *
 * `open` prepares a process that was just started. `isOpen`: the process is prepared already.
 */
export async function* inject<Item extends { readonly fault: Fault }>(
  watched: WatchedProcess,
  items: Iterator<Item>,
  {
    open,
    milliseconds,
    isOpen: isOpenAlready = false,
  }: { open(): Promise<unknown>; readonly milliseconds: number; readonly isOpen?: boolean },
): AsyncGenerator<readonly [Item, Injected]> {
  const underWay: { item: Item; answer: Promise<Injected> }[] = [];
  /** The items whose injection was requested but not made. */
  let again: Item[] = [];
  const next = () => again.shift() ?? items.next().value;
  let isOpen = isOpenAlready;
  let failures = 0;
  // Other processes may take from the same items.
  for (let item = next(); item !== undefined || underWay.length > 0; ) {
    try {
      if (!isOpen) await open();
      isOpen = true;
      failures = 0;
    } catch (error) {
      if (!(error instanceof ProcessLost)) throw error;
      if (++failures < RETRIES) continue;
      throw new CampaignError(
        "device-process-failed",
        `the process with the device is lost each time: ${error.message}`,
      );
    }
    for (; underWay.length < AHEAD && item !== undefined; item = next()) {
      const answer = watched.ask("inject", { fault: item.fault }, milliseconds);
      // The rejection is handled when the item's turn comes.
      answer.catch(() => {});
      underWay.push({ item, answer });
    }
    const { item: struck, answer } = underWay.shift()!;
    const injected = await answer.catch((error: unknown): Injected => {
      if (error instanceof ProcessLost) return { lost: error.how, detail: error.message };
      throw error;
    });
    if ("lost" in injected || injected.error !== undefined || watched.bytes > MOST_BYTES) {
      // Requests made in advance are repeated: they have not begun, or have met an unusable device,
      // or are discarded with the process.
      watched.kill();
      const waiting = underWay.splice(0).map(({ item }) => item);
      again = [...waiting, ...(item === undefined ? [] : [item]), ...again];
      item = next();
      isOpen = false;
    }
    yield [struck, injected];
  }
}
