/**
 * Visits all pages of the built site in Chromium, at 1,400 and at 400 pixels. Fails for an error on
 * the console, a missing file, and anything beside the edge of a page. Searches, sorts a table, and
 * prints the sizes, paints, shifts and blocked times of some pages. Usage: `npx jiti site/visit.ts
 * [--base /belay/] [--pictures FOLDER]`, after `npm run site`.
 */
import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import { launchChromium } from "../test/support/processes/chromium.ts";
import { takePicture } from "../test/support/processes/picture.ts";
import { serveFolder } from "../test/support/processes/servedFolder.ts";

const { base, pictures } = parseArgs({
  options: { base: { type: "string", default: "/" }, pictures: { type: "string" } },
}).values;
const folder = join(import.meta.dirname, "dist");
const address = `http://localhost${base}`;
const looks = [
  { width: 1400, colorScheme: "light" },
  { width: 400, colorScheme: "dark" },
] as const;

/** The pages whose sizes and first paints are printed. */
const measured = [
  "index.html",
  "docs/guides/protect-a-program.html",
  ...["kernel", "memory", "loop", "device"].map((view) => `playground/index.html#view=${view}`),
];

const names = (await readdir(folder, { recursive: true }))
  .map((name) => name.replaceAll("\\", "/"))
  .filter((name) => name.endsWith(".html"))
  // The pages of the API have one form, so the pages of its modules stand for all.
  .filter((name) => !/^api\/.*\/(?!index\.html)/.test(name))
  .sort();
if (pictures !== undefined) await mkdir(pictures, { recursive: true });

const problems: string[] = [];
const { newPage, close } = await launchChromium();
try {
  for (const { width, colorScheme } of looks) {
    const page = await newPage({ viewport: { width, height: 900 }, colorScheme });
    let at = "";
    const problem = (what: string) => problems.push(`${at}, ${width} pixels: ${what}`);
    page.on("pageerror", ({ message }) => problem(message));
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) problem(message.text());
    });
    const missing = await serveFolder(page, address, folder);
    for (const name of names) {
      at = name;
      await page.goto(`${address}${name}`, { waitUntil: "load" });
      const beside = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (beside > 0) problem(`${beside} pixels beside its edge`);
      for (const file of missing.splice(0)) problem(`${file} is missing`);
      const picture = `${name.replace(/\.html$/, "").replaceAll("/", "-")}-${width}-${colorScheme}`;
      await takePicture(page, picture, pictures);
    }
    at = "search";
    await search(page);
    await takePicture(page, `search-${width}`, pictures);
    at = "sorting";
    await sort(page, problem);
    await page.close();
  }
  console.log(`${names.length} pages visited at ${looks.map(({ width }) => width).join(" and ")} pixels`);
  for (const name of measured) console.log(await measure(name));
} finally {
  await close();
}
for (const problem of problems) console.error(problem);
process.exitCode = problems.length === 0 ? 0 : 1;

/** Searches for a word by the keyboard, and opens what was found. */
async function search(page: Page): Promise<void> {
  await page.goto(`${address}index.html`, { waitUntil: "load" });
  // The page takes keys once Vue has mounted it, which may be after it is loaded.
  await page.waitForFunction(() => "__vue_app__" in document.querySelector("#app")!);
  await page.keyboard.press("Control+k");
  await page.locator(".VPLocalSearchBox input").fill("snapshotBytes");
  await page.locator(".VPLocalSearchBox .result").first().waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/docs\//);
  await page.keyboard.press("Control+k");
  await page.locator(".VPLocalSearchBox input").fill("mapAsync");
  await page.locator(".VPLocalSearchBox .result").first().waitFor();
}

/** Sorts the rows of a table of measurements, from large to small. */
async function sort(page: Page, problem: (what: string) => void): Promise<void> {
  await page.goto(`${address}docs/design/measurements/redundancy.html`, { waitUntil: "load" });
  const table = page.locator("table.measured").first();
  const header = table.locator("th:has(button)").first();
  await header.locator("button").click();
  const place = await header.evaluate((cell) => [...cell.parentElement!.children].indexOf(cell));
  const cells = await table.locator(`tbody tr td:nth-child(${place + 1})`).allTextContents();
  const numbers = cells.map((text) => Number.parseFloat(text.replaceAll(",", ""))).filter((n) => n >= 0);
  const isSorted = numbers.every((number, i) => i === 0 || number <= numbers[i - 1]!);
  if (!isSorted || numbers.length < 3) problem(`the column is not sorted: ${numbers.join(", ")}`);
}

/**
 * Returns the compressed size of all files that a page loads, and its first and largest paint. Also
 * how far its parts move (Cumulative Layout Shift), and for how long tasks block it. That is the
 * time of each task beyond 50 ms (Total Blocking Time).
 */
async function measure(name: string): Promise<string> {
  const page = await newPage();
  await serveFolder(page, address, folder);
  const files = new Set<string>([name.split("#")[0]!]);
  page.on("request", (request) => {
    const url = request.url().split(/[?#]/)[0]!;
    if (url.startsWith(address)) files.add(decodeURI(url.slice(address.length)));
  });
  await page.goto(`${address}${name}`, { waitUntil: "load" });
  // The page may be painted after it is loaded.
  const painted = await page.waitForFunction(
    () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime,
  );
  const paint = Number(await painted.jsonValue());
  const { largest, shift, blocked } = await page.evaluate(observe);
  await page.close();
  const contents = await Promise.all([...files].map((file) => readFile(join(folder, file)).catch(() => "")));
  const bytes = contents.reduce((sum, content) => sum + gzipSync(content).length, 0);
  return [
    `${name}: ${(bytes / 1000).toFixed(0)} kB compressed`,
    `first paint after ${paint.toFixed(0)} ms`,
    `largest after ${largest.toFixed(0)} ms`,
    `shift ${shift.toFixed(3)}`,
    `blocked for ${blocked.toFixed(0)} ms`,
  ].join(", ");
}

/** Returns what the page has noted of its paints, shifts and long tasks. Runs in the page. */
async function observe(): Promise<{ largest: number; shift: number; blocked: number }> {
  const entriesOf = (type: string) =>
    new Promise<PerformanceEntry[]>((resolve) => {
      const entries: PerformanceEntry[] = [];
      new PerformanceObserver((list) => entries.push(...list.getEntries())).observe({ type, buffered: true });
      // Entries from before arrive in a task of their own. A page may have none.
      setTimeout(() => resolve(entries), 1000);
    });
  const [paints, shifts, tasks] = await Promise.all(
    ["largest-contentful-paint", "layout-shift", "longtask"].map(entriesOf),
  );
  return {
    largest: paints!.at(-1)?.startTime ?? 0,
    shift: shifts!.reduce((sum, entry) => sum + (entry as unknown as { value: number }).value, 0),
    blocked: tasks!.reduce((sum, { duration }) => sum + Math.max(0, duration - 50), 0),
  };
}
