/**
 * A maximal matching of a graph, greedily: it takes an edge if no earlier edge that was taken
 * shares one of its nodes.
 *
 * Source: one of the loops of Blelloch, Fineman, Gibbons, Shun, "Internally deterministic parallel
 * algorithms can be fast", 2012. Random graphs with four edges for each node are chosen here.
 */
import { randomEdges } from "./graph.ts";
import { type LoopProgram, wrong } from "./loopProgram.ts";

/** Matches nodes. For each node, `matched` holds one more than the number of its edge, or zero. */
export async function maximalMatching(matched: Uint32Array, from: Uint32Array, to: Uint32Array) {
  "use speculate";
  //#pragma omp for target(webgpu) speculate(matched)
  for (let edge = 0; edge < from.length; edge++) {
    const one = from[edge]!;
    const other = to[edge]!;
    if (matched[one] === 0 && matched[other] === 0) {
      matched[one] = edge + 1;
      matched[other] = edge + 1;
    }
  }
}

export interface MaximalMatchingOptions {
  readonly nodes?: number;
}

export function create(
  options: MaximalMatchingOptions = {},
): LoopProgram<Parameters<typeof maximalMatching>> {
  const { nodes = 2 ** 14 } = options;
  const { from, to } = randomEdges(nodes, 4 * nodes, 1);
  return {
    iterations: from.length,
    inputs: () => [new Uint32Array(nodes), from.slice(), to.slice()],
    verify([matched]) {
      // In exactly one matching each edge has its own nodes, and every other edge meets an earlier
      // one.
      for (let node = 0; node < nodes; node++) {
        const edge = matched[node]! - 1;
        if (edge >= 0 && from[edge] !== node && to[edge] !== node) {
          return { ok: false, message: `the edge of node ${node} is ${edge} instead of one of its own` };
        }
      }
      for (let edge = 0; edge < from.length; edge++) {
        const [one, other] = [matched[from[edge]!]!, matched[to[edge]!]!];
        const first = Math.min(one || Number.POSITIVE_INFINITY, other || Number.POSITIVE_INFINITY);
        if (first > edge + 1 || (first === edge + 1 && one !== other)) {
          return wrong(`the first edge at the nodes of edge ${edge}`, first - 1, edge);
        }
      }
      return { ok: true, message: `the matching of ${nodes} nodes is the greedy one` };
    },
  };
}
