import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { CampaignError } from "../model/failure.ts";
import { identityOfThisProcess, isGone, type ProcessIdentity } from "./processIdentity.ts";

/** The holder of a lock. */
interface Holder extends ProcessIdentity {
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
  const holder: Holder = { ...identityOfThisProcess(), since: new Date().toISOString() };
  const own = `${file}.${process.pid}.new`;
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

/** Returns whether the holder still holds the lock. */
function isHolding(file: string, holder: Holder): boolean {
  if (holder.host === hostname() && holder.pid === process.pid) return held.has(file);
  return !isGone(holder);
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
