import { Readable, Writable } from "node:stream";
import { runCommandLine } from "belay-cli/internal/commandLine";

/** Runs one command line in this process. */
export async function belay(args: readonly string[], stdin = "") {
  const written = { stdout: "", stderr: "" };
  const sink = (name: keyof typeof written) =>
    new Writable({
      write(chunk, _encoding, done) {
        written[name] += chunk;
        done();
      },
    });
  const io = { stdin: Readable.from([Buffer.from(stdin)]), stdout: sink("stdout"), stderr: sink("stderr") };
  const status = await runCommandLine(args, io);
  return { status, ...written };
}
