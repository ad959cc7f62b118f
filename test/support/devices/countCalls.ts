import { Session } from "node:inspector/promises";
import { afterAll, beforeAll } from "vitest";

/**
 * Returns a function that counts the calls of Belay's functions during some work. The count
 * measures work without a clock.
 */
export function callCounter(): (work: () => unknown) => Promise<number> {
  const session = new Session();
  beforeAll(async () => {
    session.connect();
    await session.post("Profiler.enable");
  });
  afterAll(() => session.disconnect());
  return async (work) => {
    await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
    await work();
    const { result } = await session.post("Profiler.takePreciseCoverage");
    await session.post("Profiler.stopPreciseCoverage");
    return result
      .filter(({ url }) => url.includes("/src/"))
      .flatMap(({ functions }) => functions.map(({ ranges }) => ranges[0]!.count))
      .reduce((sum, count) => sum + count, 0);
  };
}
