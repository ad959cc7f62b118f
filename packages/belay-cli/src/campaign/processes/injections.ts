import { CampaignError } from "../model/failure.ts";
import type { Fault } from "../model/faultModel.ts";
import type { Observation } from "../model/outcome.ts";
import { ProcessLost, type WatchedProcess } from "./watchedProcess.ts";

/** Injections asked for ahead, so that the device does not wait for this process. */
const AHEAD = 8;
/** Bytes of memory with which a process is started afresh between two injections. */
const MOST_BYTES = 2 * 2 ** 30;
/** Times in a row that the process may be lost before anything is injected. */
const RETRIES = 3;

/** What came of a fault: what was seen, or how the process with the device was lost. */
export type Injected = Observation | { readonly lost: "crash" | "hang"; readonly detail: string };

/**
 * Injects faults in order, one at a time. When one takes the process along, or does not end, the
 * process is started anew, and everything else goes on.
 *
 * `open` prepares a process that was just started.
 */
export async function* inject<Item extends { readonly fault: Fault }>(
  watched: WatchedProcess,
  items: Iterator<Item>,
  { open, milliseconds }: { open(): Promise<unknown>; readonly milliseconds: number },
): AsyncGenerator<readonly [Item, Injected]> {
  const underWay: { item: Item; answer: Promise<Injected> }[] = [];
  /** What was asked for and not done. */
  let again: Item[] = [];
  const next = () => again.shift() ?? items.next().value;
  let isOpen = false;
  let failures = 0;
  // Others may take from the same items.
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
      // Its own turn decides what becomes of a failure.
      answer.catch(() => {});
      underWay.push({ item, answer });
    }
    const { item: struck, answer } = underWay.shift()!;
    const injected = await answer.catch((error: unknown): Injected => {
      if (error instanceof ProcessLost) return { lost: error.how, detail: error.message };
      throw error;
    });
    if ("lost" in injected || injected.error !== undefined || watched.bytes > MOST_BYTES) {
      // What was asked for ahead was not begun, has met a device that is of no use any more, or is
      // done again.
      watched.kill();
      const waiting = underWay.splice(0).map(({ item }) => item);
      again = [...waiting, ...(item === undefined ? [] : [item]), ...again];
      item = next();
      isOpen = false;
    }
    yield [struck, injected];
  }
}
