import { renderDiagnostic } from "belay-gpu/internal/diagnostics/render";
import { describeDifference } from "belay-gpu/internal/runtime/tuning/outputDifference";
import { Command } from "commander";
import { outcomeNames } from "../../campaign/model/outcome.ts";
import { type Replay, replay } from "../../campaign/replay.ts";
import { exitStatus } from "../../shared/terminal/failure.ts";
import { colorsFor, type Io, printJson, tell } from "../../shared/terminal/io.ts";
import { withProgress } from "../../shared/terminal/progress.ts";
import { alignColumns } from "../../shared/terminal/table.ts";
import { programsModule } from "./programs.ts";

/**
 * Makes the command `belay campaign replay`, which repeats one injection and shows all its details.
 */
export function campaignReplayCommand(io: Io, finish: (status: number) => void): Command {
  return new Command("replay")
    .summary("inject one fault of a campaign again, and explain it")
    .description(
      "Injects one fault of a campaign again, and shows the line it strikes, the word before and after, what was detected, and where the results differ. The exit status is 1 when the outcome is another one this time.",
    )
    .argument("<directory>", "the --out of the campaign")
    .argument("<id>", "of the injection, or how it begins")
    .option("--json", "print what is known as JSON", false)
    .action(async (directory: string, id: string, { json }: { json: boolean }) => {
      const found = await withProgress(io, "injecting the fault again", () =>
        replay(directory, id, programsModule),
      );
      if (json) printJson(io, found);
      else tell(io.stdout, render(found, io));
      finish(found.outcome === found.injection.outcome ? exitStatus.ok : exitStatus.failed);
    });
}

function render({ injection, place, outcome, explanation, detail, elsewhere }: Replay, io: Io): string {
  const { id, program, configuration, structure, model, fault } = injection;
  const frame = place
    ? renderDiagnostic(
        {
          code: id,
          severity: "info",
          message: `${model} in ${structure} of ${program}, ${configuration}: ${outcomeNames[outcome]}`,
          span: place.site.span,
          notes: [],
        },
        place.kernel.source,
        { file: place.kernel.kernel, color: colorsFor(io.stdout).isColorSupported },
      )
    : `${id}: ${model} in ${structure} of ${program}, ${configuration}: ${outcomeNames[outcome]}`;
  const { observed, difference, disagreements = [] } = explanation ?? {};
  const rows: string[][] = [
    ["recorded as", outcomeNames[injection.outcome]],
    ["struck", describeStruck(fault)],
  ];
  if (observed && place?.site.kind !== "statement") {
    rows.push(["before", asWord(observed.before)], ["after", asWord(observed.after)]);
  }
  for (const [i, line] of disagreements.slice(0, 4).entries()) rows.push([i === 0 ? "detected" : "", line]);
  if (disagreements.length > 4) rows.push(["", `and ${disagreements.length - 4} more`]);
  if (difference) {
    rows.push(["differs first", describeDifference(difference)]);
    rows.push(["differ in all", `${difference.count} elements`]);
  }
  if (elsewhere) rows.push(["recorded on", elsewhere.begunOn], ["replayed on", elsewhere.present]);
  const said = detail ?? explanation?.error;
  if (said !== undefined) rows.push(["because", said]);
  return `${frame}\n\n${alignColumns(rows)}\n`;
}

function describeStruck(fault: Replay["injection"]["fault"]): string {
  if ("buffer" in fault) return `bits ${hex(fault.mask)} of buffer ${fault.buffer}, byte ${fault.byteOffset}`;
  const { workgroup, localIndex, occurrence = 0, dispatch = 0, replica, extent = "invocation" } = fault;
  const who = {
    invocation: `replica ${replica} of`,
    subgroup: "the subgroup of",
    line: "all who load what is loaded by",
  };
  return `${who[extent]} workgroup (${workgroup.join(", ")}), local index ${localIndex}, occurrence ${occurrence}, dispatch ${dispatch}`;
}

const hex = (word: number) => `0x${(word >>> 0).toString(16).padStart(8, "0")}`;

const scratch = new DataView(new ArrayBuffer(4));

/** Returns a word as text in hexadecimal, as a whole number and as an `f32`. */
function asWord(word: number): string {
  scratch.setUint32(0, word);
  return `${hex(word)} (${word >>> 0}, or ${Number(scratch.getFloat32(0).toPrecision(7))} as f32)`;
}
