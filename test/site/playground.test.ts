/** The playground as it is published, clicked through in a browser. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import { build, type Rolldown } from "vite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import config from "../../site/playground/vite.config.ts";
import { type LaunchedChromium, launchChromium } from "../support/processes/chromium.ts";
import { takePicture } from "../support/processes/picture.ts";
import { serveFolder } from "../support/processes/servedFolder.ts";

/** A sub-path, as a project has it on GitHub Pages. */
const address = "http://localhost/belay/playground/";

let folder: string;
let launched: LaunchedChromium;
let output: Rolldown.RolldownOutput["output"];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "belay-playground-"));
  const [built, chromium] = await Promise.all([
    build({ ...config, configFile: false, logLevel: "error", build: { ...config.build, outDir: folder } }),
    launchChromium(),
  ]);
  launched = chromium;
  output = (built as Rolldown.RolldownOutput).output;
});
afterAll(async () => {
  await launched?.close();
  await rm(folder, { recursive: true, force: true });
});

/** A page of the playground, which collects what goes wrong on it. */
interface Opened {
  readonly page: Page;
  /** Waits for a verdict with the given words. */
  verdict(words: string): Promise<void>;
  /** Closes the page. It must have had no errors, and nothing beside its edges. */
  close(): Promise<void>;
}

async function open(
  state: string,
  { width = 1400, hasWebGpu = true, colorScheme = "light" as "light" | "dark" } = {},
): Promise<Opened> {
  const page = await launched.newPage({ viewport: { width, height: 900 }, colorScheme });
  const wrong: string[] = [];
  page.on("pageerror", ({ message }) => wrong.push(message));
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) wrong.push(message.text());
  });
  if (!hasWebGpu)
    await page.addInitScript(() => Object.defineProperty(navigator, "gpu", { value: undefined }));
  const missing = await serveFolder(page, address, folder);
  await page.goto(`${address}#${state}`);
  return {
    page,
    verdict: (words) => page.locator(".verdict", { hasText: words }).waitFor(),
    async close() {
      const beside = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      const name = `${state.replace(/\W+/g, "-")}-${width}-${colorScheme}${hasWebGpu ? "" : "-recorded"}`;
      await takePicture(page, name);
      await page.close();
      expect({ wrong, missing, beside: Math.max(0, beside) }).toEqual({ wrong: [], missing: [], beside: 0 });
    },
  };
}

describe.each([
  { width: 1400, colorScheme: "light" },
  { width: 400, colorScheme: "dark" },
] as const)("the playground at $width pixels", (look) => {
  it("catches a strike, names its line, and shows a wrong picture without protection", async () => {
    const { page, verdict, close } = await open("view=kernel", look);
    await verdict("The result, verified");
    await page.getByRole("button", { name: "Strike" }).click();
    await verdict("Caught and recovered");
    expect(await page.locator(".log .strike").textContent()).toContain("1 became 1.5");
    expect(await page.locator(".log .fault").textContent()).toContain("computed 1 and 1.5 (recovered)");
    expect(await page.locator(".sheet .line.fault").textContent()).toContain("steps[id.y * 64 + id.x] =");
    await page.getByLabel("Redundancy").selectOption("none");
    await verdict("protection is off");
    await page.locator(".frame").press("Enter");
    await verdict("1 word of the result wrong");
    expect(await page.locator(".wrong i").count()).toBe(1);
    expect(page.url()).toContain("redundancy=none");
    await close();
  });

  it("corrects a flipped bit, and refuses two in one code word", async () => {
    const { page, verdict, close } = await open("view=memory", look);
    await verdict("The buffer is intact");
    const bit = (word: number, bit: number) => page.locator(`[data-word="${word}"][data-bit="${bit}"]`);
    await bit(5, 9).click();
    await verdict("1 bit flipped");
    await page.getByRole("button", { name: "Use the buffer" }).click();
    await verdict("Found and corrected");
    expect(await page.locator(".bit-grid .flipped").count()).toBe(0);
    await bit(5, 9).click();
    await bit(6, 19).click();
    await page.getByRole("button", { name: "Use the buffer" }).click();
    await verdict("The read was refused");
    expect(await page.locator(".bit-row.refused").count()).toBe(4);
    await page.getByRole("button", { name: "Write it again" }).click();
    await verdict("The buffer is intact");
    await close();
  });

  it("plays the rounds of a loop and marks conflicts", async () => {
    const { page, verdict, close } = await open("view=loop&loop=recurrence", look);
    await verdict("The result is the sequential one, bit for bit");
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByLabel("Round", { exact: true }).fill("2");
    // A window of 64 iterations ends before the one that needs its first one.
    expect(await page.locator(".iterations .done").count()).toBe(24);
    expect(await page.locator(".iterations .now").count()).toBe(24);
    expect(await page.locator(".iterations .conflict").count()).toBe(40);
    await page.getByLabel("Round", { exact: true }).fill("9");
    await page.getByRole("button", { name: "Play" }).click();
    await page.getByText("Round 11 of 11").waitFor();
    expect(await page.locator(".kernels details").count()).toBeGreaterThan(2);
    await close();
  });
});

