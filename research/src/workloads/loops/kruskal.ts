/**
 * A minimum spanning forest by Kruskal's algorithm: it takes an edge that joins two trees.
 *
 * Source: the loop that Blelloch, Fineman, Gibbons, Shun, "Internally deterministic parallel
 * algorithms can be fast", 2012, call spanning forest. It goes over edges in the order of their
 * weights. Random graphs with four edges for each node are chosen here.
 */
import { verifyExact } from "../program.ts";
import { type Edges, randomEdges } from "./graph.ts";
import { kept, type LoopProgram } from "./loopProgram.ts";

/**
 * Builds the forest; `parents` begins with each node as its own root. Roots join under the smaller
 * one. Nodes are numbered at random, so no tree is deep: with 2^20 nodes an iteration accesses 31
 * parents at most.
 */
export async function kruskal(parents: Uint32Array, taken: Uint8Array, from: Uint32Array, to: Uint32Array) {
  "use speculate";
  //#pragma omp for target(webgpu) speculate(parents) accesses(64)
  for (let edge = 0; edge < from.length; edge++) {
    let one = from[edge]!;
    for (let parent = parents[one]!; parent !== one; parent = parents[one]!) one = parent;
    let other = to[edge]!;
    for (let parent = parents[other]!; parent !== other; parent = parents[other]!) other = parent;
    if (one !== other) {
      parents[Math.max(one, other)] = Math.min(one, other);
      taken[edge] = 1;
    }
  }
}

export interface KruskalOptions {
  readonly nodes?: number;
}

export function create({ nodes = 2 ** 12 }: KruskalOptions = {}): LoopProgram<Parameters<typeof kruskal>> {
  const edges = randomEdges(nodes, 4 * nodes, 1);
  const reference = kept(() => {
    const forest = boruvka(nodes, edges);
    return { forest, roots: parentsOf(nodes, edges, forest) };
  });
  return {
    iterations: edges.from.length,
    inputs: () => [
      Uint32Array.from({ length: nodes }, (_, node) => node),
      new Uint8Array(edges.from.length),
      edges.from.slice(),
      edges.to.slice(),
    ],
    verify([parents, taken]) {
      const { forest, roots } = reference();
      const verdict = verifyExact("taken", taken, forest);
      return verdict.ok ? verifyExact("parents", parents, roots) : verdict;
    },
  };
}

/**
 * Returns the final parent of each node: of two trees that meet, the larger root points to the
 * smaller.
 */
function parentsOf(nodes: number, { from, to }: Edges, taken: Uint8Array): Uint32Array {
  const components = Uint32Array.from({ length: nodes }, (_, node) => node);
  const members = Array.from(components, (node) => [node]);
  const [roots, parents] = [components.slice(), components.slice()];
  for (let edge = 0; edge < taken.length; edge++) {
    if (!taken[edge]) continue;
    // Members of the smaller set move to the larger one; the root of a set is its smallest member.
    const [one, other] = [components[from[edge]!]!, components[to[edge]!]!];
    const [small, large] = members[one]!.length < members[other]!.length ? [one, other] : [other, one];
    parents[Math.max(roots[one]!, roots[other]!)] = Math.min(roots[one]!, roots[other]!);
    roots[large] = Math.min(roots[one]!, roots[other]!);
    for (const node of members[small]!) {
      components[node] = large;
      members[large]!.push(node);
    }
  }
  return parents;
}

/**
 * Returns the edges of a minimum spanning forest by Borůvka's algorithm. All trees take their first
 * edges at once, until no edge leaves a tree.
 */
function boruvka(nodes: number, { from, to }: Edges): Uint8Array {
  const taken = new Uint8Array(from.length);
  const trees = Uint32Array.from({ length: nodes }, (_, node) => node);
  for (;;) {
    const first = new Int32Array(nodes).fill(-1);
    for (let edge = from.length - 1; edge >= 0; edge--) {
      const [one, other] = [trees[from[edge]!]!, trees[to[edge]!]!];
      if (one !== other) first[one] = first[other] = edge;
    }
    const neighbors = Array.from({ length: nodes }, (): number[] => []);
    let grown = false;
    for (const edge of first) {
      if (edge < 0 || taken[edge]) continue;
      const [one, other] = [trees[from[edge]!]!, trees[to[edge]!]!];
      neighbors[one]!.push(other);
      neighbors[other]!.push(one);
      taken[edge] = 1;
      grown = true;
    }
    if (!grown) return taken;
    const joined = new Int32Array(nodes).fill(-1);
    for (let tree = 0; tree < nodes; tree++) {
      const reached = joined[tree]! < 0 ? [tree] : [];
      for (const each of reached) {
        if (joined[each]! >= 0) continue;
        joined[each] = tree;
        reached.push(...neighbors[each]!);
      }
    }
    trees.forEach((tree, node) => {
      trees[node] = joined[tree]!;
    });
  }
}
