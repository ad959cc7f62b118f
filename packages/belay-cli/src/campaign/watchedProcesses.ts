import { WatchedProcess } from "./watchedProcess.ts";

/** Processes with a device that share the work of a campaign. */
export class WatchedProcesses {
  readonly #processes: readonly WatchedProcess[];
  #failed = false;

  constructor(count: number, programs: URL) {
    this.#processes = Array.from({ length: count }, () => new WatchedProcess(programs));
  }

  get count(): number {
    return this.#processes.length;
  }

  /** Whether one has failed, so that the others are to end what they have begun. */
  get failed(): boolean {
    return this.#failed;
  }

  /**
   * Has them do all items, each one at a time, until it `isOver`. Rejects as the work does that
   * failed first.
   */
  async share<Item>(
    items: readonly Item[],
    isOver: () => boolean,
    work: (item: Item, watched: WatchedProcess) => Promise<void>,
  ): Promise<void> {
    const queue = [...items];
    const serve = async (watched: WatchedProcess) => {
      for (let item = queue.shift(); item !== undefined && !isOver(); item = queue.shift()) {
        await work(item, watched).catch((error: unknown) => {
          this.#failed = true;
          throw error;
        });
      }
    };
    const ends = await Promise.allSettled(this.#processes.map(serve));
    for (const end of ends) if (end.status === "rejected") throw end.reason;
  }

  kill(): void {
    for (const watched of this.#processes) watched.kill();
  }
}
