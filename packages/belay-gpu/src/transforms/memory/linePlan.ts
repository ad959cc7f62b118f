/**
 * The decision if lanes can check and encode the lines of a buffer together, and in which pieces.
 */
import { areDistinct } from "../../analysis/distinctPlaces.ts";
import { executionBound } from "../../analysis/executionBound.ts";
import type { MemoryAccess } from "../../analysis/memoryAccesses.ts";
import { addressSpaceOf } from "../../analysis/places.ts";
import type { MemoryScheme } from "../../ecc/scheme.ts";
import type { FunctionDeclaration, GlobalVariable } from "../../wgsl/ast.ts";
import type { Program } from "../../wgsl/program.ts";
import type { PieceBytes } from "./checkedVariable.ts";
import { coalescedPieceBytes, type PatternsOf } from "./coalescedPattern.ts";
import { fillsGranules } from "./coverage.ts";

/** The bytes of a piece, or the reason why lanes cannot work together. */
export type LinePlan = { readonly pieceBytes: PieceBytes } | { readonly why: string };

/** The limit of loads that one lane makes alone. Each such load reads a whole line. */
const mostLoadsAlone = 1;

/** Returns the plan for the lines of a variable in one kernel. */
export function linePlan(
  program: Program,
  kernel: FunctionDeclaration,
  variable: GlobalVariable,
  accesses: readonly MemoryAccess[],
  { granuleBytes }: MemoryScheme,
  patternsOf: PatternsOf,
): LinePlan {
  if (addressSpaceOf(variable) === "uniform") return { pieceBytes: 16 };
  const pieces = accesses.map(({ place }) => place && coalescedPieceBytes(place, granuleBytes, patternsOf));
  const known = new Set(pieces.filter((bytes) => bytes !== undefined));
  if (known.size > 1) return { why: "lanes access pieces of different sizes of it" };
  const pieceBytes = [...known][0] ?? 16;
  const alone = accesses.filter((_, i) => pieces[i] === undefined);
  const stores = accesses.filter(({ kind }) => kind === "store");
  const isSplit = stores.some(({ place }) => !place || !fillsGranules(program, place, pieceBytes));
  if (alone.some(({ kind }) => kind === "store") || isSplit)
    return {
      why: `neighboring invocations do not store the ${granuleBytes} bytes of a check word together`,
    };
  if (stores.length > 0 && stores.length < accesses.length)
    return {
      why: `it is also loaded, and several invocations share the ${granuleBytes} bytes of a check word`,
    };
  const isOnce = stores.every(
    ({ expression }) => executionBound(program, kernel, new Set([expression])) === 1,
  );
  const places = stores.flatMap(({ place }) => place ?? []);
  if (stores.length > 0 && !(isOnce && areDistinct(program, places)))
    return {
      why: "an invocation may store twice to it in one place, in whichever order others make its check word",
    };
  if (executionBound(program, kernel, new Set(alone.map(({ expression }) => expression))) > mostLoadsAlone)
    return { why: `neighboring invocations do not load the ${granuleBytes} bytes of a check word together` };
  return { pieceBytes };
}
