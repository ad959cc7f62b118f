import { describe, expect, it } from "vitest";
import { goldens, report, type Step, typed } from "../../../../../../test/support/wgsl/goldens.ts";
import { functionsOf } from "../../../analysis/callGraph.ts";
import { printExpression, printStatement } from "../../../wgsl/printer.ts";
import { quote } from "../../../wgsl/quote.ts";
import { f32Type, type Type, u32Type } from "../../../wgsl/types.ts";
import { Names } from "../../shared/names.ts";
import { enableSubgroups } from "../enableSubgroups.ts";
import type { DoubledPairing } from "../pairing.ts";
import { replicateInvocations } from "../replicateInvocations.ts";
import { Comparison } from "./comparison.ts";

const golden = goldens("comparison", { withLibrary: true });
const kernel = "@compute @workgroup_size(32) fn main(@builtin(local_invocation_index) i: u32) {}";
const declared = report({ group: 0 });
const replicate =
  (pairing: DoubledPairing): Step =>
  (program, names) =>
    replicateInvocations(program, names, {
      replicas: 2,
      pairing,
      subgroups: program.module.directives.length > 0,
      entryPoints: new Set(
        functionsOf(program)
          .map(({ name }) => name)
          .filter((name) => name === "main"),
      ),
    });

const { expression } = quote();
const words = (text: string, count: 1 | 2 | 3 | 4) => ({
  expression: expression`${text}`,
  count,
  scalar: "u32" as const,
});
const constant = (bytes: number) => ({ expression: expression`${bytes}u`, indices: [] });
const at = (text: string) => ({ expression: expression`4u * ${text}`, indices: [expression`${text}`] });

/** Every way of comparing and sharing, in a function of its own. */
const usesOf =
  (channel: "subgroup" | "workgroup", pairing: DoubledPairing): Step =>
  (program, names) => {
    const comparison = new Comparison(names, { channel, pairing, lanes: "64u" });
    const uses = quote().declarations`
      fn all_uses(address: u32, value: u32, values: vec4<u32>) {
        _ = ${comparison.agree({ site: 1, address: at("address"), words: words("value", 1) })};
        _ = ${comparison.agree({ site: 2, address: constant(4), words: words("values", 4) })};
        _ = ${comparison.agree({ site: 3, address: at("address"), words: null })};
        if (${comparison.leads()}) { _ = ${comparison.share(4, words("value", 1))}; }
        _ = ${comparison.share(5, words("values.xy", 2))};
        ${comparison.foldIntoSignature({ site: 6, address: at("address"), words: words("values", 4) })}
        _ = ${comparison.signaturesAgree(7)};
        ${comparison.conclude(8, { start: 0, end: 0 })}
      }`;
    return {
      ...program.module,
      declarations: [...program.module.declarations, ...uses, ...comparison.takeDeclarations()],
    };
  };

describe("replicas talk", () => {
  it.each(["adjacent", "half-subgroup"] as const)("through registers, with the pairing %s", (pairing) =>
    golden(
      `the subgroup channel ${pairing}`,
      kernel,
      declared,
      enableSubgroups,
      replicate(pairing),
      usesOf("subgroup", pairing),
    ),
  );
  it.each(["subgroup", "workgroup"] as const)("when they run one after the other, over the %s", (channel) =>
    golden(`passes over the ${channel}`, kernel, declared, enableSubgroups, (program, names) => {
      const comparison = new Comparison(names, { channel, pairing: "passes", lanes: "32u" });
      const uses = quote().declarations`
        fn all_uses() { ${comparison.keepFinal()} ${comparison.conclude(8, { start: 0, end: 0 })} }`;
      const declarations = [...program.module.declarations, ...uses, ...comparison.takeDeclarations()];
      return { ...program.module, declarations };
    }),
  );
  it("through workgroup memory", () =>
    golden(
      "the workgroup channel",
      kernel,
      declared,
      replicate("adjacent"),
      usesOf("workgroup", "adjacent"),
    ));
});

describe("a signature", () => {
  const comparison = new Comparison(new Names(typed("fn f() {}")), { channel: "subgroup", lanes: "64u" });
  const folded = (presented: Omit<Parameters<Comparison["foldIntoSignature"]>[0], "site">) =>
    comparison.foldIntoSignature({ site: 9, ...presented }).map(printStatement);

  it("takes in the site, what can differ of the address, and the value", () => {
    expect(folded({ address: at("i"), words: words("v", 2) })).toEqual([
      "belay_signature = belay_fold2(belay_signature ^ 2415085369u ^ i, v);",
    ]);
    expect(folded({ address: constant(8), words: words("v", 1) })).toEqual([
      "belay_signature = belay_fold(belay_signature ^ 2415085369u, v);",
    ]);
  });

  it("counts what is the same every time", () => {
    expect(folded({ address: null, words: null })).toEqual([
      "belay_signature = belay_fold(belay_signature ^ 2415085369u, 1u);",
    ]);
  });

  it("agrees as a value does", () => {
    expect(printExpression(comparison.signaturesAgree(3))).toBe("belay_agree1(3u, 0u, belay_signature)");
  });
});

it("presents values as words", () => {
  const comparison = new Comparison(new Names(typed("fn f() {}")), { channel: "subgroup", lanes: "64u" });
  const text = (type: Type) => printExpression(comparison.wordsOf("v", type).expression);
  expect([text(u32Type), text({ kind: "vector", size: 2, element: f32Type })]).toEqual([
    "v",
    "bitcast<vec2<u32>>(v)",
  ]);
});
