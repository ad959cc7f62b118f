import type { RunCounts } from "../pipelines/protectedKernels.ts";

interface Entry {
  readonly runs: RunCounts;
  count: number;
}

/** The number of dispatches of each kernel in some commands, protected or not. */
export class DispatchTally {
  /** Dispatches of one kernel in a row have one entry. */
  #entries: Entry[] | undefined = undefined;

  /** True if the commands dispatch no kernel. */
  get isEmpty(): boolean {
    return this.#entries === undefined;
  }

  /** The number of dispatches. */
  get total(): number {
    return (this.#entries ?? []).reduce((sum, { count }) => sum + count, 0);
  }

  /** Counts a dispatch. */
  count(runs: RunCounts): void {
    const entries = this.#entries;
    const last = entries?.at(-1);
    if (last?.runs === runs) last.count++;
    else if (entries) entries.push({ runs, count: 1 });
    else this.#entries = [{ runs, count: 1 }];
  }

  /** Adds the dispatches to those that the device accepted. */
  accept(): void {
    for (const { runs, count } of this.#entries ?? []) runs.dispatches += count;
  }
}