describe("the view of the device", () => {
  it("compares all kernels, and says which one cannot be decided", async () => {
    const { page, verdict, close } = await open("view=device");
    await verdict("Usable: ");
    const all = await page.locator(".cases li").count();
    expect(all).toBeGreaterThan(20);
    // Rounding decides how many steps a point of the Mandelbrot set takes.
    expect(await page.locator(".cases .undecided").allTextContents()).toEqual([
      "undecidedMandelbrot seta comparison depends on rounding",
    ]);
    expect(await page.locator(".cases .agrees").count()).toBe(all - 1);
    await close();
  });

  it("finds the mistake of a driver, also after another trial was begun", async () => {
    const { page, verdict, close } = await open("view=device", { width: 400, colorScheme: "dark" });
    await page.getByLabel("Driver").selectOption("mean");
    await verdict("Not usable: ");
    expect(await page.locator(".cases li:first-child").textContent()).toMatch(
      /^differsBlurblurred\[0\] is 0\.87\d+, not 0\.77\d+ to 0\.77\d+, and \d+ more words wrong$/,
    );
    expect(page.url()).toContain("driver=mean");
    await close();
  });
});

describe("a kernel of one's own", () => {
  it("has its errors with their places, runs when it is right, and is in the address", async () => {
    const { page, verdict, close } = await open("view=kernel");
    await verdict("The result, verified");
    const editor = page.getByLabel("Source of the kernel");
    const source = (value: string) =>
      `@group(0) @binding(0) var<storage, read_write> y: array<u32>;\n@compute @workgroup_size(8, 8)\nfn own(@builtin(global_invocation_id) id: vec3u) {\n  y[id.y * 64 + id.x] = ${value};\n}\n`;
    await editor.fill(source("1.5"));
    await verdict("The kernel has an error");
    expect(await page.locator(".problems .error").textContent()).toMatch(/^line 4, column 25 BELAY\d+: /);
    await page.locator(".problems .where").click();
    expect(await editor.evaluate((area: HTMLTextAreaElement) => area.selectionStart)).toBe(
      source("1.5").indexOf("1.5"),
    );
    await editor.fill(source("id.x ^ id.y"));
    await page.locator(".problems li").waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Run" }).click();
    await verdict("The result, verified");
    await page.getByText("y[2079] = 63").waitFor();
    await page.waitForURL(/source=/);
    const state = page.url().split("#")[1]!;
    await close();
    const again = await open(state);
    await again.verdict("The result, verified");
    expect(await again.page.getByLabel("Source of the kernel").inputValue()).toBe(source("id.x ^ id.y"));
    await again.close();
  });
});

it("a line of the kernel and its protected lines highlight each other", async () => {
  const { page, verdict, close } = await open("view=kernel");
  await verdict("The result, verified");
  await page.locator(".pane > pre .line.check").first().hover();
  expect(await page.locator(".sheet .line.pointed").textContent()).toContain("steps[id.y * 64 + id.x] =");
  expect(await page.locator(".remark").textContent()).toContain(
    "compare address and value of this store of steps",
  );
  await close();
});

it("measures the cost on the device at hand", async () => {
  const { page, verdict, close } = await open("view=kernel&example=blur");
  await verdict("The result, verified");
  await page.getByRole("button", { name: "Measure" }).click();
  await page.locator(".cost", { hasText: /^[\d.]+ times the plain kernel: / }).waitFor();
  await close();
});

describe("without WebGPU, the playground", () => {
  it("says so, and plays recorded runs", async () => {
    const { page, verdict, close } = await open("view=kernel", { hasWebGpu: false, width: 400 });
    await page.getByText("This browser has no WebGPU.").waitFor();
    await verdict("The result, verified");
    await page.getByRole("button", { name: "Strike" }).click();
    await verdict("Caught and recovered");
    await page.getByRole("tab", { name: "Memory" }).click();
    await verdict("The buffer is intact");
    await page.locator('[data-word="0"][data-bit="0"]').click();
    await verdict("1 bit flipped");
    await page.getByRole("button", { name: "Use the buffer" }).click();
    await verdict("Found and corrected");
    await page.getByRole("tab", { name: "Loop" }).click();
    await verdict("The result is the sequential one");
    await page.getByRole("tab", { name: "Loop" }).press("ArrowRight");
    await verdict("Usable: ");
    await page.getByLabel("Driver").selectOption("packed");
    await verdict("Usable without packed_4x8_integer_dot_product: ");
    await close();
  });
});

it("the first view stays small", async () => {
  const html = await readFile(join(folder, "index.html"), "utf8");
  const first = output.filter(
    ({ fileName }) => !/memory|loop|device/i.test(fileName) && !fileName.startsWith("assets/kernel-"),
  );
  const bytes = first.reduce((sum, each) => {
    const content = each.type === "chunk" ? each.code : each.source;
    return sum + gzipSync(content).length;
  }, 0);
  expect(html).not.toMatch(/(src|href)="\//);
  expect(bytes).toBeLessThan(229_000);
});
