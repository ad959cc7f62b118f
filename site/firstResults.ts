/**
 * Starts each example and the playground as their pages say, one at a time, and prints the seconds
 * until the first result or caught fault. Chromium opens the pages. Usage: `npx jiti
 * site/firstResults.ts`, after `npm run build`.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { stripVTControlCharacters } from "node:util";
import type { Page } from "playwright-core";
import { launchChromium } from "../test/support/processes/chromium.ts";

const root = join(import.meta.dirname, "..");
const { newPage, close } = await launchChromium();

/** Starts a command in a group of processes of its own, which `end` ends. */
function start(command: string): { readonly started: ChildProcess; end(): void } {
  const started = spawn(command, {
    cwd: root,
    shell: true,
    detached: true,
    // The pages are opened here.
    env: { ...process.env, BROWSER: "none" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  return { started, end: () => process.kill(-started.pid!) };
}

/** Returns the last line that a program prints. Throws if the program fails. */
async function runProgram(command: string): Promise<string> {
  const { started } = start(command);
  let text = "";
  started.stdout!.on("data", (part) => {
    text += part;
  });
  const [status] = await once(started, "close");
  if (status !== 0) throw new Error(`${command} ended with the status ${status}`);
  return text.trim().split("\n").at(-1)!;
}

/** Opens the page that a command serves, and returns what `look` sees there. */
async function visitPage(command: string, look: (page: Page) => Promise<string>): Promise<string> {
  const { started, end } = start(command);
  try {
    for await (const line of createInterface(started.stdout!)) {
      const address = /Local: +(http\S+)/.exec(stripVTControlCharacters(line))?.[1];
      if (address === undefined) continue;
      const page = await newPage();
      await page.goto(address);
      const seen = await look(page);
      await page.close();
      return seen;
    }
    throw new Error(`${command} served no page`);
  } finally {
    end();
  }
}

async function lastOutput(page: Page): Promise<string> {
  const output = page.locator("#output").filter({ hasNotText: "computing" });
  await output.waitFor();
  return (await output.textContent())!.trim().split("\n").at(-1)!;
}

async function strike(page: Page): Promise<string> {
  const verdict = (words: string) => page.locator(".verdict", { hasText: words });
  await verdict("The result, verified").waitFor();
  await page.getByRole("button", { name: "Strike" }).click();
  await verdict("Caught and recovered").waitFor();
  return (await page.locator(".log .fault").first().textContent())!;
}

async function time(command: string, run: (command: string) => Promise<string>): Promise<void> {
  const begin = performance.now();
  const seen = await run(command);
  console.log(`| \`${command}\` | ${((performance.now() - begin) / 1000).toFixed(0)} | ${seen} |`);
}

try {
  console.log("| command | seconds | last output |\n|---|---|---|");
  for (const { name } of readdirSync(join(root, "examples"), { withFileTypes: true }).filter((each) =>
    each.isDirectory(),
  )) {
    const { scripts } = JSON.parse(readFileSync(join(root, "examples", name, "package.json"), "utf8"));
    const isPage = scripts.start.startsWith("vite");
    // Deno is no part of the installation.
    if (scripts.start.startsWith("deno")) continue;
    await time(
      `npm run example examples/${name}`,
      isPage ? (command) => visitPage(command, lastOutput) : runProgram,
    );
  }
  await time("npm run playground", (command) => visitPage(command, strike));
} finally {
  await close();
}
