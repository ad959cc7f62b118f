import type { Expression } from "../../wgsl/ast.ts";

/**
 * Returns `place` with `f` applied to its indices that are not literals, starting next to the
 * variable.
 */
export function mapIndices(place: Expression, f: (index: Expression) => Expression): Expression {
  if (place.kind === "index") {
    const base = mapIndices(place.base, f);
    return { ...place, base, index: place.index.kind === "literal" ? place.index : f(place.index) };
  }
  return place.kind === "memberAccess" ? { ...place, base: mapIndices(place.base, f) } : place;
}
