import { randomUUID } from "node:crypto";
import { constants, mkdirSync, statSync } from "node:fs";
import { access, realpath, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { reasonOf } from "belay-gpu/internal/diagnostics/fileErrors";
import { CommandFailure } from "../terminal/failure.ts";

/**
 * Writes a whole file or nothing. The text goes into a temporary file, which replaces the target.
 */
export async function writeAtomically(path: string, text: string): Promise<void> {
  // A link stays a link: the file that it points to is replaced.
  const target = await realpath(path).catch(() => path);
  const temporary = join(dirname(target), `.${randomUUID()}.tmp`);
  try {
    makeDirectory(dirname(target));
    if (await isDirectory(target)) throw new Error("it is a directory");
    if (await isDevice(target)) return await writeFile(target, text);
    await writeFile(temporary, text);
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    throw new CommandFailure("unwritable-output", `cannot write ${path}: ${reasonOf(error)}`, {
      cause: error,
    });
  }
}

/**
 * Creates a directory for results, before a command spends time on computing them. Rejects with a
 * `CommandFailure` if the directory cannot be written to.
 */
export async function prepareDirectory(path: string): Promise<void> {
  try {
    makeDirectory(path);
    await access(path, constants.W_OK);
  } catch (error) {
    throw new CommandFailure("unwritable-output", `cannot write to ${path}: ${reasonOf(error)}`, {
      cause: error,
    });
  }
}

const isDirectory = async (path: string) => (await stat(path).catch(() => undefined))?.isDirectory() === true;

/**
 * Returns whether a path is a device or a pipe, such as /dev/null. Such files are written to, never
 * replaced.
 */
async function isDevice(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found !== undefined && !found.isFile() && !found.isDirectory();
}

/**
 * Creates a directory and its missing parents. Throws the errors of Node.js. The recursion of
 * Node.js itself never ends if no directory can be made, as in /proc.
 */
export function makeDirectory(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return;
  if (dirname(path) !== path) makeDirectory(dirname(path));
  mkdirSync(path);
}
