import { constants, createReadStream } from "node:fs";
import { access, stat } from "node:fs/promises";
import type { Readable } from "node:stream";
import { reasonOf } from "belay-gpu/internal/diagnostics/fileErrors";
import { CommandFailure } from "../terminal/failure.ts";
import type { Io } from "../terminal/io.ts";

/**
 * The greatest size of a source in bytes. No shader is larger, and a text of this size is read fast
 * enough to answer at once.
 */
const maxBytes = 4 * 1024 * 1024;

/**
 * Reads a whole source text from a file, or from standard input if the path is `-`. Rejects with a
 * `CommandFailure` for unreadable, empty, too large and binary input.
 */
export async function readSource(path: string, io: Io): Promise<string> {
  const name = path === "-" ? "standard input" : path;
  if (path !== "-") await refuseNonFile(path);
  const bytes = await readBytes(path === "-" ? io.stdin : createReadStream(path), name);
  if (bytes.length === 0) throw new CommandFailure("empty-input", `${name} is empty`);
  return decode(bytes, name);
}

/** Refuses a path that is missing, a directory or unreadable, with a message about the path. */
export async function refuseNonFile(path: string): Promise<void> {
  if (path === "") throw new CommandFailure("unreadable-input", "the name of the file is empty");
  try {
    if ((await stat(path)).isDirectory()) {
      throw new CommandFailure("unreadable-input", `${path} is a directory`, { help: "name a file in it" });
    }
    await access(path, constants.R_OK);
  } catch (error) {
    throw error instanceof CommandFailure ? error : unreadable(path, error);
  }
}

async function readBytes(stream: Readable, name: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of stream) {
      const bytes = Buffer.from(chunk);
      chunks.push(bytes);
      size += bytes.length;
      if (size > maxBytes) break;
    }
  } catch (error) {
    throw unreadable(name, error);
  }
  if (size > maxBytes) {
    throw new CommandFailure("input-too-large", `${name} is larger than ${maxBytes / 1024 / 1024} MiB`, {
      help: "no GPU driver takes a shader of this size; split the source",
    });
  }
  return Buffer.concat(chunks);
}

function decode(bytes: Buffer, name: string): string {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    if (!text.includes("\0")) return text;
  } catch {
    // The error below covers both ways of not being text.
  }
  throw new CommandFailure("input-not-text", `${name} is not UTF-8 text`, {
    help: "a source is expected, not what a compiler made of it",
  });
}

export function unreadable(name: string, error: unknown): CommandFailure {
  return new CommandFailure("unreadable-input", `cannot read ${name}: ${reasonOf(error)}`, { cause: error });
}
