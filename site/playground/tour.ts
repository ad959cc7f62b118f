/**
 * Films a tour of the playground on a software adapter, as an animated picture. Usage: `npx jiti
 * site/playground/tour.ts [FILE]`, by default `docs/tour.png`.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "vite";
import { launchChromium } from "../../test/support/processes/chromium.ts";
import { serveFolder } from "../../test/support/processes/servedFolder.ts";
import { animate, type Frame } from "./animatedPng.ts";
import config from "./vite.config.ts";

const [file = join(import.meta.dirname, "../../docs/tour.png")] = process.argv.slice(2);
const address = "http://localhost/playground/";
const size = { width: 1080, height: 720 };

const folder = await mkdtemp(join(tmpdir(), "belay-tour-"));
const { newPage, close } = await launchChromium();
try {
  await build({
    ...config,
    configFile: false,
    logLevel: "error",
    build: { ...config.build, outDir: folder },
  });
  const page = await newPage({ viewport: size });
  await serveFolder(page, address, folder);
  const frames: Frame[] = [];

  /** Films the page under a caption for some seconds. The middle of the given part is in sight. */
  const film = async (seconds: number, caption: string, part?: string) => {
    await page.evaluate(
      ([caption, part]) => {
        const sight = part === undefined ? document.body : document.querySelector(part);
        sight?.scrollIntoView({ block: part === undefined ? "start" : "center" });
        const id = "tour-caption";
        const bar = document.getElementById(id) ?? document.createElement("div");
        bar.id = id;
        bar.textContent = caption!;
        bar.style.cssText =
          "position:fixed;inset:auto 0 0 0;padding:14px 24px;background:#1b2330;color:#fff;font:600 19px system-ui,sans-serif;z-index:9";
        document.body.append(bar);
      },
      [caption, part],
    );
    frames.push({ png: await page.screenshot(), seconds });
  };
  const verdict = (words: string) => page.locator(".verdict", { hasText: words }).waitFor();
  const press = (name: string) => page.getByRole("button", { name }).click();
  const go = (name: string) => page.getByRole("tab", { name }).click();

  await page.goto(`${address}#view=kernel`);
  await verdict("The result, verified");
  await film(8, "A kernel, and what Belay makes of it: every invocation runs twice.");
  await page.locator(".pane > pre .line.check").first().hover();
  await film(9, "Each store becomes a comparison. Point at a line to see what becomes of it.");
  await film(7, "Choose a value and one of its bits, then flip it in one replica.", ".frame");
  await press("Strike");
  await verdict("Caught and recovered");
  await film(10, "Caught: the line and both values. The work ran again, and the result is right.", ".frame");
  await page.getByLabel("Redundancy").selectOption("none");
  await verdict("protection is off");
  await page.locator(".frame").press("Enter");
  await verdict("1 word of the result wrong");
  await film(9, "The same flip without protection: a wrong pixel, and nobody noticed.", ".frame");

  await go("Memory");
  await verdict("The buffer is intact");
  await film(6, "A buffer as bits. Words in one block share check words.");
  const bit = (word: number, bit: number) => page.locator(`[data-word="${word}"][data-bit="${bit}"]`).click();
  await bit(5, 9);
  await verdict("1 bit flipped");
  await film(5, "Flip one bit …");
  await press("Use the buffer");
  await verdict("Found and corrected");
  await film(8, "… and the next kernel that loads the buffer corrects it.");
  await bit(5, 9);
  await bit(6, 19);
  await press("Use the buffer");
  await verdict("The read was refused");
  await film(8, "Two wrong bits in one block cannot be corrected, so the read is refused.");

  await go("Loop");
  await page.getByRole("combobox", { name: "Loop" }).selectOption("recurrence");
  await verdict("The result is the sequential one, bit for bit");
  await press("Pause");
  for (const [round, seconds, caption] of [
    [1, 6, "A sequential loop. The GPU examines a window of iterations at once."],
    [2, 8, "Iterations that depend on others of the window wait for a later round."],
    [4, 3, "Each round executes the next ones."],
    [7, 3, "Each round executes the next ones."],
    [11, 7, "The result is that of the sequential loop, bit for bit."],
  ] as const) {
    await page.getByLabel("Round", { exact: true }).fill(String(round));
    await film(seconds, caption);
  }

  await go("Device");
  await verdict("Usable");
  await film(8, "Before a program starts: kernels on the device, compared with the WGSL specification.");
  await page.getByLabel("Driver").selectOption("mean");
  await verdict("Not usable");
  await film(10, "A driver that compiles a division wrong: both replicas agree, the reference does not.");
  await writeFile(file, animate(frames));
  console.log(`${frames.length} pictures in ${file}`);
} finally {
  await close();
  await rm(folder, { recursive: true, force: true });
}
