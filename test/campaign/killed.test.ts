import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it, vi } from "vitest";
import { readResults } from "../../src/campaign/merge.ts";
import { storePath } from "../../src/campaign/store.ts";
import { summarize } from "../../src/campaign/summary.ts";
import { randomBelow } from "../../workloads/random.ts";

const folder = mkdtempSync(join(tmpdir(), "belay-killed-"));
const pidFile = join(folder, "pid");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function spawnCampaign(...args: readonly string[]) {
  const script = join(import.meta.dirname, "killedCampaign.ts");
  return spawn(process.execPath, ["--import", "jiti/register", script, ...args], {
    cwd: import.meta.dirname,
    env: { ...process.env, BELAY_TEST_PID: pidFile },
    stdio: ["ignore", "pipe", "inherit"],
  });
}

const sizeOf = (directory: string) => statSync(storePath(directory), { throwIfNoEntry: false })?.size ?? 0;

/** Runs or resumes the campaign in a directory, and kills it when it is time; says whether it has ended before. */
function run(directory: string, isTime: () => boolean): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawnCampaign(directory);
    let said = "";
    child.stdout.on("data", (text) => {
      said += text;
    });
    const timer = setInterval(() => {
      if (isTime()) child.kill("SIGKILL");
    }, 1);
    child.on("close", () => {
      clearInterval(timer);
      resolve(said === "done\n");
    });
  });
}

it("a campaign that is killed twenty times ends with the table of one that was not disturbed", {
  timeout: 300_000,
}, async () => {
  const [undisturbed, killed] = [join(folder, "undisturbed"), join(folder, "killed")] as const;
  expect(await run(undisturbed, () => false)).toBe(true);

  const sizes = new Set<number>();
  for (let kills = 0; kills < 20; kills++) {
    // While it starts, or after some bytes, which need not end a line; all kills together leave something to be done.
    const bytes = sizeOf(killed) + randomBelow(sizeOf(undisturbed) / 30, 1, kills);
    const late = performance.now() + 100 + randomBelow(900, 2, kills);
    const isTime = () => (kills % 4 === 0 ? performance.now() > late : sizeOf(killed) > bytes);
    expect(await run(killed, isTime)).toBe(false);
    sizes.add(sizeOf(killed));
  }
  expect(sizes.size).toBeGreaterThan(10);
  expect(await run(killed, () => false)).toBe(true);

  const [expected, resumed] = [undisturbed, killed].map(readResults);
  expect(summarize(resumed!).cells).toEqual(summarize(expected!).cells);
  expect(resumed!.injections.length).toBe(expected!.injections.length);
});

it("leaves no process behind, not even one that is stuck in native code", { timeout: 120_000 }, async () => {
  const parent = spawnCampaign(join(folder, "blocked"), "blocking");
  await vi.waitUntil(() => existsSync(pidFile), { timeout: 60_000, interval: 50 });
  const stuck = Number(readFileSync(pidFile, "utf8"));
  parent.kill("SIGKILL");
  const isGone = () => {
    try {
      return !process.kill(stuck, 0);
    } catch {
      return true;
    }
  };
  await vi.waitUntil(isGone, { timeout: 20_000, interval: 50 });
});
