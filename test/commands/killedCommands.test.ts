import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { isGone, typescript } from "../support/processes/processes.ts";
import { until } from "../support/until.ts";

const folder = mkdtempSync(join(tmpdir(), "belay-killed-commands-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const path = (name: string) => join(folder, name);
const running = path("running");
const workload = (name: string, code: string) => {
  writeFileSync(path(name), `import { writeFileSync } from "node:fs";\n${code}\n`);
  return path(name);
};
/** Prints that it runs, and then blocks its thread for ever. */
const blocking = workload(
  "blocking.ts",
  `writeFileSync(${JSON.stringify(running)}, ""); for (;;) {}\nexport default () => {};`,
);
const good = workload("good.ts", "export default async () => ({ value: Uint32Array.of(1) });");

let started = 0;

/** Starts `belay`. Resolves when `belay` has started a process of its own. */
async function start(
  then: "stays" | "dies" | "disconnects",
  args: readonly string[],
): Promise<{ belay: ChildProcess; child: number; ended: Promise<string> }> {
  const file = path(`pid${started++}`);
  const script = join(import.meta.dirname, "../support/processes/watchedCommand.ts");
  const belay = spawn(process.execPath, [...typescript, script, file, then, ...args], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  belay.stderr!.on("data", (text) => {
    said += text;
  });
  const ended = new Promise<string>((done) => belay.on("close", () => done(said)));
  await until(() => existsSync(file) && readFileSync(file, "utf8") !== "");
  return { belay, child: Number(readFileSync(file, "utf8")), ended };
}

const campaign = ["--out", path("campaign")];

describe("the process with a workload", () => {
  it.each([
    ["run", []],
    ["tune", []],
    ["campaign", campaign],
  ])("ends if belay %s is killed before the process could find its parent", async (command, flags) => {
    const { child } = await start("dies", [command, good, ...flags]);
    await until(() => isGone(child));
  });

  it.each([
    ["SIGTERM", "run", []],
    ["SIGINT", "tune", []],
    ["SIGHUP", "campaign", campaign],
    ["SIGKILL", "run", []],
  ] as const)(
    "ends after %s to belay %s, even if the workload blocks its thread",
    async (signal, command, flags) => {
      rmSync(running, { force: true });
      const { belay, child } = await start("stays", [command, blocking, ...flags]);
      await until(() => existsSync(running));
      belay.kill(signal);
      await until(() => isGone(child));
    },
  );

  it("ends by itself when nobody reads its messages", async () => {
    const { child, ended } = await start("disconnects", ["run", good]);
    expect(await ended).toContain("the workload ended its process by SIGKILL");
    expect(isGone(child)).toBe(true);
  });
});
