import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { readResults } from "../../src/campaign/merge.ts";
import { storePath } from "../../src/campaign/store.ts";
import { summarize } from "../../src/campaign/summary.ts";
import { randomBelow } from "../../workloads/random.ts";

const folder = mkdtempSync(join(tmpdir(), "belay-killed-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs or resumes the campaign in a directory; says whether it has ended before it was killed. */
function start(directory: string, killAfter?: number): Promise<boolean> {
  return new Promise((resolve) => {
    const script = join(import.meta.dirname, "killedCampaign.ts");
    const child = spawn(process.execPath, ["--import", "jiti/register", script, directory], {
      cwd: import.meta.dirname,
      stdio: ["ignore", "pipe", "inherit"],
    });
    let said = "";
    child.stdout.on("data", (text) => {
      said += text;
    });
    const timer = killAfter === undefined ? undefined : setTimeout(() => child.kill("SIGKILL"), killAfter);
    child.on("close", () => {
      clearTimeout(timer);
      resolve(said === "done\n");
    });
  });
}

it("a campaign that is killed twenty times ends with the table of one that was not disturbed", {
  timeout: 300_000,
}, async () => {
  const [undisturbed, killed] = [join(folder, "undisturbed"), join(folder, "killed")] as const;
  const started = performance.now();
  expect(await start(undisturbed)).toBe(true);
  const whole = performance.now() - started;

  let kills = 0;
  const sizes = new Set<number>();
  while (kills < 20) {
    // From before it has begun up to after it has injected something.
    const ended = await start(killed, 150 + randomBelow(Math.floor(0.7 * whole), 1, kills));
    if (ended) break;
    kills++;
    sizes.add(statSync(storePath(killed), { throwIfNoEntry: false })?.size ?? 0);
  }
  expect(kills).toBe(20);
  expect(sizes.size).toBeGreaterThan(3);
  expect(await start(killed)).toBe(true);

  const [expected, resumed] = [undisturbed, killed].map(readResults);
  expect(summarize(resumed!).cells).toEqual(summarize(expected!).cells);
  expect(resumed!.injections.length).toBe(expected!.injections.length);
});
