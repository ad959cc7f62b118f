import type { ReportSnapshot } from "../context/reportArena.ts";
import type { Damage } from "../memory/memoryLog.ts";
import type { DamageDetection } from "../memory/memoryProtection.ts";
import { type CheckResult, isAvoidable, isClean, isHashed, isUndecided } from "./checkResult.ts";
import { type Epoch, touchedBy } from "./epoch.ts";
import type { EpochReports } from "./epochReports.ts";
import type { FaultLog } from "./faultLog.ts";
import type { Journal } from "./journal.ts";
import { compareStored, placesOf, readStored } from "./storedDifference.ts";
import { differs, type StoreSearch, type Substitution } from "./storeSearch.ts";

/**
 * A pending mapping of a buffer. It is suspended while work that uses the buffer is executed again.
 */
export interface PendingMapping {
  suspend(): void;
  resume(): void;
}

/** The result of re-execution. */
interface Reexecuted {
  /** The epochs that were executed again. */
  readonly epochs: readonly Epoch[];
  /** The findings of the last check of them. */
  readonly last: CheckResult;
  /** The granules that were corrected. */
  readonly corrected: readonly Damage[];
  readonly attempts: number;
  /** The reason why the last attempt did not run, or ran only in part. */
  readonly failure?: string;
}

export interface ReexecutionParts {
  readonly device: GPUDevice;
  readonly reports: EpochReports;
  readonly journal: Journal;
  readonly memory: DamageDetection;
  /** The most times that work is executed again. */
  readonly retries: number;
  readonly search: StoreSearch;
  /** True if memory is compared after the faulty and the clean execution. */
  readonly comparesStores: boolean;
  /** Called before work is executed again. */
  readonly onReplay: () => void;
}

/** Restores the past and executes unverified work again. */
export class Reexecution {
  /** The mappings that are pending now. */
  readonly mappings = new Set<PendingMapping>();
  readonly #parts: ReexecutionParts;
  #replays = 0;

  constructor(parts: ReexecutionParts) {
    this.#parts = parts;
  }

  /** The number of re-executions. */
  get replays(): number {
    return this.#replays;
  }

  /**
   * Executes all unverified work again until a check finds nothing. `found` is the result of the
   * check of `epoch`. The `log` records further findings.
   */
  async untilClean(epoch: Epoch, found: CheckResult, log: FaultLog): Promise<Reexecuted> {
    const { device, reports, journal, memory, retries, search, onReplay } = this.#parts;
    let epochs: readonly Epoch[] = [epoch];
    let last = found;
    let attempts = 0;
    let comesBack = false;
    let before: Substitution | undefined;
    let corrected = found.corrected.places;
    // Waits that ran out are no fault. Their work runs again as long as there is another way.
    while (!isClean(last) && (attempts < retries || isAvoidable(last))) {
      const substitution = await search.prepare(epochs, last, { before, comesBack });
      const mayRun = attempts < retries || (substitution !== undefined && differs(substitution, before));
      if (!mayRun) break;
      // A rejected event is no obstacle.
      if (journal.obstacle !== undefined) await journal.settled();
      if (journal.obstacle !== undefined) break;
      attempts++;
      const { rejections: refusals } = journal;
      // Nothing is awaited from here to the snapshot. Work that the program submits next then runs
      // after all re-executed work.
      epochs = journal.closeAll();
      this.#replays++;
      for (const mapping of this.mappings) mapping.suspend();
      const discarding = reports.takeSnapshot(epochs);
      const searched = this.#search(epochs, last);
      const faulty = searched.map(({ places }) => readStored(device, places));
      onReplay();
      let erasing: Promise<ReportSnapshot> | undefined;
      const accepted = journal.replay(
        epochs,
        () => {
          // Errors that are still in memory are removed first, so that re-executed work does not
          // find them.
          memory.correctRestored(epochs.flatMap((each) => memory.ownersOf(touchedBy(each))));
          erasing = reports.takeSnapshot([]);
          if (substitution) search.prepareReports(substitution);
        },
        substitution && ((encoder) => search.substituteIn(encoder, substitution)),
      );
      memory.scrub(last.damage.flatMap(({ owner }) => owner ?? []));
      const taking = reports.takeSnapshot(epochs, substitution?.kernels);
      const clean = searched.map(({ places }) => readStored(device, places));
      for (const mapping of this.mappings) mapping.resume();
      const [discarded, restored, snapshot, ran] = await Promise.all([discarding, erasing, taking, accepted]);
      const replaced = reports.read(epochs, discarded, { execution: "replaced" });
      log.record(replaced);
      // Errors that are still in memory, or come back with restored contents, are found again. So
      // this result is dropped.
      corrected = [...corrected, ...replaced.corrected.places];
      const { places } = reports.read([], restored, { known: corrected }).corrected;
      corrected = [...corrected, ...places];
      // The next attempt leaves out events that turned out to be rejected.
      const runsWithout = journal.rejections > refusals && (attempts < retries || isAvoidable(last));
      if (!ran && journal.obstacle === undefined && runsWithout) continue;
      if (!ran) {
        const failure = journal.obstacle ?? "the device rejected the re-executed commands";
        return { epochs, last, corrected, attempts, failure };
      }
      const read = reports.read(epochs, snapshot, { substitutes: substitution?.kernels });
      const again = await reports.scrubSuspects(epochs, read);
      before = substitution;
      comesBack = true;
      // Substitutes whose replicas waited in vain for each other say less than a known fault.
      if (substitution && isUndecided(again) && !isUndecided(last)) search.giveUpOn(substitution);
      else last = again;
      log.recordReturned(last);
      for (const [i, { kernel, places }] of searched.entries()) {
        const [before, after] = await Promise.all([faulty[i], clean[i]]);
        if (before && after && isClean(last))
          log.recordStored(kernel, compareStored(kernel, places, [before, after]));
      }
    }
    return { epochs, last, corrected, attempts };
  }

  /**
   * Returns the kernels whose faults are known only by hashes, with the ranges that they store to,
   * if these can be compared.
   */
  #search(epochs: readonly Epoch[], { kernels }: CheckResult) {
    if (!this.#parts.comparesStores) return [];
    return [...kernels].flatMap(([kernel, { faults }]) => {
      const places = faults.some(isHashed) ? placesOf(epochs, kernel) : undefined;
      return places ? [{ kernel, places }] : [];
    });
  }
}
