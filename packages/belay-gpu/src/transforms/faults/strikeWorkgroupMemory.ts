/**
 * Adds fault sites to words of workgroup memory, between their store and their loads, after the
 * comparison.
 *
 * Before:   if (agree(...) && replica == 0) { tile[i] = v; }    one copy, which both replicas use
 *           tile[replica].value[i] = v;                         a copy per replica
 * After:    ... tile[i] = strike_f32(9, v);                     the store that is executed
 *
 * After an atomic operation the word itself is struck.
 *
 * Requires: redundancy is complete.
 * Ensures:  a valid module.
 * Order:    after all other transforms that change stores.
 * Source:   the coverage of the LDS in Wadden et al. 2014, tables 2 and 3.
 */
import { builtinFunction } from "../../analysis/effects.ts";
import { placeOf } from "../../analysis/places.ts";
import type { Expression, FunctionDeclaration, Module, Statement } from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import { mapStatements } from "../../wgsl/traverse.ts";
import { mapBodies } from "../shared/mapFunctions.ts";
import type { Names } from "../shared/names.ts";
import type { FaultSites } from "./faultSites.ts";
import { componentsOf, isStrikeable, type Strikes } from "./strikes.ts";

/** The functions to strike, and the lists of sites and functions that grow. */
export interface StrikeWorkgroupMemoryOptions {
  readonly sites: FaultSites;
  readonly strikes: Strikes;
  /** The functions of the program that run protected. */
  readonly functions: ReadonlySet<FunctionDeclaration>;
  /** The names of the entry points among `functions`. */
  readonly entryPoints: ReadonlySet<string>;
  /** Returns true for the names of variables with one copy, which both replicas use. */
  readonly isShared: (variable: string) => boolean;
}

/** Returns the module with fault sites in workgroup memory. */
export function strikeWorkgroupMemory(
  program: Program,
  names: Names,
  { sites, strikes, functions, entryPoints, isShared }: StrikeWorkgroupMemoryOptions,
): Module {
  const workgroupPlace = (target: Expression | null) => {
    const place = target && placeOf(program, target);
    return place?.space === "workgroup" && !names.isGenerated(place.variable.name) ? place : undefined;
  };
  const statement = (s: Statement, functionName: string): Statement | Statement[] => {
    const site = (components: number, shared: boolean) =>
      sites.add({
        kind: "local",
        uniform: false,
        span: s.span,
        functionName,
        components,
        ...(shared && { isShared: true }),
      });
    if (s.kind === "assign") {
      const place = workgroupPlace(s.target);
      if (!place || !isStrikeable(place.type)) return s;
      const id = site(componentsOf(place.type), isShared(place.variable.name));
      return { ...s, value: strikes.value(id, place.type, s.value) };
    }
    const call = s.kind === "callStatement" ? s.call : s.kind === "let" ? s.initializer : null;
    if (call?.kind !== "call" || !/^atomic(?!Load)/.test(builtinFunction(program, call) ?? "")) return s;
    const [pointer] = call.args;
    const target = pointer?.kind === "unary" ? pointer.operand : null;
    const place = workgroupPlace(target);
    // Workgroup memory has atomics of one word only.
    const element = place?.type.kind === "atomic" ? place.type.element : undefined;
    if (!place || !target || element?.kind !== "scalar") return s;
    const id = site(1, isShared(place.variable.name));
    return [s, ...strikes.atomic(id, element, target)];
  };
  // An entry point's wrapper stores zeros only. Its statements have the span of the entry point's
  // name.
  const isWrappers = (s: Statement, { name, nameSpan }: FunctionDeclaration) =>
    entryPoints.has(name) && s.span.start === nameSpan.start;
  const module = mapBodies(program.module, (body, fn) =>
    functions.has(fn) ? mapStatements(body, (s) => (isWrappers(s, fn) ? s : statement(s, fn.name))) : body,
  );
  return strikes.declareIn(module, sites.all.length);
}
