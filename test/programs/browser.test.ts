/** The package in a web page: headless Chromium, with WebGPU on its software adapter. */
import { join } from "node:path";
import { protect } from "belay-gpu";
import { catalog } from "belay-research/internal/workloads/samples/index";
import * as sobelFilter from "belay-research/internal/workloads/samples/sobelFilter";
import type { Page } from "playwright-core";
import { rolldown } from "rolldown";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type LaunchedChromium, launchChromium } from "../support/processes/chromium.ts";
import { everything, sample } from "../support/sample.ts";

/** The globals that the bundle defines in the page. */
declare const belayPage: typeof import("../support/processes/browserPage.ts");
declare const benchmarkPage: typeof import("../../research/page/measure.ts");

let launched: LaunchedChromium;
let page: Page;
const pageErrors: string[] = [];

beforeAll(async () => {
  const [code, chromium] = await Promise.all([
    bundlePage("../support/processes/browserPage.ts", "belayPage"),
    launchChromium(),
  ]);
  launched = chromium;
  page = await launched.newPage();
  page.on("pageerror", ({ message }) => pageErrors.push(message));
  // WebGPU exists only in secure contexts, such as localhost. No request leaves the machine.
  await page.route("**", (route) =>
    route.fulfill({ contentType: "text/html", body: "<title>Belay</title>" }),
  );
  await page.goto("http://localhost/");
  await page.addScriptTag({ content: code });
});
afterAll(() => launched.close());
afterEach(() => expect(pageErrors.splice(0)).toEqual([]));

/**
 * Bundles one script of the page with all its imports. Fails if an import does not work in
 * browsers.
 */
async function bundlePage(path: string, name: string): Promise<string> {
  const build = await rolldown({
    input: join(import.meta.dirname, path),
    platform: "browser",
    resolve: { conditionNames: ["belay-source", "import", "browser", "default"] },
    // A script has no address of its own, and only code for Node.js asks for it.
    transform: { define: { "import.meta.url": '""' } },
    onLog: (_level, { message }) => {
      throw new Error(message);
    },
  });
  const { output } = await build.generate({ format: "iife", name });
  await build.close();
  return output[0].code;
}

const policies = [
  { redundancy: "intra+lds" },
  { redundancy: "intra-lds", check: "store", channel: "workgroup" },
] as const;

/**
 * Programs for each kind of use of WebGPU that compile in a second. Node.js runs all programs, and
 * a page runs the same code.
 */
const shown = new Set(["matrixProduct", "nBody", "reduction", "histogram", "floydWarshall", "blackScholes"]);
const programs = catalog.filter(({ name }) => everything || shown.has(name));

describe.each(programs.map(({ name }, row) => ({ name, row })))("in a browser, $name", ({ name, row }) => {
  it.each(sample(policies, row, 1))(
    "computes the same bits under $redundancy, and detects no fault",
    async (policy) => {
      const run = await page.evaluate(([name, policy]) => belayPage.compareRuns(name, policy), [
        name,
        policy,
      ] as const);
      expect(run).toMatchObject({ isDevice: true, sameBits: true, verdict: { ok: true }, faults: [] });
      expect(run.redundancy.length).toBeGreaterThan(0);
      for (const redundancy of run.redundancy) expect(redundancy).toBe(policy.redundancy);
    },
  );
});

it("a transformer makes the same token in a browser under the default policy", async () => {
  const run = await page.evaluate(() => belayPage.compareRuns("decode", {}));
  expect(run).toMatchObject({ sameBits: true, verdict: { ok: true }, faults: [] });
  expect(run.redundancy.length).toBeGreaterThan(0);
  expect(run.redundancy).not.toContain("none");
});

it("objects look like a plain device's in a browser, and the prototypes of their classes work", async () => {
  expect(await page.evaluate(() => belayPage.lookThroughClasses())).toEqual({
    usage: true,
    own: [],
    prototypes: true,
    queue: true,
    mapState: "mapped",
    errors: [true, true],
    plainUsage: true,
  });
});

describe.each(policies)("in a browser, under $redundancy", (policy) => {
  it("a fault is detected, located and recovered from", async () => {
    const { right, strikes, heard, line } = await page.evaluate((policy) => belayPage.strike(policy), policy);
    expect({ right, strikes }).toEqual({ right: true, strikes: 1 });
    expect(heard[0]).toMatchObject({
      kernel: "sobel",
      outcome: "recovered",
      workgroup: [0, 0, 0],
      localIndex: 1,
    });
    expect(line).toContain(policy.redundancy === "intra+lds" ? "fn sobel(" : "edges[y * size.x + id.x] = ");
  });
});

describe("in a browser", () => {
  it("a fault makes the result wrong without redundancy", async () => {
    const { right, strikes, heard } = await page.evaluate(() => belayPage.strike({ redundancy: "none" }));
    expect({ right, strikes, heard }).toEqual({ right: false, strikes: 1, heard: [] });
  });

  it("the compiler's output equals that in Node.js", async () => {
    const source = sobelFilter.create().kernelSources.sobel!;
    const made = await page.evaluate((source) => belayPage.protectInPage(source), source);
    expect(made).toBe(protect(source).code);
  });
});

it("programs of libraries, of the papers and a transformer give the same bits in the page that measures them", async () => {
  const content = await bundlePage("../../research/page/measure.ts", "benchmarkPage");
  await page.addScriptTag({ content });
  const { result, lines } = await page.evaluate(async () => {
    const options = {
      elements: "64",
      runs: "1",
      warmup: "0",
      calls: "1",
      policies: "default",
      model: "campaign",
    };
    const only = "add,particles,bouncing,reduction,decode";
    const none = { progress: () => {}, save: async () => {} };
    const result = await benchmarkPage.measureInPage({ ...options, only }, none);
    return { result, lines: benchmarkPage.linesOf(result) };
  });
  expect(result.programs.map(({ name, failure }) => [name, failure])).toEqual(
    ["add", "particles", "bouncing", "reduction", "decode"].map((name) => [name, undefined]),
  );
  expect(result.ok).toBe(true);
  expect(result.adapter).toMatch(/swiftshader/i);
  expect(lines.map((line) => line.split(" ")[0])).toEqual([
    "adapter:",
    "add",
    "particles",
    "bouncing",
    "reduction",
    "decode",
    "a",
    "a",
  ]);
});
