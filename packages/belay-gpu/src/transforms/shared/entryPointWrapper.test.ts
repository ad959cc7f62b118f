import { describe, expect, it } from "vitest";
import type { Redundancy } from "../../compiler/contract.ts";
import { protect } from "../../compiler/protect.ts";

/** The new entry point's first line, and what stands behind it. */
function entryPointOf(body: string, redundancy: Redundancy) {
  const code = `@group(0) @binding(0) var<storage, read_write> out: array<vec4u>;
    @compute @workgroup_size(64)
    fn main(@builtin(local_invocation_index) place: u32, @builtin(workgroup_id) group: vec3u) { ${body} }`;
  const made = protect(code, { redundancy, memory: redundancy === "none" ? "secded128" : "none" }).code;
  const start = made.indexOf("fn main(");
  return { head: made.slice(start, made.indexOf("\n", start)), code: made };
}

const stays = "out[group.x * 64u + place] = vec4u(place);";
const returns = `if (place > 7u) { return; } ${stays}`;

describe("wrapEntryPoint", () => {
  it("keeps the entry point's own parameters, in their order, where a body gets them as they are", () => {
    const { head, code } = entryPointOf(stays, "none");
    expect(head).toMatch(
      /^fn main\(@builtin\(local_invocation_index\) place: u32, @builtin\(workgroup_id\) group: vec3u/,
    );
    expect(code).not.toMatch(/let (place|group)\b/);
  });

  it("derives what replicas must see in another way", () => {
    const { head, code } = entryPointOf(stays, "intra+lds");
    expect(head).not.toContain(" place: u32");
    expect(code).toMatch(/let place: u32 = /);
  });

  it("calls a body that returns early, with the values as arguments", () => {
    const { head, code } = entryPointOf(returns, "none");
    expect(head).not.toContain(" place: u32");
    expect(code).toMatch(/belay_main_1\(belay_in_local_invocation_index, belay_in_workgroup_id\)/);
  });
});
