/**
 * The process in which a workload runs. A workload that never ends, takes all memory or ends its
 * process does not affect the command. The process that started this one ends it after its answer.
 *
 *   node workloadProcess.js TASK     TASK: JSON of a `Task`
 */
import { resolve } from "node:path";
import { messageOf } from "belay-gpu/internal/diagnostics/messageOf";
import type { Progress } from "belay-gpu/internal/diagnostics/progress";
import { tune } from "belay-gpu/internal/runtime/tuning/tune";
import { tuneMemory } from "belay-gpu/internal/runtime/tuning/tuneMemory";
import type { Workload } from "belay-gpu/internal/runtime/tuning/workload";
import { openGpu } from "belay-node/internal/adapter";
import { newDevice } from "belay-node/internal/newDevice";
import { CommandFailure } from "../terminal/failure.ts";
import { stackOf } from "../terminal/io.ts";
import { guardProcess } from "./guard.ts";
import { loadWorkload } from "./loadWorkload.ts";
import { openTimedGpu } from "./openTimedGpu.ts";
import { runOnReference, runTwice, runWorkload } from "./runWorkload.ts";
import type { Task, WorkloadMessage } from "./workloadMessages.ts";

const task = JSON.parse(process.argv[2]!) as Task;
const channel = process.send!.bind(process);
// The channel belongs to Belay, and the workload sees its own path as the script.
Object.assign(process, {
  send: undefined,
  disconnect: undefined,
  argv: [process.argv[0], resolve(task.path)],
});
guardProcess();

/**
 * Sends a message to the process that started this one. Kills this process if the other one is
 * gone.
 */
function send(message: WorkloadMessage): void {
  channel(message, undefined, undefined, (error) => {
    if (error) process.kill(process.pid, "SIGKILL");
  });
}

function fail(thrown: unknown): void {
  const { code, help } = thrown as { code?: string; help?: string };
  send({
    kind: "failure",
    message: messageOf(thrown),
    stack: stackOf(thrown),
    ...(code && { code }),
    ...(help && { help }),
  });
}

for (const event of ["uncaughtException", "unhandledRejection"] as const) {
  process.on(event, (thrown: unknown) =>
    fail(
      new CommandFailure("workload-failed", `the workload failed: ${messageOf(thrown)}`, {
        cause: thrown,
        help: "this was thrown where nobody caught it, or by a promise that nobody awaited",
      }),
    ),
  );
}
// Nothing pending can continue the workload.
process.once("beforeExit", () =>
  fail(new CommandFailure("workload-failed", "the workload waits for something that never happens")),
);

async function answer(): Promise<unknown> {
  const loaded = await loadWorkload(task.path);
  if (task.kind === "load") return null;
  const workload: Workload = (device) => {
    send({ kind: "step" });
    return loaded(device);
  };
  if (task.kind === "run") return runTwice(workload, task.policy);
  if (task.kind === "reference") return runOnReference(workload, task.tolerance);
  const checked: Workload = (device) => runWorkload(workload, device);
  using opened = task.kind === "tuneMemory" ? await openGpu() : await openTimedGpu();
  const options = {
    runs: task.runs,
    newDevice: () => newDevice(opened),
    onProgress: ({ doing, done, total }: Progress) =>
      send({ kind: "step", doing: `${doing} (${done + 1} of ${total})` }),
  };
  if (task.kind === "tuneMemory") return await tuneMemory(checked, options);
  return await tune(checked, { ...options, cover: task.cover });
}

// No `await` here: a promise that is never settled would end the process with a status of its own.
answer().then((value) => send({ kind: "answer", value }), fail);
