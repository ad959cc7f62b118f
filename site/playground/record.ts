/**
 * Records what the playground shows where there is no WebGPU, on a software adapter. Usage: `npx
 * jiti site/playground/record.ts`
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { build, type Rolldown } from "vite";
import { launchChromium } from "../../test/support/processes/chromium.ts";

declare const recordPage: typeof import("./src/recordPage.ts");

const built = (await build({
  configFile: join(import.meta.dirname, "vite.config.ts"),
  logLevel: "error",
  build: {
    write: false,
    lib: { entry: join(import.meta.dirname, "src/recordPage.ts"), formats: ["iife"], name: "recordPage" },
  },
})) as Rolldown.RolldownOutput[];
const { newPage, close } = await launchChromium();
try {
  const page = await newPage();
  await page.route("**", (route) =>
    route.fulfill({ contentType: "text/html", body: "<title>Belay</title>" }),
  );
  await page.goto("http://localhost/");
  await page.addScriptTag({ content: built[0]!.output[0].code });
  const recorded = {
    kernel: await page.evaluate(() => recordPage.recordKernel()),
    memory: await page.evaluate(() => recordPage.recordMemory()),
    loops: await page.evaluate(() => recordPage.recordLoops()),
    device: await page.evaluate(() => recordPage.recordDevice()),
  };
  for (const [name, content] of Object.entries(recorded))
    await writeFile(join(import.meta.dirname, `src/recorded/${name}.json`), `${JSON.stringify(content)}\n`);
} finally {
  await close();
}
