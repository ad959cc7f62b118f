/**
 * Lets the device skip dispatches: workgroups end at once while a word of the report says so.
 *
 * Before:   @compute fn main(@builtin(local_invocation_index) in_local: u32) { ... }
 * After:    var<workgroup> skipped: u32;
 *           @compute fn main(@builtin(local_invocation_index) in_local: u32) {
 *             if (in_local == 0u) { skipped = report.skip; }
 *             if (workgroupUniformLoad(&skipped) != 0u) { return; }
 *             ...
 *           }
 *
 * Requires: report, ids.
 * Ensures:  a valid module.
 * Order:    after every transform that adds statements to the start of an entry point.
 */
import { builtinValueOf } from "../../analysis/builtinValueOf.ts";
import type { Declaration, Module } from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import { quote } from "../../wgsl/quote.ts";
import type { Names } from "../shared/names.ts";

/** The bytes of workgroup memory that a skippable kernel needs in addition. */
export const skipBytes = 16;

/** Returns the module whose entry points can be skipped. */
export function skipWorkgroups(
  program: Program,
  names: Names,
  { entryPoints }: { readonly entryPoints: ReadonlySet<string> },
): Module {
  const { module } = program;
  const skipped = names.the("skipped");
  const skippable = (declaration: Declaration): Declaration => {
    if (declaration.kind !== "function" || !entryPoints.has(declaration.name)) return declaration;
    const { parameters, body, nameSpan } = declaration;
    // All entry points with replicas know it.
    const { name } = parameters.find((each) => builtinValueOf(each.attributes) === "local_invocation_index")!;
    const start = quote(nameSpan).statements`
      if (${name} == 0u) { ${skipped} = ${names.the("report")}.skip; }
      if (workgroupUniformLoad(&${skipped}) != 0u) { return; }`;
    return { ...declaration, body: { ...body, statements: [...start, ...body.statements] } };
  };
  const added = quote().declarations`var<workgroup> ${skipped}: u32;`;
  return { ...module, declarations: [...module.declarations.map(skippable), ...added] };
}
