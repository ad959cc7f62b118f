/** The documents of the repository, and the commands whose outputs they show. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { root, workspaces } from "./workspaces.ts";

/** The pages, by their paths relative to the root. */
export const pages = [
  "README.md",
  "ARCHITECTURE.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  "packages/README.md",
  "examples/README.md",
  ...workspaces.map(({ folder }) => `${folder}/README.md`),
].concat(
  readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".md"))
    .map((file) => `docs/${file.replaceAll("\\", "/")}`),
);

/** Returns the text of a file, by its path relative to the root. */
export const textOf = (file: string): string => readFileSync(join(root, file), "utf8");

/** A command, and the output that a page shows for it. */
export interface ShownOutput {
  readonly page: string;
  readonly command: string;
  readonly output: string;
}

/** Returns the blocks of all pages that hold one command, and the output of the command. */
export const shownOutputs = (): ShownOutput[] =>
  pages.flatMap((page) =>
    [...textOf(page).matchAll(/^```console\n\$ ([^\n]*)\n([^$].*?)^```$/gms)].map(([, command, output]) => ({
      page,
      command: command!,
      output: output!,
    })),
  );

/** Expects the shown parts of an output, in order. Pages write "…" in place of the other parts. */
export function expectParts(printed: string, output: string): void {
  let end = 0;
  for (const part of output.split("…").map((text) => text.trim())) {
    const start = printed.indexOf(part, end);
    expect(start, `${part}\n\nis missing in\n\n${printed}`).toBeGreaterThanOrEqual(0);
    end = start + part.length;
  }
}
