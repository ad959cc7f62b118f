import { Worker } from "node:worker_threads";

/** How often a process is looked at, in milliseconds, and how many bytes it may take. */
const INTERVAL = 500;
const MOST_BYTES = 8 * 2 ** 30;

/** Text of its own, as it has to run in a thread that nothing else can block. */
const GUARD = /* js */ `
const { parent, interval, most } = require("node:worker_threads").workerData;
setInterval(() => {
  if (process.ppid !== parent || process.memoryUsage.rss() > most) process.kill(process.pid, "SIGKILL");
}, interval);`;

/**
 * Ends this process when the one that started it is gone, or when it takes too much memory, also while a driver that
 * compiles, or waits for a kernel that never ends, keeps everything else of it from running.
 */
export function guardProcess(): void {
  const workerData = { parent: process.ppid, interval: INTERVAL, most: MOST_BYTES };
  new Worker(GUARD, { eval: true, workerData, execArgv: [] }).unref();
}
