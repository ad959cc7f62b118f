/** The package in a web page: real headless Chromium, WebGPU on its software adapter. */
import { join } from "node:path";
import { protect } from "belay-gpu";
import { catalog } from "belay-research/internal/workloads/samples/index";
import * as sobelFilter from "belay-research/internal/workloads/samples/sobelFilter";
import type { Page } from "playwright-core";
import { rolldown } from "rolldown";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type LaunchedChromium, launchChromium } from "../support/processes/chromium.ts";
import { everything, sample } from "../support/sample.ts";

/** What the bundle defines in the page. */
declare const belayPage: typeof import("../support/processes/browserPage.ts");

let launched: LaunchedChromium;
let page: Page;
const pageErrors: string[] = [];

beforeAll(async () => {
  const [code, chromium] = await Promise.all([bundlePage(), launchChromium()]);
  launched = chromium;
  page = await launched.browser.newPage();
  page.on("pageerror", ({ message }) => pageErrors.push(message));
  // WebGPU is there for secure contexts only, which localhost is; nothing leaves the machine.
  await page.route("**", (route) =>
    route.fulfill({ contentType: "text/html", body: "<title>Belay</title>" }),
  );
  await page.goto("http://localhost/");
  await page.addScriptTag({ content: code });
});
afterAll(() => launched.close());
afterEach(() => expect(pageErrors.splice(0)).toEqual([]));

/** One script of the page and all it imports. Fails when anything in it is not for browsers. */
async function bundlePage(): Promise<string> {
  const build = await rolldown({
    input: join(import.meta.dirname, "../support/processes/browserPage.ts"),
    platform: "browser",
    resolve: { conditionNames: ["belay-source", "import", "browser", "default"] },
    onLog: (_level, { message }) => {
      throw new Error(message);
    },
  });
  const { output } = await build.generate({ format: "iife", name: "belayPage" });
  await build.close();
  return output[0].code;
}

const policies = [
  { redundancy: "intra+lds" },
  { redundancy: "intra-lds", check: "store", channel: "workgroup" },
] as const;

/**
 * Programs that make each kind of use of WebGPU, and compile in a second: a page runs what Node.js
 * runs, where all are tested.
 */
const shown = new Set(["matrixProduct", "nBody", "reduction", "histogram", "floydWarshall", "blackScholes"]);
const programs = catalog.filter(({ name }) => everything || shown.has(name));

describe.each(programs.map(({ name }, row) => ({ name, row })))("in a browser, $name", ({ name, row }) => {
  it.each(sample(policies, row, 1))(
    "computes the same bits under $redundancy, and nothing is detected",
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

it("objects look like a plain device's in a browser, and answer through the prototypes of their classes", async () => {
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
  it("a fault is caught, located and recovered", async () => {
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
  it("a fault without redundancy makes the result wrong", async () => {
    const { right, strikes, heard } = await page.evaluate(() => belayPage.strike({ redundancy: "none" }));
    expect({ right, strikes, heard }).toEqual({ right: false, strikes: 1, heard: [] });
  });

  it("the compiler makes of a kernel what it makes in Node.js", async () => {
    const source = sobelFilter.create().kernelSources.sobel!;
    const made = await page.evaluate((source) => belayPage.protectInPage(source), source);
    expect(made).toBe(protect(source).code);
  });
});
