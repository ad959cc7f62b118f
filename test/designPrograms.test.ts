/** The programs that the design documents show print what stands below them. */
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { root } from "./support/workspaces.ts";

const pages = readdirSync(join(root, "docs/design"), { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".md"))
  .map((file) => `docs/design/${file}`);

const programs = ["ARCHITECTURE.md", ...pages].flatMap((page) =>
  [
    ...readFileSync(join(root, page), "utf8").matchAll(/^```console\n\$ npx jiti ([^\n]*)\n(.+?)^```$/gms),
  ].map(([, command, output]) => ({ page, command: command!, output: output! })),
);

it.each(programs)("$page shows the output of $command", async ({ command, output }) => {
  const args = ["--conditions=belay-source", "--import", "jiti/register", ...command.split(" ")];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root });
  expect(stdout).toBe(output);
});

it("finds the programs", () => {
  expect(programs.length).toBeGreaterThan(1);
});
