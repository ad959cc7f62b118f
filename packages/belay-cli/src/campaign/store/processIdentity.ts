import { readFileSync } from "node:fs";
import { hostname } from "node:os";

/** The identity of a process on one of several machines. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly host: string;
  /**
   * The start time of the process in the system's own unit, if known. It tells processes with a
   * reused number apart.
   */
  readonly born?: string;
}

export function identityOfThisProcess(): ProcessIdentity {
  const { pid } = process;
  const born = birthOf(pid);
  return { pid, host: hostname(), ...(born !== undefined && { born }) };
}

/**
 * Returns whether a process has certainly ended. A process of another host counts as alive, because
 * this host cannot tell.
 */
export function isGone({ pid, host, born }: ProcessIdentity): boolean {
  if (host !== hostname()) return false;
  return !isAlive(pid) || (born !== undefined && born !== (birthOf(pid) ?? born));
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
