/** A process that is watched, and ends or blocks: `watchedProcess.ts [blocks]`. */
import { startWatchdog } from "./watchdog.ts";

startWatchdog(1).name("a kernel that never ends");
if (process.argv[2] === "blocks") Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
