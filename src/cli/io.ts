import type { Readable, Writable } from "node:stream";
import pc from "picocolors";
import { messageOf } from "../diagnostics/messageOf.ts";

/** The streams a command talks through, so that tests can stand in for the terminal. */
export interface Io {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
}

/** True when a person is looking at the stream. A terminal without a width, as some containers have, cannot redraw lines. */
export function isTerminal(stream: Writable): boolean {
  const { isTTY, columns } = stream as Partial<NodeJS.WriteStream>;
  return isTTY === true && columns !== 0;
}

/** Colors for one stream: none in a pipe, and none when NO_COLOR asks for none. */
export function colorsFor(stream: Writable) {
  return pc.createColors(isTerminal(stream) && !process.env.NO_COLOR);
}

/**
 * Writes what was thrown the way compilers write errors: code, message, help. What carries no code of Belay's is a
 * defect and says so. Stacks are for BELAY_DEBUG only.
 */
export function printThrown(io: Io, thrown: unknown): void {
  const color = colorsFor(io.stderr);
  const { code, help } = (thrown ?? {}) as { code?: unknown; help?: unknown };
  const known = typeof code === "string" && code.startsWith("BELAY");
  const advice = known ? help : "this is a defect; BELAY_DEBUG=1 shows where it happened";

  io.stderr.write(`${color.red(color.bold(`error[${known ? code : "internal"}]`))}: ${messageOf(thrown)}\n`);
  if (advice) io.stderr.write(`  ${color.cyan("help")}: ${advice}\n`);
  if (process.env.BELAY_DEBUG) io.stderr.write(`${stackOf(thrown)}\n`);
}

function stackOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  return thrown.cause ? `${thrown.stack}\ncaused by ${stackOf(thrown.cause)}` : `${thrown.stack}`;
}
