#!/usr/bin/env node
import { runCommandLine } from "./commandLine.ts";
import { exitStatus } from "./failure.ts";
import { printThrown } from "./io.ts";

// A reader that has seen enough (`belay protect … | head`) is no error.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    process.exit(error.code === "EPIPE" ? exitStatus.ok : exitStatus.failed);
  });
}
for (const event of ["uncaughtException", "unhandledRejection"] as const) {
  process.on(event, (thrown: unknown) => {
    printThrown(process, thrown);
    process.exit(exitStatus.failed);
  });
}

const status = await runCommandLine(process.argv.slice(2), process);
// Open GPU objects keep the process alive, so it ends here, once everything written has left.
process.stdout.write("", () => process.stderr.write("", () => process.exit(status)));
