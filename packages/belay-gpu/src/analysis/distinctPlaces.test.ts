import { expect, it } from "vitest";
import { resolved } from "../../../../test/support/wgsl/resolved.ts";
import { functionsOf } from "./callGraph.ts";
import { areDistinct } from "./distinctPlaces.ts";
import { memoryAccesses } from "./memoryAccesses.ts";

function distinct(body: string): boolean {
  const program = resolved(`
    struct Pair { first: u32, second: u32 }
    @group(0) @binding(0) var<storage, read_write> b: array<u32>;
    @group(0) @binding(1) var<storage, read_write> pairs: array<Pair>;
    const step = 4u;
    @compute @workgroup_size(8) fn main(@builtin(global_invocation_id) id: vec3u) {
      let i = id.x; let j = id.y; ${body}
    }`);
  const [own] = memoryAccesses(program, functionsOf(program)).values();
  return areDistinct(
    program,
    own!.flatMap(({ place, kind }) => (place && kind === "store" ? [place] : [])),
  );
}

it.each([
  ["b[i] = 1u;", true],
  ["b[i] = 1u; b[i + 1u] = 2u; b[2u + i] = 3u;", true],
  ["b[i + j] = 1u; b[j + step + i] = 2u;", true],
  ["let k = i + 4u; b[k] = 1u; b[k + 1u] = 2u; b[i] = 3u;", true],
  ["b[i] = 1u; b[i] = 2u;", false],
  ["let k = i + 4u; b[k] = 1u; b[i + 4u] = 2u;", false],
  ["var v = i; let k = v; v += 1u; let l = v - 1u + 2u; b[k] = 1u; b[l] = 2u;", false],
  ["b[i + 1u] = 1u; b[1u + i] = 2u;", false],
  ["b[i] = 1u; b[j + 1u] = 2u;", false],
  ["b[2u * i] = 1u; b[3u * i] = 2u;", false],
  ["let k = i + i; b[k + j] = 1u; b[i + j + i + 1u] = 2u; b[i + j] = 3u;", false],
  ["let k = i + i; b[k + j] = 1u; b[i + j + i + 1u] = 2u;", true],
  ["pairs[i].first = 1u; pairs[i + 8u].first = 2u;", true],
  ["pairs[i].first = 1u; pairs[i + 8u].second = 2u;", false],
])("decides if places are distinct: %s", (body, expected) => expect(distinct(body)).toBe(expected));

it("takes linear time for a chain of a thousand names that are added to themselves", () => {
  const lets = Array.from({ length: 1000 }, (_, n) => `let k${n + 1} = k${n} + k${n};`).join(" ");
  expect(distinct(`let k0 = j; ${lets} b[i + k1000] = 1u; b[i + k1000 + 1u] = 2u;`)).toBe(true);
});
