import type { Expression } from "../../wgsl/ast.ts";

/** `place` with `f` applied to its indices that are not literals, outermost variable first. */
export function mapIndices(place: Expression, f: (index: Expression) => Expression): Expression {
  if (place.kind === "index") {
    const base = mapIndices(place.base, f);
    return { ...place, base, index: place.index.kind === "literal" ? place.index : f(place.index) };
  }
  return place.kind === "memberAccess" ? { ...place, base: mapIndices(place.base, f) } : place;
}
