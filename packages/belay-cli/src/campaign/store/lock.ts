import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { CampaignError } from "../model/failure.ts";

/** The holder of a lock. */
interface Holder {
  readonly pid: number;
  readonly host: string;
  /**
   * The start time of the process in the system's own unit, if known. It tells processes with a
   * reused number apart.
   */
  readonly born?: string;
  /** The time at which the lock was taken. */
  readonly since: string;
}

/** The locks of this process. */
const held = new Set<string>();

/**
 * A file that keeps other processes from writing a store. A lock does not count if its process ran
 * on this host and is gone.
 */
export class Lock {
  readonly #file: string;

  private constructor(file: string) {
    this.#file = file;
  }

  /**
   * Locks the file at `path`. Throws a `CampaignError` that names the holder if the lock is held.
   */
  static take(path: string): Lock {
    const file = `${path}.lock`;
    for (;;) {
      if (create(file)) {
        held.add(file);
        return new Lock(file);
      }
      const text = contentOf(file);
      // The lock may have been released meanwhile.
      if (text === undefined) continue;
      const holder = holderIn(text);
      if (holder && isHolding(file, holder)) throw heldBy(file, path, holder);
      // If two processes find an abandoned lock, only one of them can move it aside.
      const aside = `${file}.${process.pid}.old`;
      try {
        renameSync(file, aside);
      } catch (error) {
        if (isMissing(error)) continue;
        throw error;
      }
      const moved = contentOf(aside);
      if (moved === text) rmSync(aside, { force: true });
      else renameSync(aside, file);
    }
  }

  release(): void {
    held.delete(this.#file);
    rmSync(this.#file, { force: true });
  }
}

const isMissing = (error: unknown) => (error as NodeJS.ErrnoException).code === "ENOENT";

/** Creates the lock file together with its whole content. Returns false if the file exists. */
function create(file: string): boolean {
  const { pid } = process;
  const born = birthOf(pid);
  const holder: Holder = {
    pid,
    host: hostname(),
    since: new Date().toISOString(),
    ...(born !== undefined && { born }),
  };
  const own = `${file}.${pid}.new`;
  try {
    writeFileSync(own, JSON.stringify(holder));
    linkSync(own, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(own, { force: true });
  }
}

function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/**
 * Returns the holder in a lock's text, or undefined for a text that no process writes, such as half
 * a file.
 */
function holderIn(text: string): Holder | undefined {
  try {
    const holder = JSON.parse(text) as Partial<Holder> | null;
    return typeof holder?.pid === "number" && typeof holder.host === "string"
      ? (holder as Holder)
      : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Returns whether the holder still holds the lock. A process of another host counts as alive,
 * because this host cannot tell.
 */
function isHolding(file: string, { pid, host, born }: Holder): boolean {
  if (host !== hostname()) return true;
  if (pid === process.pid) return held.has(file);
  return isAlive(pid) && (born === undefined || born === (birthOf(pid) ?? born));
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/**
 * Returns the start time of a process in clock ticks since boot, if known. Source:
 * proc_pid_stat(5), field 22.
 */
function birthOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The second field, in parentheses, may contain any text.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  } catch {
    return undefined;
  }
}

function heldBy(file: string, path: string, { pid, host, since }: Holder): CampaignError {
  const elsewhere = host === hostname() ? "" : ` of ${host}`;
  const help = elsewhere
    ? `delete ${file} if that process is gone`
    : "wait until it has ended, end it, or name another --out";
  return new CampaignError(
    "store-unavailable",
    `process ${pid}${elsewhere} has been writing ${path} since ${since}; its lock is ${file}`,
    {
      help,
    },
  );
}
