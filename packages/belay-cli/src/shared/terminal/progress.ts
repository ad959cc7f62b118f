import { printable } from "belay-gpu/internal/diagnostics/printable";
import ora from "ora";
import { type Io, isTerminal, tell } from "./io.ts";

/** The interval between two lines about the current step in a pipe, in milliseconds. */
const lineEveryMs = 5000;

/** The progress of long work, told while the work goes on. */
export interface ProgressDisplay {
  /** Sets the current step. A terminal shows each step, a pipe the one at each interval. */
  doing(what: string): void;
  /** Writes a permanent line, also to a pipe. */
  tell(line: string): void;
}

/**
 * Runs long work, and shows its progress on the error stream: in place on a terminal, otherwise as
 * a line at once and one every five seconds. `first` is the first step.
 */
export async function withProgress<Result>(
  io: Io,
  first: string,
  work: (progress: ProgressDisplay) => Promise<Result>,
): Promise<Result> {
  const onTerminal = isTerminal(io.stderr);
  const spinner = ora({
    stream: io.stderr as NodeJS.WriteStream,
    isSilent: !onTerminal,
    discardStdin: false,
    text: first,
  });
  const begun = performance.now();
  let step = first;
  const tellStep = () => {
    const seconds = Math.round((performance.now() - begun) / 1000);
    tell(io.stderr, `${step} (${seconds} s)\n`);
  };
  if (!onTerminal) tell(io.stderr, `${first}\n`);
  const timer = onTerminal ? undefined : setInterval(tellStep, lineEveryMs);
  try {
    spinner.start();
    return await work({
      doing: (what) => {
        step = what;
        spinner.text = printable(what);
      },
      tell: (line) => {
        spinner.clear();
        tell(io.stderr, `${line}\n`);
      },
    });
  } finally {
    clearInterval(timer);
    spinner.stop();
  }
}
