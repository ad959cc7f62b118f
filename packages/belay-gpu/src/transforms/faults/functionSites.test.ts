import { expect, it } from "vitest";
import { typed } from "../../../../../test/support/wgsl/goldens.ts";
import { divergence } from "../../analysis/divergence.ts";
import { uniformity } from "../../analysis/uniformity.ts";
import { printExpression } from "../../wgsl/printer.ts";
import { Names } from "../shared/names.ts";
import { armedTrigger } from "./armedTrigger.ts";
import { FaultSites } from "./faultSites.ts";
import { FunctionSites } from "./functionSites.ts";
import { Strikes } from "./strikes.ts";
import { StruckLoads } from "./struckLoads.ts";

/** Strikes the values of the variables that `main` declares, and returns facts about each. */
function valuesIn(body: string) {
  const program = typed(`
    @group(0) @binding(0) var<storage, read_write> a: array<u32>;
    @group(0) @binding(1) var<uniform> count: u32;
    @compute @workgroup_size(8)
    fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) i: u32) { ${body} }`);
  const names = new Names(program);
  const sites = new FaultSites();
  const trigger = armedTrigger(names, { redundancy: "none", pairing: "adjacent", subgroups: false });
  const strikes = new Strikes(names, trigger);
  const [uniform, isDivergent] = [uniformity(program), divergence(program)];
  const shared = { program, names, sites, strikes, isDivergent, usesMatrices: () => false };
  const loads = new StruckLoads({ ...shared, uniform: uniform.expressions });
  const context = new FunctionSites({ ...shared, uniform, loads }, "main");
  const fn = program.module.declarations.at(-1)!;
  if (fn.kind !== "function") throw new Error("the last declaration is main");
  const values = fn.body.statements.flatMap((each) => (each.kind === "let" ? [each.initializer] : []));
  return values.map((value) => {
    const before = sites.all.length;
    const struck = context.value("value", value, program.valueTypeOf(value), value);
    const [site] = sites.all.slice(before);
    const mayDiffer = context.mayDiffer(value);
    return { text: printExpression(struck), site, mayDiffer, loaded: printExpression(context.loads(value)) };
  });
}

it("makes a site of a value of 32-bit words, and of no other value", () => {
  const [word, vector, condition] = valuesIn("let x = i * 2u; let v = vec3f(1, 2, f32(i)); let c = i > 3u;");
  expect(word).toMatchObject({
    text: "belay_strike_u32(1u, i * 2u)",
    site: { id: 1, kind: "value", functionName: "main", components: 1 },
  });
  expect(vector).toMatchObject({
    text: "belay_strike_vec3f32(2u, vec3f(1, 2, f32(i)))",
    site: { id: 2, components: 3 },
  });
  expect(condition).toMatchObject({ text: "i > 3u", site: undefined });
});

it("tells if the invocations of a workgroup have the same value", () => {
  const values = valuesIn("let x = count + 1u; let y = group.x * 2u; let z = i + count;");
  expect(values.map(({ site }) => site!.uniform)).toEqual([true, true, false]);
});

it("tells if a value is computed at run time and is not demanded to be uniform", () => {
  const values = valuesIn(
    "let x = 1u + 2u; let y = i + count; let z = count; if (z > 1u) { workgroupBarrier(); }",
  );
  expect(values.map(({ mayDiffer }) => mayDiffer)).toEqual([false, true, false]);
});

it("strikes the loads of an expression in the name of the function", () => {
  const [value] = valuesIn("let x = a[i] * 2u;");
  expect(value!.loaded).toBe("belay_load_1(i) * 2u");
});
