import { randomWord } from "../random.ts";

/** Edges in order: that of their weights, or of their priorities. */
export interface Edges {
  readonly from: Uint32Array;
  readonly to: Uint32Array;
}

/** Random edges between different nodes. */
export function randomEdges(nodes: number, count: number, seed: number): Edges {
  const from = Uint32Array.from({ length: count }, (_, edge) => randomWord(seed, edge) % nodes);
  const to = from.map((node, edge) => (node + 1 + (randomWord(seed + 1, edge) % (nodes - 1))) % nodes);
  return { from, to };
}
