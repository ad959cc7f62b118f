import { printable } from "belay-gpu/internal/diagnostics/printable";
import ora from "ora";
import { type Io, isTerminal, tell } from "./io.ts";

/** What long work tells while it goes on. */
export interface Progress {
  /** What is being done, in a line that changes; only on a terminal. */
  doing(what: string): void;
  /** A line that stays, in a pipe too. */
  tell(line: string): void;
}

/** Does long work, and says on the error stream how far it is. */
export async function withProgress<Result>(
  io: Io,
  work: (progress: Progress) => Promise<Result>,
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
