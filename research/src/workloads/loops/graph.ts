import { randomBelow } from "../random.ts";

/** Edges in the order of their weights, or of their priorities. */
export interface Edges {
  readonly from: Uint32Array;
  readonly to: Uint32Array;
}

/** Returns random edges between different nodes. */
export function randomEdges(nodes: number, count: number, seed: number): Edges {
  const from = Uint32Array.from({ length: count }, (_, edge) => randomBelow(nodes, seed, edge));
  const to = from.map((node, edge) => (node + 1 + randomBelow(nodes - 1, seed + 1, edge)) % nodes);
  return { from, to };
}
