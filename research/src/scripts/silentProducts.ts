/**
 * Explains the silent faults of checked products. A campaign strikes programs under `"algebra"`.
 * Each fault that was silent beyond twice the bound strikes again many times, with other weights.
 *
 *   node research/dist/scripts/silentProducts.js [--programs matrixProduct] [--seconds 60]
 *       [--again 200] [--faults 100000] [--json FILE]
 *
 * A lone error beyond twice the bound is always found. Of several, the largest error `e` stays
 * hidden with a probability of at most 2 * bound / e. `--seconds` limits the campaign of each
 * program, `--faults` the faults of each structure. The script fails if a silent fault has one
 * error only, or is silent more often than the probability allows.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { type CampaignConfiguration, unprotected } from "belay-cli/internal/campaign/model/configurations";
import { drawFault, faultModels, modelsFor } from "belay-cli/internal/campaign/model/faultModel";
import { classify } from "belay-cli/internal/campaign/model/outcome";
import { Draws } from "belay-cli/internal/campaign/model/random";
import { Session } from "belay-cli/internal/campaign/processes/session";
import { programNamed } from "belay-cli/internal/commands/campaign/programs";
import { alignColumns } from "belay-cli/internal/shared/terminal/table";
import { openGpu } from "belay-node/internal/adapter";

const { values: flags } = parseArgs({
  options: {
    programs: { type: "string", default: "matrixProduct" },
    seconds: { type: "string", default: "60" },
    again: { type: "string", default: "200" },
    faults: { type: "string", default: "100000" },
    json: { type: "string" },
  },
});
const again = Number(flags.again);
const structures = ["ALU", "VRF", "LDS", "SU", "SRF", "ID", "IF/SCHED", "L1"] as const;
const algebra: CampaignConfiguration = {
  name: "algebra",
  policy: { ...unprotected.policy, redundancy: "algebra" },
};

/** A fault that was silent, and its repetitions. */
interface Silent {
  readonly program: string;
  readonly structure: string;
  readonly statement: string;
  /** The wrong results, and the largest error as a multiple of the bound. */
  readonly wrong: number;
  readonly largest: number;
  readonly silentAgain: number;
  /** The largest number of silent repetitions to expect. */
  readonly expected: number;
}

const opened = await openGpu();
const silent: Silent[] = [];
const effective: Record<string, Record<string, number>> = {};
for (const name of flags.programs.split(",")) await strike(name);
console.log(opened.choice.description);
console.log(JSON.stringify(effective));
console.log(
  alignColumns([
    [
      "program",
      "structure",
      "wrong results",
      "largest, in bounds",
      `silent of ${again}`,
      "at most",
      "statement",
    ],
    ...silent.map((each) => [
      each.program,
      each.structure,
      String(each.wrong),
      each.largest.toFixed(1),
      String(each.silentAgain),
      each.expected.toFixed(0),
      each.statement,
    ]),
  ]),
);
if (flags.json)
  writeFileSync(flags.json, JSON.stringify({ device: opened.choice.description, again, effective, silent }));
opened.close();
const isFailure = ({ wrong, silentAgain, expected }: Silent) =>
  // Counts vary by the square root of what is expected.
  wrong < 2 || silentAgain > expected + 4 * Math.sqrt(expected);
process.exit(silent.some(isFailure) ? 1 : 0);

async function strike(name: string): Promise<void> {
  const program = await programNamed(name);
  const { session, unit } = await Session.open(program, algebra, opened, { counted: [], seed: 1 });
  await session.widen(8);
  const end = performance.now() + 1000 * Number(flags.seconds);
  for (let first = 0; first < Number(flags.faults) && performance.now() < end; first += 250) {
    for (const structure of structures) {
      const kernels = unit.kernels.filter((each) => modelsFor(each, structure, faultModels).length > 0);
      if (kernels.length === 0) continue;
      const faults = Array.from({ length: 250 }, (_, i) => {
        const kernel = new Draws(`${name}/${structure}/${first + i}/kernel`).pick(kernels);
        const models = modelsFor(kernel, structure, faultModels);
        return drawFault(`${name}/${structure}/${first + i}`, kernel, structure, models, 1).fault;
      });
      for (const [i, run] of (await session.inject(faults)).entries()) {
        const outcome = classify(run);
        effective[name] ??= {};
        if (outcome !== "notInjected" && outcome !== "masked")
          effective[name][structure] = (effective[name][structure] ?? 0) + 1;
        if (outcome !== "sdc") continue;
        const fault = faults[i]!;
        const kernel = kernels.find((each) => each.kernel === fault.kernel)!;
        const { start, end } = kernel.sites.find(({ id }) => id === fault.site)!.span;
        const repeated = await session.inject(Array.from({ length: again }, () => fault));
        const { count: wrong, largest: error } = run.difference!;
        silent.push({
          program: name,
          structure,
          statement: kernel.source.slice(start, end),
          wrong,
          largest: error / (session.tolerated / 2),
          silentAgain: repeated.filter((each) => classify(each) === "sdc").length,
          expected: Math.min(1, session.tolerated / error) * again,
        });
      }
    }
  }
  session.close();
}
