import { randomUUID } from "node:crypto";
import {
  accessSync,
  constants,
  createReadStream,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
} from "node:fs";
import { rename, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { homedir, tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createBrotliDecompress } from "node:zlib";
import { extract } from "tar-fs";
import { DRIVER, LOADER, MANIFEST } from "./adapterVulkan.ts";

/** The folders of drivers of Chromium-based programs on Linux; `*` stands for any folder name. */
const CHROMIUM_FOLDERS = [
  "/opt/*",
  "/opt/*/*",
  "/usr/lib/*",
  "/usr/lib64/*",
  "/usr/share/*",
  "/snap/*/current/usr/lib/*",
  "/var/lib/flatpak/app/*/current/active/files/*",
  "~/.local/share/flatpak/app/*/current/active/files/*",
  "~/.cache/ms-playwright/*/*",
  "~/.cache/puppeteer/*/*/*",
  "./node_modules/electron/dist",
];

/**
 * Returns the folders of installed Chromium-based programs (Chrome, Edge, Electron, Playwright…)
 * with SwiftShader.
 */
export function findChromiumSwiftShader(patterns: readonly string[] = CHROMIUM_FOLDERS): string[] {
  return patterns.flatMap(expandFolders).filter((folder) => {
    return existsSync(join(folder, DRIVER)) && existsSync(join(folder, MANIFEST));
  });
}

function expandFolders(pattern: string): string[] {
  const [root = "", ...segments] = pattern.split("/");
  const start = root === "~" ? homedir() : root || "/";
  return segments.reduce<string[]>(
    (folders, segment) =>
      folders.flatMap((folder) =>
        segment === "*" ? listFolder(folder).map((name) => join(folder, name)) : [join(folder, segment)],
      ),
    [start],
  );
}

function listFolder(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/**
 * Unpacks SwiftShader from the npm package `@sparticuz/chromium`, once per version, and returns its
 * folder. Processes may run this at the same time: each unpacks to its own folder, and the first
 * rename wins. For Linux only.
 */
export async function unpackSwiftShader(cacheFolder = defaultCacheFolder()): Promise<string> {
  const { version } = JSON.parse(readFileSync(packagedFile("package.json"), "utf8")) as { version: string };

  claimFolder(cacheFolder);
  const target = join(cacheFolder, `swiftshader-${version}`);
  if (existsSync(target)) return target;

  const fresh = `${target}.${randomUUID()}`;
  const wanted = new Set([DRIVER, MANIFEST, LOADER]);
  try {
    await unpackArchive("swiftshader", fresh, wanted);
    await rename(fresh, target);
  } catch (error) {
    await rm(fresh, { recursive: true, force: true });
    if (!existsSync(target)) throw error;
  }
  return target;
}

/** Returns the path of a file of the npm package `@sparticuz/chromium`. */
export function packagedFile(...path: string[]): string {
  return join(dirname(createRequire(import.meta.url).resolve("@sparticuz/chromium")), "..", "..", ...path);
}

/**
 * Unpacks an archive of the npm package `@sparticuz/chromium`: all files, or those with the names
 * in `wanted`.
 */
export async function unpackArchive(
  name: string,
  folder: string,
  wanted?: ReadonlySet<string>,
): Promise<void> {
  await pipeline(
    createReadStream(packagedFile("bin", `${name}.tar.br`)),
    createBrotliDecompress(),
    extract(folder, {
      ignore: (path) => wanted !== undefined && path !== folder && !wanted.has(basename(path)),
      // The archive contains the owner of its packager. The files must belong to the current user.
      map: (header) => ({ ...header, uid: process.getuid!(), gid: process.getgid!() }),
    }),
  );
}

/** Returns the first writable folder: the user's cache, or else a private temporary folder. */
function defaultCacheFolder(): string {
  const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache");
  const folder = join(cache, "belay-gpu");
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    accessSync(folder, constants.W_OK);
    return folder;
  } catch {
    return join(tmpdir(), `belay-gpu-${process.getuid!()}`);
  }
}

/**
 * Creates a folder, and throws if others can write to it. Native code is loaded from this folder.
 */
function claimFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { uid, mode } = lstatSync(folder);
  if (uid !== process.getuid!() || (mode & 0o022) !== 0) {
    throw new Error(`${folder} is writable by others, so no driver is loaded from it`);
  }
}
