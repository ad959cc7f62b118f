/** The examples run as they are, in Node.js and in Chromium. */
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "vite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type LaunchedChromium, launchChromium } from "../support/processes/chromium.ts";
import { misfitsOf } from "../support/processes/misfits.ts";
import { serveFolder } from "../support/processes/servedFolder.ts";
import { root } from "../support/workspaces.ts";

const examples = join(root, "examples");
const folderOf = (name: string) => join(examples, name);
const manifestOf = (name: string): { scripts: { start: string } } =>
  JSON.parse(readFileSync(join(folderOf(name), "package.json"), "utf8"));

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "belay-examples-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The expected outputs. Pages have theirs in the element with the id `output`. */
const programs = {
  node: /^replicas of kernel "square" disagree at x, line 3.* computed 49 and 52\.5 \(recovered\)\n7 \* 7 = 49\n$/,
  loop: /^count took \d+ rounds: .*\nthe same as in order, bit for bit\n$/,
  campaign: /The claimed coverage held/,
};
const pages = {
  page: /errors? in memory corrected: .*\n2 \* 21 = 42$/,
  typegpu: /^replicas of kernel .* \(recovered\)\n3 \* 14 = 42$/,
  tensorflow: /^product: 7 10 15 22\nprotected kernels: 1 of 1, checks: 1, faults: 0$/,
  loader: /^verdict: usable\nxor: 0 0 1 1\naudit: \d+ of \d+ workgroups are wrong\nxor on the CPU: 0 1 1 0$/,
  jax: /^verdict: usable\nxor: 0 1 1 0\nfaults: 0, checks: [1-9]\d*$/,
  three: /^12 \* 12 = 144\nprotected kernels: 1 of 1, checks: \d+, faults: 0$/,
};
/** The examples that need a runtime which the tests do not have. */
const elsewhere = ["deno"];

it("all examples are known", () => {
  const folders = readdirSync(examples, { withFileTypes: true }).filter((each) => each.isDirectory());
  const known = [...Object.keys(programs), ...Object.keys(pages), ...elsewhere];
  expect(folders.map(({ name }) => name).sort()).toEqual(known.sort());
});

/** Starts an example for Node.js, and returns what it prints. */
async function startProgram(name: keyof typeof programs): Promise<string> {
  const [command, ...words] = manifestOf(name).scripts.start.split(" ") as [string, ...string[]];
  const program = command === "belay" ? join(root, "packages/belay-cli/bin/belay.js") : [];
  const out = command === "belay" ? ["--out", folder] : [];
  const { stdout } = await promisify(execFile)(process.execPath, [program, words, out].flat(), {
    cwd: folderOf(name),
  });
  return stdout;
}

it.each(["node", "loop"] as const)("the example %s prints what it shows", async (name) => {
  expect(await startProgram(name)).toMatch(programs[name]);
});

it("the example campaign prints what it shows, also when it is started again", async () => {
  expect(await startProgram("campaign")).toMatch(programs.campaign);
  expect(await startProgram("campaign")).toMatch(programs.campaign);
});

describe("in a page", () => {
  let launched: LaunchedChromium;
  beforeAll(async () => {
    launched = await launchChromium();
  });
  afterAll(() => launched?.close());

  it.each([1400, 400])("the report of the campaign fits into %i pixels", async (width) => {
    const page = readFileSync(join(folder, "campaign.html"), "utf8");
    expect(await misfitsOf(launched, page, "campaign", width)).toEqual([]);
  });

  it.each(Object.entries(pages))("the example %s shows what it computes", async (name, expected) => {
    const outDir = join(folder, name);
    const conditions = ["belay-source", "import", "browser", "default"];
    await build({
      root: folderOf(name),
      configFile: false,
      logLevel: "error",
      base: "./",
      resolve: { conditions },
      build: { outDir, target: "es2023" },
    });
    const page = await launched.newPage();
    const errors: string[] = [];
    const failed = new Promise<void>((resolve) => {
      page.on("pageerror", ({ message }) => {
        errors.push(message);
        resolve();
      });
    });
    await serveFolder(page, "http://localhost/example/", outDir);
    await page.goto("http://localhost/example/");
    const output = page.locator("#output");
    await Promise.race([output.filter({ hasNotText: "computing" }).waitFor(), failed]);
    expect({ errors, output: await output.textContent() }).toEqual({
      errors: [],
      output: expect.stringMatching(expected),
    });
    await page.close();
  });
});
