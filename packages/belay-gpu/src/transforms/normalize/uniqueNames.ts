/**
 * Renames locals that hide a name of the module, and declarations that hide a name of the language.
 *
 * Before:   var<workgroup> tile: u32;   fn f(min: u32) { let tile = min; }
 * After:    var<workgroup> tile: u32;   fn f(min_1: u32) { let tile_1 = min_1; }
 *
 * The host addresses entry points and overrides by name. They are renamed only if they hide a name
 * that generated code uses.
 *
 * Requires: nothing.
 * Ensures:  a valid module. Within it, a name of the module or of the language has one meaning,
 *           except for entry points and overrides that keep their names.
 * Order:    before all transforms that move expressions and call built-in functions.
 */
import type { Declaration, FunctionDeclaration, Module } from "../../wgsl/ast.ts";
import type { Builtin, Program, Target } from "../../wgsl/program.ts";
import { predeclared } from "../../wgsl/resolve/predeclared.ts";
import { type AnyNode, mapChildren, walk } from "../../wgsl/traverse.ts";
import type { Names } from "../shared/names.ts";

/** A module whose names have one meaning each. */
export interface UniqueNames {
  readonly module: Module;
  /** The new names of renamed entry points and overrides, by their names in the program. */
  readonly knownToHost: ReadonlyMap<string, string>;
}

/**
 * Returns the renamed module. `hasCodes` is true if transforms add error-correcting codes, which
 * call more built-in functions.
 */
export function uniqueNames(program: Program, names: Names, { hasCodes = false } = {}): UniqueNames {
  const renamed = new Map<Target, string>();
  const knownToHost = new Map<string, string>();
  const moduleNames = new Set<string>();
  for (const declaration of program.module.declarations) {
    if (declaration.kind === "constAssert") continue;
    moduleNames.add(declaration.name);
    const hidden = predeclared(declaration.name);
    if (!hidden) continue;
    const isKnown = isKnownToHost(declaration);
    if (isKnown && !isGenerated(hidden, hasCodes)) continue;
    const name = names.another(declaration.name);
    renamed.set(declaration, name);
    if (isKnown) knownToHost.set(declaration.name, name);
  }
  for (const declaration of program.module.declarations) {
    if (declaration.kind === "function") renameLocals(declaration, moduleNames, names, renamed);
  }
  return { module: renamed.size === 0 ? program.module : rename(program, renamed), knownToHost };
}

/** The built-in functions that transforms call. */
const generatedCalls: ReadonlySet<string> = new Set([
  "all",
  "any",
  "bitcast",
  "min",
  "select",
  "atomicAdd",
  "atomicAnd",
  "atomicExchange",
  "atomicLoad",
  "atomicMax",
  "atomicStore",
  "atomicXor",
  "subgroupAll",
  "subgroupAny",
  "subgroupBallot",
  "subgroupBroadcastFirst",
  "subgroupElect",
  "subgroupOr",
  "subgroupShuffleXor",
  "storageBarrier",
  "workgroupBarrier",
  "workgroupUniformLoad",
]);

/** The built-in functions that only error-correcting codes call. */
const codeCalls: ReadonlySet<string> = new Set(["countOneBits", "insertBits", "max", "subgroupShuffle"]);

/** The address spaces and access modes that transforms write. */
const generatedEnumerants: ReadonlySet<string> = new Set([
  "private",
  "workgroup",
  "storage",
  "uniform",
  "read_write",
]);

/** The types that transforms never write: textures, samplers and short names such as `vec3f`. */
const unwrittenTypes = /^(texture_|sampler)|^(vec\d|mat\dx\d)[fhiu]$/;

function isGenerated({ category, name }: Builtin, hasCodes: boolean): boolean {
  switch (category) {
    case "function":
      return generatedCalls.has(name) || (hasCodes && codeCalls.has(name));
    case "enumerant":
      return generatedEnumerants.has(name);
    case "type":
      return !unwrittenTypes.test(name);
  }
}

function isKnownToHost(declaration: Declaration): boolean {
  if (declaration.kind === "override") return !declaration.attributes.some((a) => a.name === "id");
  const stages = ["compute", "vertex", "fragment"];
  return declaration.kind === "function" && declaration.attributes.some((a) => stages.includes(a.name));
}

function renameLocals(
  fn: FunctionDeclaration,
  moduleNames: ReadonlySet<string>,
  names: Names,
  renamed: Map<Target, string>,
): void {
  walk(fn, (node) => {
    if (node.kind !== "parameter" && node.kind !== "let" && node.kind !== "var" && node.kind !== "const")
      return;
    if (moduleNames.has(node.name) || predeclared(node.name)) renamed.set(node, names.another(node.name));
  });
}

function rename(program: Program, renamed: ReadonlyMap<Target, string>): Module {
  const rewrite = <T extends AnyNode>(node: T): T => {
    const mapped = mapChildren(node, rewrite);
    const target = node.kind === "identifier" ? program.targetOf(node) : (node as Target);
    const name = target && renamed.get(target);
    return name ? { ...mapped, name } : mapped;
  };
  return rewrite(program.module);
}
