import { readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import type { Page } from "playwright-core";

const types: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
};

/**
 * Serves a folder to a page under an address, as a plain file server does. No request leaves the
 * machine. Returns the requests that no file answers.
 */
export async function serveFolder(page: Page, address: string, folder: string): Promise<string[]> {
  const missing: string[] = [];
  await page.route("**", async (route) => {
    const url = route.request().url().split(/[?#]/)[0]!;
    const path = url.startsWith(address) ? decodeURI(url.slice(address.length)) : undefined;
    const file =
      path === undefined
        ? undefined
        : join(folder, path.endsWith("/") || path === "" ? `${path}index.html` : path);
    const body = file && (await readFile(file).catch(() => undefined));
    if (body) return route.fulfill({ body, contentType: types[extname(file)] ?? "application/octet-stream" });
    missing.push(url);
    return route.fulfill({ status: 404, body: "not found" });
  });
  return missing;
}
