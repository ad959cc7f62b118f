import { type BlameVerdict, blame, type Testimony } from "belay-gpu/internal/blame/blame";
import { disputeFrom } from "belay-gpu/internal/blame/dispute";
import type { DiagnosticName } from "belay-gpu/internal/diagnostics/registry";
import { type OpenedGpu, openGpu } from "belay-node/internal/adapter";
import { newDevice } from "belay-node/internal/newDevice";
import { Command, Option } from "commander";
import { readSource } from "../shared/files/input.ts";
import { patience } from "../shared/options.ts";
import { CommandFailure, exitStatus } from "../shared/terminal/failure.ts";
import { type Io, printJson, tell } from "../shared/terminal/io.ts";
import { withProgress } from "../shared/terminal/progress.ts";

interface Flags {
  readonly timeout: number;
  readonly json: boolean;
}

/** Makes the command `belay blame`, which finds who makes the results of a dispatch wrong. */
export function blameCommand(io: Io, finish: (status: number) => void): Command {
  return new Command("blame")
    .description(
      "Cuts a disputed dispatch down, asks the reference executor, the adapter and a software adapter, and prints a report for the owner of the mistake. The exit status is 1 unless the results are right.",
    )
    .argument("<file>", "dispute as JSON, such as `dispute` of a case of qualify; - for standard input")
    .addOption(
      new Option("--timeout <seconds>", "how long cutting the kernel down may take")
        .argParser(patience)
        .default(20),
    )
    .option("--json", "print the verdict as JSON", false)
    .action(async (file: string, { timeout, json }: Flags) => {
      const text = await readSource(file, io);
      const dispute = await orFailure(
        async () => disputeFrom(text),
        "usage",
        "write `dispute` of a case of qualify to a file as JSON",
      );
      const opened = await openGpu();
      const software = opened.choice.kind === "hardware" ? await openedSoftware() : undefined;
      try {
        const device = await newDevice(opened);
        const verdict = await withProgress(io, "opening the GPU", ({ doing }) =>
          orFailure(
            async () =>
              blame(dispute, {
                device,
                software: software && (await newDevice(software)),
                milliseconds: 1000 * timeout,
                onProgress: doing,
              }),
            "not-judged",
            "blame a dispatch that ends, and that the reference executor and the adapter can run",
          ),
        );
        if (json) printJson(io, { ...verdict, adapter: opened.choice.description });
        else tell(io.stdout, reportOf(verdict, opened.choice.description, software?.choice.description));
        finish(verdict.culprit === "nobody" ? exitStatus.ok : exitStatus.failed);
      } finally {
        opened.close();
        software?.close();
      }
    });
}

/** Returns the result of a function. Turns a `TypeError` about the dispute into a failure. */
async function orFailure<T>(work: () => Promise<T>, name: DiagnosticName, help: string): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new CommandFailure(name, error.message, { help });
  }
}

/** Opens a software adapter, or returns undefined where there is none. */
async function openedSoftware(): Promise<OpenedGpu | undefined> {
  try {
    return await openGpu({ kinds: ["chromium", "package"] });
  } catch {
    return undefined;
  }
}

/** Returns the report, as text for the tracker of the owner of the mistake. */
function reportOf(
  { culprit, dispute, evidence }: BlameVerdict,
  adapter: string,
  software: string | undefined,
): string {
  const { device, otherText, kernel } = evidence;
  const outcomes = [...new Set(device.map(inWords))];
  const lines = [
    culprit === "nobody" ? "The results are right." : `Wrong results of a compute kernel: ${culprit}`,
    "",
    `- the specification: ${kernel === undefined ? "fixes the results" : `does not fix the results, because ${kernel}`}`,
    `- ${adapter}, ${device.length} runs: ${outcomes.join("; in others ")}`,
    ...(otherText ? [`- the same kernel in another text, on the same adapter: ${inWords(otherText)}`] : []),
    ...(evidence.software ? [`- ${software}: ${inWords(evidence.software)}`] : []),
    "",
    `Dispatch of ${dispute.workgroups.join(" × ")} workgroups`,
    ...dispute.buffers.map(
      ({ group, binding, words }) =>
        `- group ${group}, binding ${binding}: ${words.length} words, ${words.slice(0, 64).join(" ")}${words.length > 64 ? " …" : ""}`,
    ),
    "",
    "```wgsl",
    dispute.source.trimEnd(),
    "```",
    "",
  ];
  return lines.join("\n");
}

const inWords = ({ outcome, reason }: Testimony) =>
  reason === undefined ? outcome : `${outcome}, ${reason}`;
