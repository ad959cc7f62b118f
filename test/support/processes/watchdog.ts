/**
 * A watchdog that ends this process if its thread is blocked, for example by a kernel that never
 * ends. The timeout of a test cannot interrupt a blocked thread.
 */
import { Worker } from "node:worker_threads";

/**
 * The worker's program. It checks each second if the thread has had a turn. It ends the process
 * after `seconds` checks in a row without one.
 */
const LOOK = /* js */ `
const { workerData: { turns, name, seconds } } = require("node:worker_threads");
let [last, missed] = [0, 0];
setInterval(() => {
  const now = Atomics.load(turns, 0);
  missed = now === last ? missed + 1 : 0;
  last = now;
  if (missed < seconds) return;
  const text = new TextDecoder().decode(name.slice(1, 1 + name[0]));
  require("node:fs").writeSync(2, "blocked for " + seconds + " s: " + text + "\\n");
  process.kill(process.pid, "SIGKILL");
}, 1000);`;

export interface Watchdog {
  /** Sets the name to report if the thread is blocked from now on. */
  name(what: string): void;
}

/** Starts to watch this thread. The watchdog does not keep the process from ending. */
export function startWatchdog(seconds: number): Watchdog {
  const turns = new Int32Array(new SharedArrayBuffer(4));
  const name = new Uint8Array(new SharedArrayBuffer(256));
  new Worker(LOOK, { eval: true, workerData: { turns, name, seconds } }).unref();
  setInterval(() => Atomics.add(turns, 0, 1), 500).unref();
  return {
    name: (what) => {
      name[0] = new TextEncoder().encodeInto(what, name.subarray(1)).written;
    },
  };
}
