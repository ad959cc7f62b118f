import { expect, it } from "vitest";
import { inTwoPlaces, kernelWithBody } from "../../../../../test/support/kernels/twoTexts.ts";
import { applySteps, type Step, typed } from "../../../../../test/support/wgsl/goldens.ts";
import { functionsOf } from "../../analysis/callGraph.ts";
import { print } from "../../wgsl/printer.ts";
import { quote } from "../../wgsl/quote.ts";
import { mapBodies } from "../shared/mapFunctions.ts";
import { calledBy, functionsOfBodies, rewriteTyped } from "./bodies.ts";

const entryPoints = new Set(["main"]);

/** Returns the names of the functions of bodies, after some steps more. */
function namesOf(code: string, of = entryPoints, ...steps: Step[]): string[] {
  let found: string[] = [];
  const find: Step = (program, names) => {
    const functions = functionsOfBodies(program, names, { entryPoints: of });
    found = [...functions].map(({ name }) => name);
    return program.module;
  };
  applySteps(kernelWithBody(code), [inTwoPlaces, ...steps, find]);
  return found.sort();
}

it("has the functions that bodies reach, however deep", () =>
  expect(
    namesOf(
      `fn leaf() -> u32 { return 1u; } fn node() -> u32 { return leaf(); } fn alone() {}
       fn body(i: u32, x: u32) { out[i] = node(); }`,
    ),
  ).toEqual(["body", "leaf", "node"]));

it("has the uncalled functions that call those, as their parameters change too", () =>
  expect(
    namesOf(
      `fn leaf() -> u32 { return 1u; } fn unused() -> u32 { return leaf(); } fn farther() -> u32 { return unused(); }
       fn body(i: u32, x: u32) { out[i] = leaf(); }`,
    ),
  ).toEqual(["body", "farther", "leaf", "unused"]));

it("has no functions of an entry point with one text", () =>
  expect(namesOf("fn body(i: u32, x: u32) { out[i] = x; }", new Set())).toEqual([]));

it("has no functions that transforms added", () => {
  const [added] = quote().declarations`fn added() -> u32 { return 3u; }`;
  const callsAdded: Step = ({ module }) => {
    const called = mapBodies(module, (body, { name, span }) =>
      name === "body" ? { ...body, statements: quote(span).statements`out[i] = added();` } : body,
    );
    return { ...called, declarations: [...called.declarations, added!] };
  };
  expect(namesOf("fn body(i: u32, x: u32) { out[i] = x; }", entryPoints, callsAdded)).toEqual(["body"]);
});

it("gives a rewriting each node with its type, and the same node with rewritten parts", () => {
  const program = typed(
    "fn half(x: f32) -> f32 { return x / 2; } fn f(x: f32) -> f32 { return half(half(x)); }",
  );
  const seen: string[] = [];
  const f = functionsOf(program).find(({ name }) => name === "f")!;
  const body = rewriteTyped(f.body, (node, mapped) => {
    const called = node.kind === "call" ? calledBy(program, node) : undefined;
    if (!called || node.kind !== "call" || mapped.kind !== "call") return mapped;
    seen.push(called.name);
    expect(program.valueTypeOf(node)).toMatchObject({ kind: "scalar", name: "f32" });
    return quote(node.span).expression`other(${mapped.args})`;
  });
  expect(seen).toEqual(["half", "half"]);
  const declarations = [{ ...f, body }];
  expect(print({ ...program.module, declarations })).toContain("return other(other(x));");
});
