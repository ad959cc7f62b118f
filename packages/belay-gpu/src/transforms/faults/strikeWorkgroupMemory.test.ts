import { describe, it } from "vitest";
import { goldens, report, type Step } from "../../../../../test/support/wgsl/goldens.ts";
import { functionsOf } from "../../analysis/callGraph.ts";
import { normalizeAccesses } from "../normalize/normalizeAccesses.ts";
import { armedTrigger } from "./armedTrigger.ts";
import { FaultSites } from "./faultSites.ts";
import { injectionMembers } from "./injectionWords.ts";
import { Strikes } from "./strikes.ts";
import { strikeWorkgroupMemory } from "./strikeWorkgroupMemory.ts";

const golden = goldens("strikeWorkgroupMemory");
const memory = `
  struct Part { at: vec3f, hits: atomic<i32> }
  var<workgroup> tile: array<f32, 32>;
  var<workgroup> parts: array<Part, 8>;
  var<workgroup> copies: array<array<u32, 4>, 2>;
`;
const declared = report({ injection: injectionMembers });
const strike: Step = (program, names) =>
  strikeWorkgroupMemory(program, names, {
    sites: new FaultSites(),
    strikes: new Strikes(
      names,
      armedTrigger(names, { redundancy: "intra-lds", pairing: "adjacent", subgroups: false }),
    ),
    functions: new Set(functionsOf(program)),
    entryPoints: new Set(["main"]),
    isShared: () => true,
  });
const struck = (name: string, body: string) =>
  golden(
    name,
    `${memory} fn f(l: u32, x: vec3f) { ${body} } @compute @workgroup_size(8) fn main() { tile[0] = 0.0; f(1u, vec3f()); }`,
    normalizeAccesses,
    declared,
    strike,
  );

describe("strikes", () => {
  it("words that are stored, and those behind atomic operations", () =>
    struck(
      "words of workgroup memory",
      `tile[l] = x.y;
      parts[l].at = x;
      parts[l].at.y = 2.0;
      let old = atomicAdd(&parts[l].hits, 3);
      atomicStore(&parts[0].hits, old);`,
    ));

  it("no loads, no composites and no other memory", () =>
    struck(
      "other accesses",
      "var mine = tile[l]; mine += 1.0; copies[l & 1u] = array(l, l, 3u, 4u); let n = atomicLoad(&parts[l].hits);",
    ));
});
