#!/usr/bin/env node
import { reasonOf } from "belay-gpu/internal/diagnostics/fileErrors";
import { runCommandLine } from "./commandLine.ts";
import { CommandFailure, exitStatus } from "./shared/terminal/failure.ts";
import { printThrown } from "./shared/terminal/io.ts";

const json = process.argv.includes("--json");

process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  // A reader that closes the pipe early (`belay protect … | head`) is no error.
  if (error.code === "EPIPE") process.exit(exitStatus.ok);
  const failure = new CommandFailure("unwritable-output", `cannot write the output: ${reasonOf(error)}`);
  printThrown(process, failure, { json: false });
  process.exit(exitStatus.failed);
});
// Results do not depend on a reader of the messages.
process.stderr.on("error", () => {});
// Node.js would exit here without a message, because nothing pending can continue the command.
process.on("beforeExit", () => {
  printThrown(process, new Error("the command waits for something that never happens"), { json });
  process.exit(exitStatus.failed);
});
for (const event of ["uncaughtException", "unhandledRejection"] as const) {
  process.on(event, (thrown: unknown) => {
    printThrown(process, thrown, { json });
    process.exit(exitStatus.failed);
  });
}

const status = await runCommandLine(process.argv.slice(2), process);
// Open GPU objects keep the process alive, so it exits here, after all output is written. Streams
// report their errors one turn later, which is still before this exit.
process.stdout.write("", () => process.stderr.write("", () => setImmediate(() => process.exit(status))));
