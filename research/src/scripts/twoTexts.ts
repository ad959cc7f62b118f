/**
 * Measures what a second text costs: each program of the catalog with one text and with two, in
 * passes and Inter-Group, in alternation with the plain program. Counts false alarms.
 *
 *   node research/dist/scripts/twoTexts.js [--size benchmark] [--runs 7] [--time-limit 120]
 *       [--only REGEXP] [--json FILE]
 *
 * Ends with an error if replicas disagree. The results need not have the bits of the plain program,
 * because two texts round each operation by itself.
 */
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { openTimedGpu } from "belay-cli/internal/shared/workloads/openTimedGpu";
import type { Policy } from "belay-gpu";
import { twoTexts } from "belay-gpu/diversity";
import { newDevice } from "belay-node/internal/newDevice";
import Table from "cli-table3";
import { measureCost, withGuarded } from "../bench/measuring/overhead.ts";
import { TimedProgram } from "../bench/measuring/timing.ts";
import { catalog } from "../workloads/samples/index.ts";

const { values: flags } = parseArgs({
  options: {
    size: { type: "string", default: "benchmark" },
    runs: { type: "string", default: "7" },
    "time-limit": { type: "string", default: "120" },
    only: { type: "string", default: "" },
    json: { type: "string" },
  },
});
const end = performance.now() + 1000 * Number(flags["time-limit"]);
const policies: Readonly<Record<string, Policy>> = {
  passes: { redundancy: "intra+lds", pairing: "passes" },
  "passes, two texts": { redundancy: "intra+lds", pairing: "passes", diversity: twoTexts },
  inter: { redundancy: "inter" },
  "inter, two texts": { redundancy: "inter", diversity: twoTexts },
};

/** The outcome of a program under a policy. */
type Outcome =
  | { readonly refused: string }
  | { readonly ratio: number; readonly detections: number; readonly isRight: boolean };

const opened = await openTimedGpu();
const results: Record<string, Record<string, Outcome>> = {};
for (const sample of catalog.filter(({ name }) => new RegExp(flags.only).test(name))) {
  if (performance.now() > end) break;
  const program = flags.size === "benchmark" ? sample.benchmark() : sample.campaign();
  using unprotected = new TimedProgram(program, await newDevice(opened));
  const expected = await unprotected.read();
  const outcomes: Record<string, Outcome> = {};
  for (const [name, policy] of Object.entries(policies))
    outcomes[name] = await withGuarded(program, await newDevice(opened), policy, async (guarded) => {
      const cost = await measureCost(guarded, { unprotected, expected }, Number(flags.runs));
      const { ok } = program.verify(await guarded.guarded.read());
      return { ratio: cost.ratio, detections: cost.detections, isRight: ok };
    });
  results[sample.name] = outcomes;
}
const names = Object.keys(policies);
const table = new Table({ head: ["program", ...names] });
const shown = (outcome: Outcome) =>
  "refused" in outcome
    ? "-"
    : `${outcome.ratio.toFixed(2)}${outcome.detections > 0 ? `, ${outcome.detections} ALARMS` : ""}${outcome.isRight ? "" : ", WRONG"}`;
for (const [program, outcomes] of Object.entries(results))
  table.push([program, ...names.map((name) => shown(outcomes[name]!))]);
const mean = (name: string) => {
  const ratios = Object.values(results).flatMap(({ [name]: each }) =>
    each && "ratio" in each ? [each.ratio] : [],
  );
  return Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length).toFixed(2);
};
table.push(["geometric mean", ...names.map(mean)]);
console.log(table.toString());
if (flags.json) writeFileSync(flags.json, JSON.stringify({ adapter: opened.choice.description, results }));
opened.close();
const alarms = Object.values(results).flatMap((outcomes) =>
  Object.values(outcomes).filter((each) => "ratio" in each && (each.detections > 0 || !each.isRight)),
);
process.exit(alarms.length > 0 ? 1 : 0);
