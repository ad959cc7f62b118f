/**
 * Drops functions that no entry point reaches. Libraries add the same functions to each module, of
 * which a kernel calls a few. All later passes, and the device, then have less to read.
 *
 * Before:   fn f() {}   fn g() { f(); }   fn h() { f(); }   @compute … fn main() { g(); }
 * After:    fn f() {}   fn g() { f(); }   @compute … fn main() { g(); }
 *
 * Requires: nothing.
 * Ensures:  each function is an entry point, or an entry point reaches it.
 */
import { functionsOf, reachableFrom, stageOf } from "../../analysis/callGraph.ts";
import type { Module } from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";

/** Returns the module without its unused functions. */
export function dropUnusedFunctions(program: Program): Module {
  const { module } = program;
  const functions = functionsOf(program);
  const used = reachableFrom(
    program,
    functions.filter((fn) => stageOf(fn)),
  );
  if (functions.every((fn) => used.has(fn))) return module;
  return {
    ...module,
    declarations: module.declarations.filter((each) => each.kind !== "function" || used.has(each)),
  };
}
