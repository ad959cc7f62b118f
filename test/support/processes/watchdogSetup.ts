/** The setup file that watches each process of tests. */
import { beforeEach, expect } from "vitest";
import { startWatchdog, type Watchdog } from "./watchdog.ts";

// Test files share a process, which needs only one watchdog.
const shared: typeof globalThis & { belayWatchdog?: Watchdog } = globalThis;
shared.belayWatchdog ??= startWatchdog(600);
const watchdog = shared.belayWatchdog;
beforeEach(() => {
  const { testPath, currentTestName } = expect.getState();
  watchdog.name(`${testPath?.split(/[\\/]/).at(-1)}, ${currentTestName}`);
});
