/**
 * The results of a campaign in a file that survives its process. Each line holds one JSON text and
 * its checksum.
 *
 * A record is written before the next result is awaited, so `kill -9` loses only the injections
 * under way. The store calls `fsync` once a second, which matters only when the machine itself
 * goes down.
 */
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  renameSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { crc32 } from "node:zlib";
import { reasonOf } from "belay-gpu/internal/diagnostics/fileErrors";
import { messageOf } from "belay-gpu/internal/diagnostics/messageOf";
import { makeDirectory } from "../../shared/files/output.ts";
import { CampaignError } from "../model/failure.ts";
import type { Header, StoreRecord } from "../model/records.ts";
import { Lock } from "./lock.ts";

/** The time between two calls of `fsync`, in milliseconds. One call can take 30. */
const SYNC_MS = 1000;

/** Returns the path of the store in a campaign's directory. */
export const storePath = (directory: string) => join(directory, "campaign.jsonl");

/** The content of a store. */
export interface Stored {
  readonly header: Header;
  readonly records: readonly StoreRecord[];
  /**
   * The number of bytes up to the last whole line. Later bytes are half a line, left when the
   * process died.
   */
  readonly bytes: number;
}

/**
 * Returns whether only a part of the header was written before the machine went down. Such a store
 * holds nothing, so a new one may replace it.
 */
