import { CampaignError } from "../model/failure.ts";
import type { Fault } from "../model/faultModel.ts";
import type { Observation } from "../model/outcome.ts";
import { ProcessLost, type WatchedProcess } from "./watchedProcess.ts";

/**
 * The number of injections requested in advance, so that the device need not wait for this process.
 */
const AHEAD = 8;
/** The number of injections of an opened program that are made one at a time. */
const ALONE = 64;
/** The number of later injections in a group; at most `ALONE`. */
const GROUP = 32;
/** The number of instances that run side by side. */
const INSTANCES = 4;
/** The bytes of memory above which a process is restarted between two groups. */
const MOST_BYTES = 2 * 2 ** 30;
/** The number of consecutive failures to open the process after which injecting is given up. */
const RETRIES = 3;

/** The observations of an injection, or the way in which the process with the device was lost. */
export type Injected = Observation | { readonly lost: "crash" | "hang"; readonly detail: string };

/** The way to prepare a process, and its limits. */
interface InjectOptions {
  /** Prepares a process that was just started. */
  open(): Promise<unknown>;
  /** True if the process is prepared already. */
  readonly isOpen?: boolean;
  /** The time limit for opening further instances of the program, in milliseconds. */
  readonly openLimitMs: number;
  /** Returns the time limit for so many runs, in milliseconds. */
  limitMs(runs: number): number;
}

interface Group<Item> {
  readonly items: readonly Item[];
  readonly answer: Promise<readonly Observation[]>;
}

/**
 * Injects faults in order. The first ones are injected one at a time, later ones in groups that run
 * side by side. A process that a fault crashes or hangs is restarted. Its group is then injected
 * one at a time before the other faults follow.
 */
export async function* inject<Item extends { readonly fault: Fault }>(
  watched: WatchedProcess,
  items: Iterator<Item>,
  { open, openLimitMs, limitMs, isOpen = false }: InjectOptions,
): AsyncGenerator<readonly [Item, Injected]> {
  let underWay: Group<Item>[] = [];
  /** The items that were taken but not injected. */
  let waiting: Item[] = [];
  let group = 1;
  let canWiden = true;
  let failures = 0;
  /** The number of injections to make before groups begin. */
  let alone = ALONE;
  const take = (count: number): readonly Item[] => {
    while (waiting.length < count) {
      const { value, done } = items.next();
      // Other processes may take from the same items.
      if (done) break;
      waiting.push(value);
    }
    return waiting.splice(0, count);
  };
  const hasMore = () => {
    waiting = [...take(1), ...waiting];
    return waiting.length > 0;
  };
  const request = (struck: readonly Item[]) => {
    const faults = struck.map(({ fault }) => fault);
    const answer = watched.ask("inject", { faults }, limitMs(struck.length));
    // The rejection is handled when the group's turn comes.
    answer.catch(() => {});
    underWay.push({ items: struck, answer });
    alone -= struck.length;
  };
  const widens = () => group === 1 && alone <= 0 && canWiden;
  while (underWay.length > 0 || hasMore()) {
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
    if (widens() && underWay.length === 0) {
      try {
        await watched.ask("widen", { instances: INSTANCES }, openLimitMs);
        group = GROUP;
      } catch {
        // The faults can still be injected one at a time.
        canWiden = false;
        watched.kill();
        isOpen = false;
        continue;
      }
    }
    const requested = () => underWay.reduce((sum, { items }) => sum + items.length, 0);
    while (requested() < Math.max(AHEAD, 2 * group) && !widens() && hasMore()) request(take(group));
    const { items: struck, answer } = underWay.shift()!;
    const injected = await answer.catch((error: unknown): readonly Injected[] => {
      if (error instanceof ProcessLost) return struck.map(() => ({ lost: error.how, detail: error.message }));
      throw error;
    });
    const isBroken = injected.some((each) => "lost" in each || each.error !== undefined);
    if (isBroken || watched.bytes > MOST_BYTES) {
      watched.kill();
      // Requests made in advance are repeated: they have not begun, or have met an unusable device,
      // or are discarded with the process. In a group, any fault may be the cause.
      const repeated = isBroken && struck.length > 1 ? [...struck] : [];
      waiting = [...repeated, ...underWay.flatMap(({ items }) => items), ...waiting];
      underWay = [];
      [isOpen, group, alone] = [false, 1, ALONE];
      if (repeated.length > 0) continue;
    }
    for (const [i, item] of struck.entries()) yield [item, injected[i]!];
  }
}
