import type { ReportSnapshot } from "../context/reportArena.ts";
import type { DamageDetection } from "../memory/memoryProtection.ts";
import { type CheckResult, isClean, isHashed, isUndecided } from "./checkResult.ts";
import type { Epoch } from "./epoch.ts";
import type { EpochReports } from "./epochReports.ts";
import type { FaultLog } from "./faultLog.ts";
import type { Journal } from "./journal.ts";
import { compareStored, placesOf, readStored } from "./storedDifference.ts";
import type { StoreSearch, Substitution } from "./storeSearch.ts";

/**
 * A pending mapping of a buffer, which must get out of the way while work that uses the buffer runs
 * again.
 */
export interface PendingMapping {
  suspend(): void;
  resume(): void;
}

/** What came of running work again. */
interface Reexecuted {
  /** All that ran again. */
  readonly epochs: readonly Epoch[];
  /** What the last check of it has found. */
  readonly last: CheckResult;
  readonly attempts: number;
  /** Why the last attempt did not run, or only in part. */
  readonly failure?: string;
}

export interface ReexecutionParts {
  readonly device: GPUDevice;
  readonly reports: EpochReports;
  readonly journal: Journal;
  readonly memory: DamageDetection;
  /** How often work is run again at most. */
  readonly retries: number;
  readonly search: StoreSearch;
  /** Called before work runs again. */
  readonly onReplay: () => void;
}

/** Puts unverified work back and runs it again. */
export class Reexecution {
  /** The mappings that are pending now. */
  readonly mappings = new Set<PendingMapping>();
  readonly #parts: ReexecutionParts;
  #replays = 0;

  constructor(parts: ReexecutionParts) {
    this.#parts = parts;
  }

  /** How often work was put back and run again. */
  get replays(): number {
    return this.#replays;
  }

  /**
   * Runs everything unverified again until a check is clean. `found` by the check of the `epoch`;
   * the `log` records what else is found.
   */
  async untilClean(epoch: Epoch, found: CheckResult, log: FaultLog): Promise<Reexecuted> {
    const { device, reports, journal, memory, retries, search, onReplay } = this.#parts;
    let epochs: readonly Epoch[] = [epoch];
    let last = found;
    let attempts = 0;
    let comesBack = false;
    let storing: Substitution | undefined;
    while (attempts < retries && !isClean(last)) {
      storing = comesBack ? await search.prepare(epochs, last, storing) : undefined;
      const inPlace = storing;
      if (journal.obstacle !== undefined) break;
      attempts++;
      const { refusals } = journal;
      // From here to the snapshot nothing is awaited: what the program submits next finds
      // everything run again.
      epochs = journal.closeAll();
      this.#replays++;
      for (const mapping of this.mappings) mapping.suspend();
      const discarding = reports.takeSnapshot(epochs);
      const searched = this.#search(epochs, last);
      const faulty = searched.map(({ places }) => readStored(device, places));
      onReplay();
      let before: Promise<ReportSnapshot> | undefined;
      const accepted = journal.replay(
        epochs,
        () => {
          // What runs again need not come upon errors that are still there.
          memory.scrub(epochs.flatMap(({ touched }) => memory.ownersOf(touched)));
          before = reports.takeSnapshot([]);
          if (inPlace) search.begin(inPlace);
        },
        inPlace && ((encoder) => search.follow(encoder, inPlace)),
      );
      memory.scrub(last.damage.flatMap(({ owner }) => owner ?? []));
      const taking = reports.takeSnapshot(epochs, inPlace?.kernels);
      const clean = searched.map(({ places }) => readStored(device, places));
      for (const mapping of this.mappings) mapping.resume();
      const [discarded, restored, snapshot, ran] = await Promise.all([discarding, before, taking, accepted]);
      log.record(reports.read(epochs, discarded));
      // What is still damaged is found again.
      reports.read([], restored);
      // What the device turns out to have refused is left out the next time.
      if (!ran && journal.obstacle === undefined && journal.refusals > refusals && attempts < retries)
        continue;
      if (!ran) {
        const failure = journal.obstacle ?? "the device refused to run it again";
        return { epochs, last, attempts, failure };
      }
      const again = await reports.scrubbed(reports.read(epochs, snapshot, inPlace?.kernels));
      comesBack = true;
      // Substitutes that have waited in vain for each other tell less than what was known before.
      if (inPlace && isUndecided(again)) search.forsake(inPlace);
      else last = again;
      log.recordReturned(last);
      for (const [i, { kernel, places }] of searched.entries()) {
        const [before, after] = await Promise.all([faulty[i], clean[i]]);
        if (before && after && isClean(last))
          log.recordStored(kernel, compareStored(kernel, places, [before, after]));
      }
    }
    return { epochs, last, attempts };
  }

  /**
   * The kernels of whose faults only hashes are known, and what they store to, where that can be
   * compared.
   */
  #search(epochs: readonly Epoch[], { kernels }: CheckResult) {
    return [...kernels].flatMap(([kernel, { faults }]) => {
      const places = faults.some(isHashed) ? placesOf(epochs, kernel) : undefined;
      return places ? [{ kernel, places }] : [];
    });
  }
}
