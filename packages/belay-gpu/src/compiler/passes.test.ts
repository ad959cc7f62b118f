import { readFileSync } from "node:fs";
import { describe, expect, it, vi } from "vitest";
import { typed } from "../../../../test/support/wgsl/goldens.ts";
import { Names } from "../transforms/shared/names.ts";
import { type Invariant, invariants, verifyInvariants } from "./invariants.ts";
import { passes } from "./passes.ts";
import { protectInPasses } from "./protect.ts";

describe("the list of passes", () => {
  it("has each pass once", () => {
    const names = passes.map(({ name }) => name);
    expect(names).toEqual([...new Set(names)]);
  });

  it("has each pass after those that ensure what it requires", () => {
    const held = new Set<Invariant>();
    for (const { name, requires, ensures, ends = [] } of passes) {
      for (const required of requires)
        expect([name, required, held.has(required)]).toEqual([name, required, true]);
      for (const ended of ends) held.delete(ended);
      for (const ensured of ensures) held.add(ensured);
    }
  });

  it("ensures each invariant, and is in the design documents", () => {
    expect(new Set(passes.flatMap(({ ensures }) => ensures))).toEqual(new Set(Object.keys(invariants)));
    const listed = (words: readonly string[] = []) => words.join(", ");
    const text = readFileSync(new URL("../../../../docs/design/passes.md", import.meta.url), "utf8");
    const claims = Object.entries(invariants).map(([name, { says }]) => `| ${name} | ${says} |`);
    expect(text).toContain(claims.join("\n"));
    // The third column says what a pass does, which only the document does.
    const rows = [...text.matchAll(/^\| `(\w+)` \| ([\w ]+) \| [^|]+ \| ([^|]*) \| ([^|]*) \|$/gm)];
    expect(rows.map(([, ...cells]) => cells.map((cell) => cell.trim()))).toEqual(
      passes.map(({ name, phase, requires, ensures, ends }) => [
        name,
        phase,
        listed(requires),
        [listed(ensures), ends && `ends ${listed(ends)}`].filter(Boolean).join("; "),
      ]),
    );
  });
});

const declarations = `
  struct Pair { a: vec3f, b: u32 }
  @group(0) @binding(0) var<storage, read_write> out: array<u32>;
  @group(0) @binding(1) var<storage, read_write> n: atomic<u32>;
  @group(0) @binding(2) var<storage, read_write> pairs: array<Pair>;
  var<private> belay_local: u32;
  var<private> belay_workgroup: vec3<u32>;
  fn both(i: u32) -> u32 { return i; }`;
const main = (body: string) => `${declarations}
  @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) { ${body} }
  @compute @workgroup_size(64) fn other() { _ = both(1u); }`;
const chain = Array.from({ length: 17 }, (_, k) => `if (i == ${k}u) { }`).join(" else ");

/** For each invariant modules that break it, with what is told. */
const broken: Record<Invariant, readonly (readonly [string, string])[]> = {
  uniqueNames: [
    [main("let out = i;"), '"out" hides a name of the module'],
    [main("let max = i;"), '"max" hides a name of the language'],
  ],
  separateKernels: [[main("_ = both(i);"), '"both" is reached by main and by unprotected entry points']],
  shortChains: [[main(chain), "17 links"]],
  plainHeaders: [
    [main("while (atomicLoad(&n) > 0u) { }"), "a header operates on memory: atomicLoad(&n) > 0u"],
    [main("for (var k = 0u; k < 4u; out[k] = 1u) { k++; }"), "a header stores to shared memory"],
    [main("for (let p = &out; (*p)[0] > i; ) { }"), "a header declares a pointer"],
  ],
  resolvedPointers: [[main("let p = &out[i]; *p = 1u;"), '"p" points to storage memory']],
  accessNormalForm: [
    [main("out[i] += 1u;"), "a store is compound: out[i]"],
    [main("out[i]++;"), "a store is compound: out[i]"],
    [main("var k = i; out[k] = i;"), "an index of a store may not be repeated: out[k]"],
    [
      main("let v = atomicAdd(&n, 1u) + 1u;"),
      "an operation on memory is no statement of its own: atomicAdd(&n, 1u)",
    ],
    [main("out[0] = atomicLoad(&n);"), "an operation on memory is no statement of its own: atomicLoad(&n)"],
    [
      main("var k = i; let v = atomicAdd(&n, k);"),
      "an operand of an operation on memory may not be repeated: k",
    ],
  ],
  namedValues: [[main("out[i] = i + 1u;"), "a stored value has no name: i + 1u"]],
  wholeStores: [
    [
      `requires swizzle_assignment; ${main("let v = vec2f(); pairs[i].a.zx = v;")}`,
      "a store is to several components: pairs[i].a.zx",
    ],
  ],
  report: [[main(""), '"belay_report" is not declared']],
  ids: [[main("belay_local = i;"), '"main" does not set "belay_workgroup"']],
};

describe("the verifier", () => {
  const verified = (code: string) => ({
    program: typed(code),
    names: new Names(typed("")),
    entryPoints: new Set(["main"]),
    groups: [new Set(["main"])],
  });

  for (const [invariant, modules] of Object.entries(broken) as [Invariant, (typeof broken)[Invariant]][])
    it.each(modules)(`of ${invariant} sees %s`, (code, what) => {
      expect(invariants[invariant].violation(verified(code))?.what).toBe(what);
    });

  it.each(Object.keys(invariants).filter((each) => each !== "report") as Invariant[])(
    "of %s takes a module that keeps it",
    (invariant) => {
      const code = main(`belay_local = i; belay_workgroup = vec3u();
        let v = out[i]; let w = atomicAdd(&n, v); out[v] = w; pairs[i].b = v; { var k = i; k = atomicLoad(&n); }
        for (var k = 0u; k < 4u; k++) { if (i == k) { } else { } }`);
      expect(invariants[invariant].violation(verified(code))).toBeUndefined();
    },
  );

  it("runs after each pass, and says which one broke what", () => {
    const pass = passes.find(({ name }) => name === "expandSwizzles")!;
    const broken = typed(main("out[i] += 1u;")).module;
    const run = vi.spyOn(pass, "run").mockReturnValue(broken);
    const protecting = () => protectInPasses(main("out[i] = 1u;"), {}, { verify: verifyInvariants });
    expect(protecting).toThrow(
      "after expandSwizzles, accessNormalForm does not hold: a store is compound: out[i]",
    );
    run.mockRestore();
    expect(protecting).not.toThrow();
  });
});
