import type { ChildProcess } from "node:child_process";
import { extname } from "node:path";
import { nameOf } from "belay-gpu/internal/diagnostics/registry";
import { longestWait } from "belay-gpu/internal/runtime/context/timers";
import { forkGuarded } from "../../shared/workloads/guard.ts";
import { CampaignError } from "../model/failure.ts";
import type { Exchanges, Question, Sent } from "./messages.ts";

/** The loss of the process with the device: it died, or was killed after a timeout. */
export class ProcessLost extends Error {
  override readonly name = "ProcessLost";
  readonly how: "crash" | "hang";

  constructor(how: "crash" | "hang", message: string) {
    super(message);
    this.how = how;
  }
}

interface Pending {
  readonly milliseconds: number;
  resolve(value: unknown): void;
  reject(reason: unknown): void;
}

/** The number of characters of the process's standard error that are kept for the message. */
const KEPT = 2000;

/** A process with a device and its watchdog. */
export class WatchedProcess {
  readonly #programs: string;
  #child: ChildProcess | undefined;
  #pending: Pending[] = [];
  #timer: NodeJS.Timeout | undefined;
  #written = "";
  #bytes = 0;
  #ended: { readonly reason: unknown } | undefined;

  /**
   * Creates the watchdog without starting the process. `programs` is the module that knows the
   * programs by name.
   */
  constructor(programs: URL) {
    this.#programs = programs.href;
  }

  /**
   * Sends a question, and starts the process if there is none. Kills the process when an answer
   * takes longer than `milliseconds`. Rejects with the reason if the process was ended permanently.
   */
  ask<K extends keyof Exchanges>(
    kind: K,
    question: Exchanges[K]["ask"],
    milliseconds: number,
  ): Promise<Exchanges[K]["answer"]> {
    if (this.#ended) return Promise.reject(this.#ended.reason);
    const child = this.#child ?? this.#start();
    return new Promise((resolve, reject) => {
      this.#pending.push({ milliseconds, resolve: resolve as Pending["resolve"], reject });
      if (this.#pending.length === 1) this.#watch();
      child.send({ kind, ...question } as Question);
    });
  }

  /** The memory use that the process reported last, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** True if the process runs. The next question starts a process otherwise. */
  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  /** Kills the process. The next question starts another one. */
  kill(): void {
    this.#lose(new ProcessLost("crash", "it was ended"));
  }

  /** Ends the process permanently. Pending and further questions reject with the reason. */
  end(reason: unknown): void {
    this.#ended = { reason };
    this.#lose(reason);
  }

  #start(): ChildProcess {
    const file = new URL(`deviceProcess${extname(import.meta.url)}`, import.meta.url);
    const child = forkGuarded(file, [this.#programs], { stdio: ["ignore", "ignore", "pipe", "ipc"] });
    this.#child = child;
    this.#written = "";
    child.stderr?.on("data", (text) => {
      this.#written = `${this.#written}${text}`.slice(-KEPT);
    });
    child.on("message", (answer: Sent) => {
      if (child === this.#child) this.#answered(answer);
    });
    // A failure to send to a process that has just died is noticed by its exit.
    child.on("error", () => {});
    child.on("exit", (status, signal) => {
      if (child === this.#child)
        this.#lose(new ProcessLost("crash", this.#lastWords(signal ?? `status ${status}`)));
    });
    return child;
  }

  #lastWords(how: string): string {
    const lines = this.#written.trim().split("\n");
    const said = lines.find((line) => /^\W*\w*Error\b/.test(line)) ?? lines.at(-1);
    return `the process ended by ${how}${said ? `: ${said}` : ""}`;
  }

  #watch(): void {
    clearTimeout(this.#timer);
    const head = this.#pending[0];
    if (!head) return;
    const { milliseconds } = head;
    this.#timer = setTimeout(
      () => this.#lose(new ProcessLost("hang", `no answer in ${(milliseconds / 1000).toFixed(1)} s`)),
      Math.min(milliseconds, longestWait),
    );
  }

  #answered(answer: Sent): void {
    this.#bytes = answer.bytes;
    const head = this.#pending.shift();
    this.#watch();
    if (answer.kind === "answer") {
      head?.resolve(answer.value);
      return;
    }
    const { code, message, help } = answer;
    const diagnostic = nameOf(code ?? "") ?? "device-process-failed";
    head?.reject(new CampaignError(diagnostic, message, help === undefined ? {} : { help }));
  }

  #lose(reason: unknown): void {
    const pending = this.#pending;
    clearTimeout(this.#timer);
    this.#child?.kill("SIGKILL");
    this.#child = undefined;
    this.#pending = [];
    for (const each of pending) each.reject(reason);
  }
}

/** The processes with a device that share the work of a campaign. */
export class WatchedProcesses {
  readonly #processes: readonly WatchedProcess[];
  #failed = false;

  constructor(count: number, programs: URL) {
    this.#processes = Array.from({ length: count }, () => new WatchedProcess(programs));
  }

  get count(): number {
    return this.#processes.length;
  }

  /**
   * True if the work of a process has failed. The other processes then stop after their current
   * step.
   */
  get failed(): boolean {
    return this.#failed;
  }

  /**
   * Distributes the items over the processes until `isOver`. Each process works on one item at a
   * time. Rejects after all processes have stopped, with the error of the first one in the list
   * that failed.
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

  /** Ends all processes permanently. */
  end(reason: unknown): void {
    for (const watched of this.#processes) watched.end(reason);
  }
}

/** The time limit for starting a process and opening an adapter, in milliseconds. */
export const START_LIMIT = 60_000;
const ATTEMPTS = 3;

/**
 * Opens the device in a process, and returns its adapter. Rejects with a `CampaignError` if no
 * device can be opened. The error ends the campaign, which can be resumed, because no program is at
 * fault.
 */
export async function openDevice(
  watched: Pick<WatchedProcess, "ask">,
): Promise<Exchanges["start"]["answer"]> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await watched.ask("start", {}, START_LIMIT);
    } catch (error) {
      if (!(error instanceof ProcessLost)) throw error;
      if (attempt < ATTEMPTS) continue;
      throw new CampaignError("device-process-failed", `no device can be opened: ${error.message}`, {
        cause: error,
      });
    }
  }
}
