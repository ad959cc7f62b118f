import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { summarize } from "belay-cli/internal/campaign/results/summary";
import { readResults } from "belay-cli/internal/campaign/store/merge";
import { storePath } from "belay-cli/internal/campaign/store/store";
import { randomBelow } from "belay-research/internal/workloads/random";
import { afterAll, expect, it } from "vitest";
import { isGone, typescript } from "../support/processes/processes.ts";
import { everything } from "../support/sample.ts";
import { until } from "../support/until.ts";

const folder = mkdtempSync(join(tmpdir(), "belay-killed-"));
const pidFile = join(folder, "pid");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function spawnCampaign(...args: readonly string[]) {
  const script = join(import.meta.dirname, "killedCampaign.ts");
  return spawn(process.execPath, [...typescript, script, ...args], {
    cwd: import.meta.dirname,
    env: { ...process.env, BELAY_TEST_PID: pidFile },
    stdio: ["ignore", "pipe", "inherit"],
  });
}

const sizeOf = (directory: string) => statSync(storePath(directory), { throwIfNoEntry: false })?.size ?? 0;

/**
 * Runs or resumes the campaign in a directory, which dies after so many bytes; says whether it has
 * ended before.
 */
function run(directory: string, bytes = Number.POSITIVE_INFINITY): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawnCampaign(directory, "sum", String(bytes));
    let said = "";
    child.stdout.on("data", (text) => {
      said += text;
    });
    child.on("close", () => resolve(said === "done\n"));
  });
}

const times = everything ? 20 : 8;

it("a campaign that is killed again and again ends with the table of one that was not disturbed", async () => {
  const [undisturbed, killed] = [join(folder, "undisturbed"), join(folder, "killed")] as const;
  expect(await run(undisturbed)).toBe(true);

  const sizes = new Set<number>();
  for (let kills = 0; kills < times; kills++) {
    // Before it has written anything, or after some bytes, which need not end a line; all together
    // leave something to be done.
    const bytes = kills % 4 === 0 ? 0 : randomBelow(sizeOf(undisturbed) / (1.5 * times), 1, kills);
    expect(await run(killed, bytes)).toBe(false);
    sizes.add(sizeOf(killed));
  }
  expect(sizes.size).toBeGreaterThan(times / 2);
  expect(await run(killed)).toBe(true);

  const [expected, resumed] = [undisturbed, killed].map(readResults);
  expect(summarize(resumed!).cells).toEqual(summarize(expected!).cells);
  expect(resumed!.injections.length).toBe(expected!.injections.length);
});

it("leaves no process behind, not even one that is stuck in native code", async () => {
  const parent = spawnCampaign(join(folder, "blocked"), "blocking");
  await until(() => existsSync(pidFile) && readFileSync(pidFile, "utf8") !== "");
  const stuck = Number(readFileSync(pidFile, "utf8"));
  parent.kill("SIGKILL");
  await until(() => isGone(stuck));
});
