/** Kernels that call their bodies in two places, as the wrappers of diverse kernels leave them. */
import { functionsOf, stageOf } from "belay-gpu/internal/analysis/callGraph";
import { diversifyReplicas } from "belay-gpu/internal/transforms/diversity/diversifyReplicas";
import { keepRounding } from "belay-gpu/internal/transforms/diversity/keepRounding";
import { hiddenZero, secondTextOf, zeroOf } from "belay-gpu/internal/transforms/shared/diversity";
import { wrapEntryPoint } from "belay-gpu/internal/transforms/shared/entryPointWrapper";
import type { Names } from "belay-gpu/internal/transforms/shared/names";
import type { Module } from "belay-gpu/internal/wgsl/ast";
import { print } from "belay-gpu/internal/wgsl/printer";
import type { Program } from "belay-gpu/internal/wgsl/program";
import { declarations, quote, statements } from "belay-gpu/internal/wgsl/quote";
import { expect } from "vitest";
import { applySteps, type Step } from "../wgsl/goldens.ts";
import type { KernelInput } from "./kernelRunner.ts";
import { runReference, translated } from "./reference.ts";

/** Returns a kernel that calls `body(i: u32, x: u32)`, which stores to `out`. */
export const kernelWithBody = (declarations: string) => `
  enable f16;
  @group(0) @binding(0) var<storage, read_write> out: array<u32>;
  ${declarations}
  @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) { body(i, out[i]); }`;

/** Calls the body in both branches of the choice of a text. Adds a variable of transforms. */
export function inTwoPlaces({ module }: Program, names: Names): Module {
  const ids = ["workgroup_id", "num_workgroups"].map(
    (name) => `@builtin(${name}) ${names.the(`in_${name}`)}: vec3u`,
  );
  const second = secondTextOf(names);
  const [main] = quote(module.span).declarations`
    @compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32, ${ids.join(", ")}) {
      let ${zeroOf(names)} = ${hiddenZero(names)};
      let ${second} = ${names.the("in_workgroup_id")}.x == 0u;
      if (${second}) { body(i, out[i]); } else { body(i, out[i]); }
    }`;
  return {
    ...module,
    declarations: [
      ...module.declarations.map((each) => (each.kind === "function" && each.name === "main" ? main! : each)),
      ...declarations`var<private> ${names.the("signature")}: u32;`,
    ],
  };
}

const choosesSecond: Step = (program, names) => ({
  ...program.module,
  declarations: program.module.declarations.flatMap((each) => {
    const main = functionsOf(program).find((fn) => fn === each && stageOf(fn) === "compute");
    if (!main) return [each];
    const groups = ["workgroup_id", "num_workgroups"].map((name) => [name, "vec3<u32>"] as const);
    return wrapEntryPoint(program, names, main, {
      inputs: new Map(groups),
      derived: {},
      before: statements`
        let ${zeroOf(names)} = ${hiddenZero(names)};
        let ${secondTextOf(names)} = ${zeroOf(names)} == 0u;`,
      secondText: secondTextOf(names),
      attributes: main.attributes,
    });
  }),
});

/** Returns a kernel with the entry point `main` that runs its second text alone. */
export function inSecondText(code: string): string {
  const entryPoints = new Set(["main"]);
  const { after } = applySteps(code, [
    choosesSecond,
    (program, names) => keepRounding(program, names, { entryPoints }),
    (program, names) => diversifyReplicas(program, names, { entryPoints, roomy: entryPoints }),
  ]);
  return print(after.module);
}

/**
 * Compares what two texts of a kernel store, on the reference executor, whose operations on floats
 * round to the nearest number.
 */
export function expectSameResults(texts: readonly [string, string], input: KernelInput): void {
  const [first, second] = texts.map((text) => {
    const run = runReference(translated(text, input, { floats: "nearest" }), input);
    expect(run.undecided).toBeUndefined();
    return Object.values(run.buffers).map(({ bytes }) => Buffer.from(bytes).toString("hex"));
  });
  expect(second).toEqual(first);
}
