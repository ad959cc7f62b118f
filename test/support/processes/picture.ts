import { join } from "node:path";
import type { Page } from "playwright-core";

/** The height up to which a page is in its picture, in pixels: the limit of textures. */
const maxHeight = 16_000;

/**
 * Writes a picture of a whole page into a folder, by default the one that the variable
 * `BELAY_PICTURES` names. Writes none without a folder.
 */
export async function takePicture(
  page: Page,
  name: string,
  folder = process.env.BELAY_PICTURES,
): Promise<void> {
  if (folder === undefined) return;
  // Chromium takes no picture of a page before it has drawn the page's first frames.
  const drawn = () =>
    new Promise<void>((resolve) => {
      let frames = 3;
      const next = () => (frames-- === 0 ? resolve() : requestAnimationFrame(next));
      next();
    });
  await page.evaluate(drawn);
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  const { width } = page.viewportSize()!;
  const clip = { x: 0, y: 0, width, height: Math.min(height, maxHeight) };
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true, clip });
}
