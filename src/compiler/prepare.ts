/** What comes before protection: access normal form, and what can be told about a kernel only then. */
import { functionsOf } from "../analysis/callGraph.ts";
import { meetings } from "../analysis/meetings.ts";
import { addressSpaceOf } from "../analysis/places.ts";
import type { Diagnostic } from "../diagnostics/diagnostic.ts";
import { leftAlone } from "../diagnostics/protection.ts";
import { desugarLoops } from "../transforms/desugarLoops.ts";
import { expandSwizzles } from "../transforms/expandSwizzles.ts";
import type { Names } from "../transforms/names.ts";
import { normalizeAccesses } from "../transforms/normalizeAccesses.ts";
import { isReplicated } from "../transforms/replicateWorkgroupMemory.ts";
import { resolvePointers } from "../transforms/resolvePointers.ts";
import { splitSharedFunctions } from "../transforms/splitSharedFunctions.ts";
import type { GlobalVariable, Module } from "../wgsl/ast.ts";
import { print } from "../wgsl/printer.ts";
import type { Program } from "../wgsl/program.ts";
import { resolve } from "../wgsl/resolve/index.ts";
import type { Pairing, Redundancy } from "./contract.ts";

export interface Prepared {
  /** In access normal form. */
  readonly program: Program;
  /** The same before that. */
  readonly unique: Program;
  /** The entry points that can be protected. */
  readonly entryPoints: ReadonlySet<string>;
  /** Why others can't. */
  readonly diagnostics: readonly Diagnostic[];
}

/**
 * Prepares a program, whose names mean one thing each, for the protection of those of its `entryPoints` that fit the
 * pairing. Throws `SpecializationLimit` where pointers have too many shapes.
 */
export function prepare(
  unique: Program,
  names: Names,
  { redundancy, pairing }: { readonly redundancy: Redundancy; readonly pairing: Pairing },
  entryPoints: ReadonlySet<string>,
): Prepared {
  if (entryPoints.size === 0) return { program: unique, unique, entryPoints, diagnostics: [] };
  const program = normalized(unique, names, entryPoints);
  if (!redundancy.startsWith("intra") || pairing !== "subgroups")
    return { program, unique, entryPoints, diagnostics: [] };
  const fit = new Set(entryPoints);
  const diagnostics = functionsOf(program).flatMap((kernel) => {
    if (!entryPoints.has(kernel.name)) return [];
    const found = meetings(program, kernel, (v) => isInside(program, names, redundancy, v));
    if (found.length > 0) fit.delete(kernel.name);
    const help = "use the pairing adjacent or half-subgroup";
    return found.map(({ span, why }) =>
      leftAlone("BELAY212", span, kernel.name, `${why}, and its replicas meet only at the end`, help),
    );
  });
  const isLess = fit.size < entryPoints.size;
  return {
    program: isLess ? normalized(unique, names, fit) : program,
    unique,
    entryPoints: fit,
    diagnostics,
  };
}

/** True for a variable of which each replica has a copy: what is stored there stays inside the sphere of replication. */
export function isInside(
  program: Program,
  names: Names,
  redundancy: Redundancy,
  variable: GlobalVariable,
): boolean {
  if (redundancy === "inter") return addressSpaceOf(variable) === "workgroup";
  return redundancy === "intra+lds" && isReplicated(program, names, variable);
}

/** Accesses stand alone and name their variable, in what the entry points reach and nothing else does. */
function normalized(unique: Program, names: Names, entryPoints: ReadonlySet<string>): Program {
  let program = checked(splitSharedFunctions(unique, names, [entryPoints]));
  program = checked(desugarLoops(program));
  program = checked(resolvePointers(program, names));
  program = checked(normalizeAccesses(program, names));
  return checked(expandSwizzles(program, names));
}

/** The typed program; a transform that leaves an invalid module has broken its contract. */
export function checked(module: Module): Program {
  const program = resolve(module);
  const [error] = program.diagnostics.filter((d) => d.severity === "error");
  if (error) throw new Error(`a transform left an invalid module: ${error.message}\n${print(module)}`);
  return program;
}
