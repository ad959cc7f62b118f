import type { NeighborPattern } from "../../analysis/neighborPattern.ts";
import { neighborPatterns } from "../../analysis/neighbors.ts";
import type { Place } from "../../analysis/places.ts";
import type { Expression, FunctionDeclaration } from "../../wgsl/ast.ts";
import { sizeOf } from "../../wgsl/layout.ts";
import type { Program } from "../../wgsl/program.ts";
import type { PieceBytes } from "./checkedVariable.ts";

/** Returns the patterns of indices for `count` neighboring lanes (`neighborPatterns`). */
export type PatternsOf = (
  count: number,
  isHopeful: boolean,
) => (index: Expression) => NeighborPattern | undefined;

/** The size of lines that a lane alone reads at little more cost than its own piece. */
const shortLine = 16;

/** Returns the patterns of a kernel's indices, computed on first use. */
export function patternsIn(program: Program, kernel: FunctionDeclaration): PatternsOf {
  const known = new Map<string, ReturnType<PatternsOf>>();
  return (count, isHopeful) => {
    const key = `${count} ${isHopeful}`;
    const patterns =
      known.get(key) ?? neighborPatterns(program, kernel, { count, assumesAlignment: isHopeful });
    known.set(key, patterns);
    return patterns;
  };
}

/**
 * Returns the bytes of a piece if neighboring lanes that access a place access the pieces of a
 * line in order. Returns undefined if they do not, or if analysis cannot tell.
 */
export function coalescedPieceBytes(
  place: Place,
  lineBytes: number,
  patternsOf: PatternsOf,
): PieceBytes | undefined {
  const at = place.steps.reduce((sum, step) => sum + (step.kind === "member" ? step.offset : 0), 0);
  for (const ranked of place.steps) {
    if (ranked.kind !== "index" || !isPiece(ranked.stride) || ranked.stride >= lineBytes) continue;
    const bytes = ranked.stride;
    const isInPiece = (at % bytes) + sizeOf(place.type) <= bytes && (at - (at % bytes)) % lineBytes === 0;
    const patternOf = patternsOf(lineBytes / bytes, lineBytes <= shortLine);
    const isInLine = place.steps.every((step) => {
      if (step.kind === "member") return true;
      const pattern = patternOf(step.index);
      return (
        pattern && pattern.ranks === (step === ranked) && (pattern.multiple * step.stride) % lineBytes === 0
      );
    });
    if (isInPiece && isInLine) return bytes;
  }
  return undefined;
}

const isPiece = (bytes: number): bytes is PieceBytes => bytes === 4 || bytes === 8 || bytes === 16;
