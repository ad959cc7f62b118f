import type { Readable, Writable } from "node:stream";
import { isA } from "belay-gpu/internal/diagnostics/isA";
import { messageOf } from "belay-gpu/internal/diagnostics/messageOf";
import { printable } from "belay-gpu/internal/diagnostics/printable";
import { labelOf } from "belay-gpu/internal/diagnostics/registry";
import type { Command } from "commander";
import pc from "picocolors";

/** The streams a command talks through, so that tests can stand in for the terminal. */
export interface Io {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
}

/**
 * True when a person is looking at the stream. A terminal without a width, as some containers have,
 * cannot redraw lines.
 */
export function isTerminal(stream: Writable): boolean {
  const { isTTY, columns } = stream as Partial<NodeJS.WriteStream>;
  return isTTY === true && columns !== 0;
}

/** Colors for one stream: none in a pipe, and none when NO_COLOR asks for none. */
export function colorsFor(stream: Writable) {
  const { isTTY } = stream as Partial<NodeJS.WriteStream>;
  const { NO_COLOR, FORCE_COLOR, TERM } = process.env;
  const isWanted = FORCE_COLOR ? FORCE_COLOR !== "0" : isTTY === true && TERM !== "dumb";
  return pc.createColors(isWanted && !NO_COLOR);
}

/**
 * Writes text for people to a stream. Names and sources that a program chose disturb no terminal.
 */
export function tell(stream: Writable, text: string): void {
  stream.write(printable(text, { colored: colorsFor(stream).isColorSupported }));
}

/**
 * Writes a value to standard output as JSON, in which every character that would disturb a terminal
 * is escaped.
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
 * Writes what was thrown the way compilers write errors: code, message, help; as JSON to standard
 * output too, where a program reads that. A thrown value without a code of Belay's is a defect, and
 * the message says so. Stacks are for BELAY_DEBUG only.
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

/** Makes a command: registers its flags and help, and reports its exit status when it has run. */
export type CommandFactory = (io: Io, finish: (status: number) => void) => Command;
