/** The programs, and the commands that run programs, print what the documents show below them. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { expectParts, shownOutputs } from "./support/documents.ts";
import { belay } from "./support/processes/belay.ts";
import { typescript } from "./support/processes/processes.ts";
import { root } from "./support/workspaces.ts";

const shownOf = (start: RegExp) =>
  shownOutputs().flatMap(({ command, ...shown }) =>
    start.test(command) ? [{ ...shown, args: command.replace(start, "").split(" ") }] : [],
  );

const programs = shownOf(/^npx jiti /);
/** The outputs of programs that have run. Several pages show some of them. */
const outputs = new Map<string, string>();
it.each(programs)("$page shows the output of $args", async ({ args, output }) => {
  const all = [...typescript, ...args];
  const printed =
    outputs.get(all.join(" ")) ?? (await promisify(execFile)(process.execPath, all, { cwd: root })).stdout;
  outputs.set(all.join(" "), printed);
  expect(printed).toBe(output);
});

const commands = shownOf(/^npx belay (?=run|tune|campaign|doctor)/);
it.each(commands)("$page shows the output of belay $args", async ({ args, output }) => {
  const out = mkdtempSync(join(tmpdir(), "belay-document-"));
  try {
    const writes = args[0] === "campaign" && args[1] !== "instrument";
    const written = writes ? ["--out", out] : [];
    const { stdout, stderr } = await belay([...args, ...written]);
    expectParts(stderr + stdout, output);
  } finally {
    rmSync(out, { recursive: true });
  }
});

it("finds the programs", () => {
  expect(programs.length).toBeGreaterThan(5);
  expect(commands.length).toBeGreaterThan(2);
});
