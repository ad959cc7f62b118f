import { type ChildProcess, type ForkOptions, fork } from "node:child_process";
import { Worker } from "node:worker_threads";

/** How often a process is looked at, in milliseconds, and how many bytes it may take. */
const INTERVAL = 500;
const MOST_BYTES = 8 * 2 ** 30;

/**
 * Tells a process who started it. It cannot ask the system, as its parent may be gone before it
 * could.
 */
const PARENT = "BELAY_PARENT";

/**
 * Starts a module as a process that ends once this one is gone, however this one ends. The module
 * calls {@link guardProcess}.
 */
export function forkGuarded(
  module: URL,
  args: readonly string[],
  options: Pick<ForkOptions, "stdio" | "serialization"> = {},
): ChildProcess {
  return fork(module, args, {
    ...options,
    env: { ...process.env, [PARENT]: String(process.pid) },
    // From sources, types have to be stripped, which Node.js 20 does not do itself.
    execArgv: module.pathname.endsWith(".ts")
      ? ["--conditions=belay-source", "--import", import.meta.resolve("jiti/register")]
      : [],
  });
}

/** Text of its own, as it has to run in a thread that nothing else can block. */
const GUARD = /* js */ `
const { parent, interval, most } = require("node:worker_threads").workerData;
function isOrphan() {
  if (process.ppid !== parent) return true;
  try {
    // Windows keeps the number of a parent that is gone.
    process.kill(parent, 0);
  } catch (error) {
    return error.code === "ESRCH";
  }
}
function look() {
  if (isOrphan() || process.memoryUsage.rss() > most) process.kill(process.pid, "SIGKILL");
}
look();
setInterval(look, interval);`;

/**
 * Ends this process when the one that started it by {@link forkGuarded} is gone, or when it takes
 * too much memory, also while a driver that compiles, or waits for a kernel that never ends, keeps
 * everything else of it from running. A process that was started in another way is left alone.
 */
export function guardProcess(): void {
  if (process.env[PARENT] === undefined) return;
  const workerData = { parent: Number(process.env[PARENT]), interval: INTERVAL, most: MOST_BYTES };
  // It means nothing to the processes that this one starts.
  delete process.env[PARENT];
  new Worker(GUARD, { eval: true, workerData, execArgv: [] }).unref();
}
