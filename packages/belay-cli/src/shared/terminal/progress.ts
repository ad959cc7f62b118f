import { printable } from "belay-gpu/internal/diagnostics/printable";
import ora from "ora";
import { type Io, isTerminal, tell } from "./io.ts";

/** The progress of long work, told while the work goes on. */
export interface ProgressDisplay {
  /** Shows the current step in a changing line, only on a terminal. */
  doing(what: string): void;
  /** Writes a permanent line, also to a pipe. */
  tell(line: string): void;
}

/** Runs long work, and shows its progress on the error stream. */
export async function withProgress<Result>(
  io: Io,
  work: (progress: ProgressDisplay) => Promise<Result>,
): Promise<Result> {
  const spinner = ora({
    stream: io.stderr as NodeJS.WriteStream,
    isSilent: !isTerminal(io.stderr),
    discardStdin: false,
  });
  try {
    spinner.start();
    return await work({
      doing: (what) => {
        spinner.text = printable(what);
      },
      tell: (line) => {
        spinner.clear();
        tell(io.stderr, `${line}\n`);
      },
    });
  } finally {
    spinner.stop();
  }
}
