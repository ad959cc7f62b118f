/**
 * The process that keeps a device and strikes one program after another on it. A fault may hang or
 * end this process. The process that started it watches for both.
 *
 *   node deviceProcess.js MODULE     MODULE: exports `programNamed`
 */

import { messageOf } from "belay-gpu/internal/diagnostics/messageOf";
import { type OpenedGpu, openGpu } from "belay-node/internal/adapter";
import { guardProcess } from "../../shared/workloads/guard.ts";
import { CampaignError } from "../model/failure.ts";
import type { Answer, Programs, Question } from "./messages.ts";
import { Session } from "./session.ts";

let opened: OpenedGpu | undefined;
let session: Session | undefined;
let working: Promise<void> = Promise.resolve();

process.on("message", (question: Question) => {
  working = working.then(async () => reply(await answer(question)));
});
guardProcess();
// A signal to all processes of a terminal or a service must not look like the effect of a fault.
// The parent process ends this one.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});

async function answer(question: Question): Promise<Answer> {
  try {
    return { kind: "answer", value: await answerTo(question) };
  } catch (error) {
    const { code, help } = error as { code?: string; help?: string };
    return { kind: "failure", message: messageOf(error), ...(code && { code }), ...(help && { help }) };
  }
}

async function answerTo(question: Question) {
  opened ??= await openGpu({ nvidiaHalves: true });
  switch (question.kind) {
    case "start":
      return { adapter: opened.choice.description, isSoftware: opened.choice.kind !== "hardware" };
    case "open":
    case "reopen": {
      const programs = (await import(process.argv[2]!)) as Programs;
      const program = await programs.programNamed(question.program);
      if (program.digest !== question.digest) throw changed(question.program);
      session?.close();
      session = undefined;
      if (question.kind === "reopen") {
        session = await Session.reopen(program, question.configuration, opened);
        if (!session.has(question.kernels)) throw changed(question.program);
        return null;
      }
      const { session: made, unit } = await Session.open(program, question.configuration, opened, question);
      session = made;
      return unit;
    }
    case "control":
      return session!.control(question.runs);
    case "widen":
      await session!.widen(question.instances);
      return null;
    case "inject":
      return session!.inject(question.faults);
    case "explain":
      return session!.explain(question.fault);
  }
}

/**
 * Returns the error for another version of a program, in which the drawn faults have no meaning.
 */
const changed = (program: string) =>
  new CampaignError(
    "other-campaign",
    `${program} is another version than the one that the campaign was begun with`,
    {
      help: "bring that version back, or begin anew with another --out",
    },
  );

function reply(answer: Answer): void {
  process.send?.({ ...answer, bytes: process.memoryUsage.rss() });
}