export function isCutShort(directory: string): boolean {
  const path = storePath(directory);
  if (!existsSync(path)) return false;
  const { text = "", isWhole = false } = linesOf(path).next().value ?? {};
  return !isWhole && /^($|\[$|\["[0-9a-f]{0,8}($|"))/.test(text);
}

/** Reads a whole store. Only its last line may be damaged. Throws a `CampaignError` otherwise. */
export function readStore(directory: string): Stored {
  const path = storePath(directory);
  if (!existsSync(path) || isCutShort(directory)) throw notThere(directory);
  const lines: StoreRecord[] = [];
  let bytes = 0;
  let damaged: number | undefined;
  let number = 0;
  for (const { text, isWhole, end } of linesOf(path)) {
    number++;
    const record = isWhole ? parseLine(text) : undefined;
    if (!record) damaged ??= number;
    if (damaged !== undefined && (damaged === 1 || damaged < number)) {
      throw new CampaignError("store-damaged", `${path} is damaged in line ${damaged}`, {
        help: "restore the file; only a last line that was cut short can be left out",
      });
    }
    if (!record) continue;
    lines.push(record);
    bytes = end;
  }
  const [header, ...records] = lines;
  if (header?.kind !== "header") throw new CampaignError("store-damaged", `${path} has no header in line 1`);
  return { header, records, bytes };
}

/** Reads only the header of a store. Throws a `CampaignError` if there is none. */
export function readHeader(directory: string): Header {
  const path = storePath(directory);
  if (!existsSync(path)) throw notThere(directory);
  const record = parseLine(linesOf(path).next().value?.text ?? "");
  if (record?.kind === "header") return record;
  throw new CampaignError("store-damaged", `${path} has no header in line 1`);
}

/** A line of a file. */
interface Line {
  readonly text: string;
  /** The number of bytes of the file up to the end of the line. */
  readonly end: number;
  /** True if the line has its end. Only the last one may lack it. */
  readonly isWhole: boolean;
}

/**
 * Reads a file line by line. A store of millions of injections fits into no string, and into no
 * buffer.
 */
function* linesOf(path: string): Generator<Line, undefined> {
  let file: number | undefined;
  try {
    file = openSync(path, "r");
    const chunk = Buffer.alloc(CHUNK_BYTES);
    let begun = Buffer.alloc(0);
    let end = 0;
    for (let bytes = readSync(file, chunk); bytes > 0; bytes = readSync(file, chunk)) {
      const read = chunk.subarray(0, bytes);
      let from = 0;
      for (let to = read.indexOf("\n"); to >= 0; to = read.indexOf("\n", from)) {
        const line = Buffer.concat([begun, read.subarray(from, to)]);
        begun = Buffer.alloc(0);
        from = to + 1;
        end += line.length + 1;
        yield { text: line.toString(), end, isWhole: true };
      }
      begun = Buffer.concat([begun, read.subarray(from)]);
    }
    if (begun.length > 0) yield { text: begun.toString(), end: end + begun.length, isWhole: false };
  } catch (error) {
    throw new CampaignError("store-unavailable", `cannot read ${path}: ${messageOf(error)}`, {
      cause: error,
    });
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** The number of bytes that are read at once. */
const CHUNK_BYTES = 1 << 20;

const checksum = (text: string) => crc32(text).toString(16).padStart(8, "0");
const toLine = (record: StoreRecord) => {
  const text = JSON.stringify(record);
  return `["${checksum(text)}",${text}]\n`;
};

/** Parses a line. Returns undefined if its form or checksum is wrong. */
function parseLine(line: string): StoreRecord | undefined {
  const [, sum, text] = /^\["([0-9a-f]{8})",(.*)\]$/.exec(line) ?? [];
  return sum && text && checksum(text) === sum ? (JSON.parse(text) as StoreRecord) : undefined;
}

/** A store that is open for writing. */
export class Store implements Disposable {
  /** The content of the store when it was opened. */
  readonly begunWith: Omit<Stored, "bytes">;
  readonly #path: string;
  readonly #lock: Lock;
  readonly #file: number;
  #bytes: number;
  #syncedAt = 0;

  private constructor(path: string, lock: Lock, { bytes, ...begunWith }: Stored) {
    this.begunWith = begunWith;
    this.#path = path;
    this.#lock = lock;
    this.#bytes = bytes;
    this.#file = openSync(path, "r+");
    if (fstatSync(this.#file).size > bytes) ftruncateSync(this.#file, bytes);
  }

  /**
   * Creates a store with its header. Throws a `CampaignError` if the directory holds a campaign
   * already.
   */
  static create(directory: string, header: Header): Store {
    const path = storePath(directory);
    const refuseBegun = () => {
      if (existsSync(path) && !isCutShort(directory)) throw alreadyThere(directory);
    };
    // This check comes first, so that an existing campaign is reported even while its lock is held.
    refuseBegun();
    return Store.#locked(path, () => {
      refuseBegun();
      const line = toLine(header);
      // The store appears together with its whole header, whenever the process dies.
      writeFileSync(`${path}.new`, line, { flush: true });
      renameSync(`${path}.new`, path);
      return { header, records: [], bytes: Buffer.byteLength(line) };
    });
  }

  /** Opens a store to resume it, and removes the half line that a killed process left. */
  static resume(directory: string): Store {
    const path = storePath(directory);
    if (!existsSync(path)) throw notThere(directory);
    // The store is read under the lock, because another process may write it before.
    return Store.#locked(path, () => readStore(directory));
  }

  static #locked(path: string, stored: () => Stored): Store {
    let lock: Lock | undefined;
    try {
      makeDirectory(dirname(path));
      lock = Lock.take(path);
      return new Store(path, lock, stored());
    } catch (error) {
      lock?.release();
      throw error instanceof CampaignError ? error : unwritable(path, error);
    }
  }

  /** Appends a record. Earlier records stay intact, even if writing fails. */
  append(record: StoreRecord): void {
    const line = Buffer.from(toLine(record));
    try {
      // The position is given, because a file opened for truncation is not opened for appending.
      for (let written = 0; written < line.length; ) {
        written += writeSync(this.#file, line, written, line.length - written, this.#bytes + written);
      }
      this.#bytes += line.length;
      if (performance.now() - this.#syncedAt >= SYNC_MS) this.sync();
    } catch (error) {
      this.#cut();
      throw unwritable(this.#path, error);
    }
  }

  sync(): void {
    fsyncSync(this.#file);
    this.#syncedAt = performance.now();
  }

  /** Removes the part of a line that was written before an error. */
  #cut(): void {
    try {
      ftruncateSync(this.#file, this.#bytes);
    } catch {
      // The next reader ignores the partial line.
    }
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
    this.#lock.release();
  }
}

const alreadyThere = (directory: string) =>
  new CampaignError("store-unavailable", `${directory} holds a campaign already`, {
    help: "go on with it by --resume, or name another --out",
  });

const notThere = (directory: string) =>
  new CampaignError("store-unavailable", `${directory} holds no campaign`, {
    help: "name the --out of a campaign",
  });

const fullDisk = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);

function unwritable(path: string, error: unknown): CampaignError {
  const isFull = fullDisk.has((error as NodeJS.ErrnoException).code ?? "");
  const reason = isFull ? "no space is left on the disk" : reasonOf(error);
  const help = isFull ? "make room and go on by --resume; every finished injection is kept" : undefined;
  return new CampaignError("store-unwritable", `cannot write ${path}: ${reason}`, {
    cause: error,
    ...(help && { help }),
  });
}
