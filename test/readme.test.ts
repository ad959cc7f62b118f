/** The program in the README runs as it stands, and prints what stands below it. */
import { execFile } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { typescript } from "./support/processes/processes.ts";
import { root } from "./support/workspaces.ts";

it("prints what the README says", async () => {
  const readme = readFileSync(join(root, "README.md"), "utf8");
  const [, program, output] = /```ts\n(.*?)```\n+```text\n(.*?)```/s.exec(readme)!;
  // Inside the repository, where the packages are found by name.
  const file = join(import.meta.dirname, `readme.${process.pid}.ts`);
  writeFileSync(file, program!);
  try {
    const args = [...typescript, file];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root });
    expect(stdout).toBe(output);
  } finally {
    rmSync(file);
  }
});

it("is read in a minute", () => {
  expect(readFileSync(join(root, "README.md"), "utf8").trimEnd().split("\n").length).toBeLessThanOrEqual(90);
});
