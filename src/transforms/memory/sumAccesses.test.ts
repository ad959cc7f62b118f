import { it } from "vitest";
import { goldens, type Step } from "../../../test/goldens.ts";
import { functionsOf, reachableFrom } from "../../analysis/callGraph.ts";
import { declareReport } from "../declareReport.ts";
import { normalizeAccesses } from "../normalizeAccesses.ts";
import { replicateInvocations } from "../replicateInvocations.ts";
import { reportWords } from "../reportBuffer.ts";
import { sumAccesses } from "./sumAccesses.ts";

const golden = goldens("sumAccesses");
const report: Step = (program, names) =>
  declareReport(program, names, { group: 1, binding: 0, bytes: 4 * reportWords.total, cells: 0 });
const ids: Step = (program, names) =>
  replicateInvocations(program, names, {
    ...{ replicas: 1, pairing: "adjacent", entryPoints: new Set(["main"]), subgroups: false },
  });
/** Sums `input` and `output` of `main`. */
const sum: Step = (program, names) =>
  sumAccesses(program, names, {
    ...{ slots: { group: 1, binding: 1 }, table: { group: 1, binding: 2 }, rows: 2, subgroups: false },
    kernels: [
      {
        entryPoint: "main",
        functions: reachableFrom(
          program,
          functionsOf(program).filter(({ name }) => name === "main"),
        ),
        summed: new Map(["input", "output"].map((name, row) => [name, row])),
      },
    ],
  });

const copy = `
  @group(0) @binding(0) var<storage, read> input: array<vec4u>;
  @group(0) @binding(1) var<storage, read_write> output: array<vec2u>;
  @compute @workgroup_size(8) fn main(@builtin(global_invocation_id) id: vec3u) {
    output[id.x] = input[id.x].xy + input[id.y].zw;
  }`;

it("adds up what is loaded and stored, and leaves the sums in slots", () =>
  golden("a copy", copy, normalizeAccesses, report, ids, sum));
