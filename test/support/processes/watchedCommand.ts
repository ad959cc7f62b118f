/**
 * The command `belay`: `watchedCommand.ts FILE stays|dies|disconnects ARGUMENT…`. It writes the id
 * of the process that it starts to a file. With `dies` it then kills itself, and with `disconnects`
 * it disconnects from that process.
 */
import childProcess from "node:child_process";
import { writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const [, , file, then, ...args] = process.argv;

const fork = childProcess.fork as (...args: unknown[]) => childProcess.ChildProcess;
childProcess.fork = ((...args: unknown[]) => {
  const child = fork(...args);
  writeFileSync(file!, String(child.pid));
  if (then === "dies") process.kill(process.pid, "SIGKILL");
  if (then === "disconnects") child.disconnect();
  return child;
}) as typeof childProcess.fork;
syncBuiltinESMExports();

const { runCommandLine } = await import("belay-cli/internal/commandLine");
process.exit(await runCommandLine(args, process));
