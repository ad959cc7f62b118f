/** Tests the rules of docs/contributing/style.md that can be tested. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { pages, textOf } from "./support/documents.ts";
import { root } from "./support/workspaces.ts";

const sources = ["packages", "research", "test", "docs", "site", "examples", "."]
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: folder !== ".", encoding: "utf8" }).map((file) =>
      join(folder, file).replaceAll("\\", "/"),
    ),
  )
  .filter((file) => /(?<!\.d)\.m?ts$/.test(file) && !/\b(node_modules|dist|cache|goldens)\//.test(file))
  .map((file) => ({ file, text: textOf(file) }));

/** Returns the places of the texts that a pattern finds. */
const placesOf = (found: (text: string) => Iterable<RegExpMatchArray>) =>
  sources.flatMap(({ file, text }) =>
    [...found(text)].map((match) => `${file}:${text.slice(0, match.index).split("\n").length}: ${match[0]}`),
  );

it("wraps comments at 100 columns", () => {
  // Directives of loops are comments that cannot be wrapped.
  const wide = placesOf((text) => text.matchAll(/^(?=.{101})[ \t]*(\/\/(?!#pragma)|\/?\*).*$/gm));
  expect(wide).toEqual([]);
});

it("begins no comment with a clause", () => {
  const clauses = placesOf((text) =>
    text.matchAll(/\/\*\*[\s*]*(What|Whether|How|Where|Which|Why|Who)\b.*/g),
  );
  expect(clauses).toEqual([]);
});

it("puts types in comments in backquotes, as the site takes them for HTML", () => {
  // No comment of a transform is on the site.
  const tags = placesOf((text) =>
    text.matchAll(/^ *(?:\/\*\*| \*) (?! {2})(?:[^`\n]|`[^`\n]*`)*?<\/?[a-z][^\n]*/gm),
  );
  expect(tags.filter((place) => /^packages\/[^/]+\/src\/(?!transforms\/|.*\.test\.ts:)/.test(place))).toEqual(
    [],
  );
});

// A busy machine would exceed shorter limits than those of vitest.config.ts.
it("gives no test a limit of its own that is shorter than ten minutes", () => {
  const limits = placesOf((text) =>
    text.matchAll(/(?<=^\}, |\btimeout: |^ +\},\n +)([1-9]\d*|\d+_\d+)(?=\)| \}|,\n)/gm),
  );
  const short = limits.filter(
    (place) => /\.test\.ts:/.test(place) && Number(/[\d_]+$/.exec(place)![0].replaceAll("_", "")) < 600_000,
  );
  expect(short).toEqual([]);
});

it.each(pages.filter((page) => /^docs\/guides\//.test(page)))("begins %s with an example", (page) => {
  expect(textOf(page)).toMatch(/^# .*\n\n```/);
});
