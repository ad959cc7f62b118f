import type { Readable, Writable } from "node:stream";
import { isA } from "belay-gpu/internal/diagnostics/isA";
import { messageOf } from "belay-gpu/internal/diagnostics/messageOf";
import { printable } from "belay-gpu/internal/diagnostics/printable";
import { labelOf } from "belay-gpu/internal/diagnostics/registry";
import type { Command } from "commander";
import pc from "picocolors";

/** The streams of a command. Tests replace them to stand in for a terminal. */
export interface Io {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
}

/**
 * Returns whether a person is looking at the stream. A terminal without a width, as in some
 * containers, does not count, because it cannot redraw lines.
 */
export function isTerminal(stream: Writable): boolean {
  const { isTTY, columns } = stream as Partial<NodeJS.WriteStream>;
  return isTTY === true && columns !== 0;
}

/**
 * Returns the colors for one stream. NO_COLOR turns colors off. FORCE_COLOR decides otherwise, and
 * by default only terminals have colors.
 */
export function colorsFor(stream: Writable) {
  const { isTTY } = stream as Partial<NodeJS.WriteStream>;
  const { NO_COLOR, FORCE_COLOR, TERM } = process.env;
  const isWanted = FORCE_COLOR ? FORCE_COLOR !== "0" : isTTY === true && TERM !== "dumb";
  return pc.createColors(isWanted && !NO_COLOR);
}

/**
 * Writes text for people to a stream. Names and sources that a program chose cannot disturb the
 * terminal.
 */
export function tell(stream: Writable, text: string): void {
  stream.write(printable(text, { colored: colorsFor(stream).isColorSupported }));
}

/**
 * Writes a value to standard output as JSON. Every character that would disturb a terminal is
 * escaped.
 */
export function printJson(io: Io, value: unknown): void {
  io.stdout.write(`${jsonOf(value)}\n`);
}

export function jsonOf(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(/[\u007f-\u009f]|\p{Cf}/gu, (character) =>
    character
      .split("")
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
      .join(""),
  );
}

/**
 * Writes a thrown value as compilers write errors: code, message, help. With `json`, standard
 * output also gets the error as JSON. A thrown value without a code of Belay's is a defect, and the
 * message says so. Stacks appear only with BELAY_DEBUG.
 */
export function printThrown(io: Io, thrown: unknown, { json }: { readonly json: boolean }): void {
  const color = colorsFor(io.stderr);
  const { code, help } = findingOf(thrown);
  const message = messageOf(thrown);
  tell(io.stderr, `${color.red(color.bold(`error[${labelOf(code)}]`))}: ${message}\n`);
  if (help) tell(io.stderr, `  ${color.cyan("help")}: ${help}\n`);
  if (process.env.BELAY_DEBUG) tell(io.stderr, `${stackOf(thrown)}\n`);
  if (json) printError(io, { code, message, help });
}

/** Writes an error as JSON to standard output. */
export function printError(
  io: Io,
  {
    code,
    message,
    help,
  }: { readonly code: string; readonly message: string; readonly help?: string | undefined },
): void {
  printJson(io, { ok: false, error: { code, message, ...(help && { help }) } });
}

function findingOf(thrown: unknown): { code: string; help?: string } {
  if (isA(thrown, Error)) {
    const { code, help } = thrown as { code?: unknown; help?: unknown };
    if (typeof code === "string" && code.startsWith("BELAY"))
      return { code, ...(typeof help === "string" && { help }) };
  }
  return { code: "internal", help: "this is a defect; BELAY_DEBUG=1 shows where it happened" };
}

export function stackOf(thrown: unknown): string {
  if (!isA(thrown, Error)) return messageOf(thrown);
  return thrown.cause ? `${thrown.stack}\ncaused by ${stackOf(thrown.cause)}` : `${thrown.stack}`;
}

/**
 * A function that makes a command with its flags and help. The command reports its exit status to
 * `finish` after a run.
 */
export type CommandFactory = (io: Io, finish: (status: number) => void) => Command;
