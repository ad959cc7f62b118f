import { extname } from "node:path";
import { nameOf } from "belay-gpu/internal/diagnostics/registry";
import { refuseNonFile } from "../files/input.ts";
import { CommandFailure } from "../terminal/failure.ts";
import { forkGuarded } from "./guard.ts";
import type { Task, WorkloadMessage, WorkloadTasks } from "./workloadMessages.ts";

/** The time limit of a process with a workload, and the listener to its progress. */
export interface Watch {
  /** The seconds that loading the workload, or one run of it, may take. */
  readonly timeout: number;
  readonly doing?: (what: string) => void;
}

/**
 * Loads and runs a workload in a process of its own. The workload prints to standard error, so that
 * standard output holds only the result. Rejects with the workload's error, and when the process
 * ends or takes too long.
 */
export async function askWorkload<Kind extends keyof WorkloadTasks>(
  kind: Kind,
  path: string,
  asks: WorkloadTasks[Kind]["asks"],
  { timeout, doing }: Watch,
): Promise<WorkloadTasks[Kind]["answer"]> {
  // The path is checked first, because a process takes long to start.
  await refuseNonFile(path);
  const file = new URL(`workloadProcess${extname(import.meta.url)}`, import.meta.url);
  const child = forkGuarded(file, [JSON.stringify({ kind, path, ...asks } as Task)], {
    stdio: ["inherit", 2, 2, "ipc"],
    // Numbers of a result may be infinite, which JSON cannot express.
    serialization: "advanced",
  });
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise((resolve, reject) => {
      const watch = () => {
        clearTimeout(timer);
        timer = setTimeout(() => reject(tookTooLong(timeout)), 1000 * timeout);
      };
      watch();
      child.on("message", (message: WorkloadMessage) => {
        if (message.kind === "answer") resolve(message.value as WorkloadTasks[Kind]["answer"]);
        else if (message.kind === "failure") reject(failureFrom(message));
        else {
          watch();
          if (message.doing !== undefined) doing?.(message.doing);
        }
      });
      child.on("error", reject);
      child.on("exit", (status, signal) => reject(ended(status, signal)));
    });
  } finally {
    clearTimeout(timer);
    child.kill("SIGKILL");
  }
}

const tookTooLong = (seconds: number) =>
  new CommandFailure("workload-not-ended", `the workload had not ended after ${seconds} s`, {
    help: "--timeout gives loading it, and each run of it, more time",
  });

function ended(status: number | null, signal: NodeJS.Signals | null): CommandFailure {
  const how = signal ? `by ${signal}` : `with status ${status}`;
  return new CommandFailure(
    "workload-not-ended",
    `the workload ended its process ${how}, before there were results`,
    {
      help:
        signal === "SIGKILL"
          ? "a process is killed when it takes too much memory"
          : "a workload returns its results; it calls no `process.exit`, and nothing that aborts",
    },
  );
}

function failureFrom({ code, message, help, stack }: WorkloadMessage & { kind: "failure" }): Error {
  const diagnostic = code && nameOf(code);
  const failure = diagnostic
    ? new CommandFailure(diagnostic, message, help === undefined ? {} : { help })
    : new Error(message);
  failure.stack = stack;
  return failure;
}
