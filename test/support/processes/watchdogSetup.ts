/** Has each process of tests watched. */
import { beforeEach, expect } from "vitest";
import { startWatchdog, type Watchdog } from "./watchdog.ts";

// Files share a process, which needs one.
const shared: typeof globalThis & { belayWatchdog?: Watchdog } = globalThis;
shared.belayWatchdog ??= startWatchdog(600);
const watchdog = shared.belayWatchdog;
beforeEach(() => {
  const { testPath, currentTestName } = expect.getState();
  watchdog.name(`${testPath?.split(/[\\/]/).at(-1)}, ${currentTestName}`);
});
