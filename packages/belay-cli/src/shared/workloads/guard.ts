import { type ChildProcess, type ForkOptions, fork } from "node:child_process";
import { Worker } from "node:worker_threads";

/** The interval between two checks of a process, in milliseconds, and its memory limit in bytes. */
const INTERVAL = 500;
const MOST_BYTES = 8 * 2 ** 30;

/**
 * The environment variable with the parent's process id. The system may not know the id any more,
 * because the parent may already be gone.
 */
const PARENT = "BELAY_PARENT";

/**
 * Starts a module as a process that ends once this one is gone, whatever the cause. The module must
 * call {@link guardProcess}.
 */
export function forkGuarded(
  module: URL,
  args: readonly string[],
  options: Pick<ForkOptions, "stdio" | "serialization"> = {},
): ChildProcess {
  return fork(builtModule(module), args, {
    ...options,
    env: { ...process.env, [PARENT]: String(process.pid) },
    execArgv: [],
  });
}

/**
 * Returns the module that was built from a source, and any other module itself. Sources contain
 * types, which Node.js 20 does not strip. Tests run sources.
 */
export function builtModule(module: URL): URL {
  return new URL(module.href.replace(/^(.*)\/src\/(.*)\.ts$/, "$1/dist/$2.js"));
}

/**
 * The source of the guard. It is a text, because it runs in a thread that nothing else can block.
 */
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
 * Ends this process when its parent is gone, or when it takes too much memory. A thread of its own
 * does so, even while a driver compiles or waits for an endless kernel. A process that {@link
 * forkGuarded} did not start is left alone.
 */
export function guardProcess(): void {
  if (process.env[PARENT] === undefined) return;
  const workerData = { parent: Number(process.env[PARENT]), interval: INTERVAL, most: MOST_BYTES };
  // The variable means nothing to the processes that this one starts.
  delete process.env[PARENT];
  new Worker(GUARD, { eval: true, workerData, execArgv: [] }).unref();
}
