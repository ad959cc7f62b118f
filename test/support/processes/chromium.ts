import { createReadStream, createWriteStream } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createBrotliDecompress } from "node:zlib";
import { SWIFTSHADER_FLAG } from "belay-node/internal/adapter";
import { packagedFile, unpackArchive } from "belay-node/internal/adapterSwiftShader";
import { type BrowserContextOptions, chromium, type LaunchOptions, type Page } from "playwright-core";

export interface LaunchedChromium {
  /**
   * Opens a page with a profile of its own. Nothing that waits for the page has a limit, so a busy
   * machine only takes longer.
   */
  newPage(options?: BrowserContextOptions): Promise<Page>;
  close(): Promise<void>;
}

/**
 * Starts headless Chromium with WebGPU on SwiftShader. On Linux on x64, the browser comes from the
 * npm package `@sparticuz/chromium` and is unpacked for as long as it runs. On other systems, it is
 * the installed Chrome.
 */
export async function launchChromium(): Promise<LaunchedChromium> {
  const folder = await mkdtemp(join(tmpdir(), "belay-chromium-"));
  const removeFolder = () => rm(folder, { recursive: true, maxRetries: 3 });
  const packaged = process.platform === "linux" && process.arch === "x64";
  try {
    const browser = await chromium.launch({
      ...(packaged ? await unpackChromium(folder) : { channel: "chrome" }),
      timeout: 0,
      args: ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", `--${SWIFTSHADER_FLAG}`],
    });
    const newPage = async (options?: BrowserContextOptions) => {
      const page = await browser.newPage(options);
      page.setDefaultTimeout(0);
      return page;
    };
    return { newPage, close: () => browser.close().finally(removeFolder) };
  } catch (error) {
    await removeFolder();
    throw error;
  }
}

/**
 * Unpacks the browser, its software adapter, and what a machine without a desktop lacks: libraries
 * and fonts. Without a font, texts have no size, and a control that shows only text cannot be
 * clicked.
 */
async function unpackChromium(folder: string): Promise<LaunchOptions> {
  const executablePath = join(folder, "chromium");
  await Promise.all([
    pipeline(
      createReadStream(packagedFile("bin", "chromium.br")),
      createBrotliDecompress(),
      createWriteStream(executablePath, { mode: 0o755 }),
    ),
    unpackArchive("swiftshader", folder),
    unpackArchive("al2023", folder),
    unpackArchive("fonts", folder),
  ]);
  const fontSettings = join(folder, "fontSettings.xml");
  await writeFile(fontSettings, fontSettingsOf(folder));
  const env = { ...process.env, LD_LIBRARY_PATH: join(folder, "lib"), FONTCONFIG_FILE: fontSettings };
  return { executablePath, env };
}

/** Returns settings of fontconfig: the machine's own, if it has any, and the fonts in `folder`. */
function fontSettingsOf(folder: string): string {
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <dir>${join(folder, "fonts")}</dir>
  <cachedir>${join(folder, "fontCache")}</cachedir>
</fontconfig>
`;
}
