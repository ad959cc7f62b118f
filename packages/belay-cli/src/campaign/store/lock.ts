import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { CampaignError } from "../model/failure.ts";

/** Who holds a lock. */
interface Holder {
  readonly pid: number;
  readonly host: string;
  /**
   * When the process began, in the system's own measure, where it tells: numbers of processes come
   * again.
   */
  readonly born?: string;
  /** When the lock was taken. */
  readonly since: string;
}

/** The locks of this process. */
const held = new Set<string>();

/**
 * A file that keeps other processes from writing a store. That of a process of this host that is
 * gone does not count.
 */
export class Lock {
  readonly #file: string;

  private constructor(file: string) {
    this.#file = file;
  }

  /** Locks the file at `path`. Throws a `CampaignError` that names who holds the lock. */
  static take(path: string): Lock {
    const file = `${path}.lock`;
    for (;;) {
      if (create(file)) {
        held.add(file);
        return new Lock(file);
      }
      const text = contentOf(file);
      // It may have been released by now.
      if (text === undefined) continue;
      const holder = holderIn(text);
      if (holder && isHolding(file, holder)) throw heldBy(file, path, holder);
      // Between two processes that find a lock without an owner, one moves it aside.
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

/** Makes the file, with all that it says at once, unless it is there. */
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

/** Undefined for what no process writes, such as half a file. */
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

/** Nobody knows whether a process of another host is alive, so that it counts as such. */
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

/** When a process began, in ticks since the system did. Source: proc_pid_stat(5), field 22. */
function birthOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The second field, in parentheses, may have any text.
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
