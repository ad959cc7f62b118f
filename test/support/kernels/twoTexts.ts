/** Kernels that call their bodies in two places, as the wrappers of diverse kernels leave them. */
import { hiddenZero, secondTextOf, zeroOf } from "belay-gpu/internal/transforms/shared/diversity";
import type { Names } from "belay-gpu/internal/transforms/shared/names";
import type { Module } from "belay-gpu/internal/wgsl/ast";
import type { Program } from "belay-gpu/internal/wgsl/program";
import { declarations, quote } from "belay-gpu/internal/wgsl/quote";

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
