import { spawn } from "node:child_process";
import { join } from "node:path";
import { expect, it } from "vitest";
import { typescript } from "./support/processes/processes.ts";

/** Runs a watched process. Returns its exit status and its output. */
const run = (...args: readonly string[]) =>
  new Promise<{ status: number | null; signal: string | null; said: string }>((done) => {
    const script = join(import.meta.dirname, "support/processes/watchedProcess.ts");
    const child = spawn(process.execPath, [...typescript, script, ...args]);
    let said = "";
    child.stderr.on("data", (text) => {
      said += text;
    });
    child.on("close", (status, signal) => done({ status, signal, said }));
  });

it("ends a process whose thread is blocked, and names the blocking work", async () => {
  expect(await run("blocks")).toEqual({
    status: null,
    signal: "SIGKILL",
    said: "blocked for 1 s: a kernel that never ends\n",
  });
});

it("does not affect a process that ends", async () => {
  expect(await run()).toEqual({ status: 0, signal: null, said: "" });
});
