import * as alvinn from "./alvinn.ts";
import * as chain from "./chain.ts";
import * as fftbench from "./fftbench.ts";
import * as gatherScatter from "./gatherScatter.ts";
import * as knuthShuffle from "./knuthShuffle.ts";
import * as kruskal from "./kruskal.ts";
import type { Argument, LoopProgram } from "./loopProgram.ts";
import * as maximalMatching from "./maximalMatching.ts";
import * as mdg from "./mdg.ts";
import * as ocean from "./ocean.ts";
import * as strcat from "./strcat.ts";
import * as synthetic from "./synthetic.ts";
import * as trfd from "./trfd.ts";

/** A function with loops, and the sizes at which it runs. */
export interface LoopEntry {
  /** The name of the entry, of its file, of its function there, and of its version in C. */
  readonly name: string;
  /** Runs the function as it is written: every loop in order. */
  run(...parameters: readonly Argument[]): Promise<void>;
  /** Creates a program that takes a fraction of a second on a software adapter. */
  small(): LoopProgram;
  /**
   * Creates the program at the paper's size, or at a similar size if the paper does not give one.
   */
  documented(): LoopProgram;
  /** Creates a program that keeps a large GPU busy. */
  scaled(): LoopProgram;
}

/** Returns an entry; its type requires that a function and its arguments belong together. */
function entry<Arguments extends readonly Argument[]>(
  name: string,
  run: (...parameters: Arguments) => Promise<void>,
  sizes: Record<"small" | "documented" | "scaled", () => LoopProgram<Arguments>>,
): LoopEntry {
  return { name, run, ...sizes };
}

/**
 * The seven loops of the paper, three for which speculation is the standard answer, and the two
 * extremes.
 */
export const loops: readonly LoopEntry[] = [
  entry("ocean", ocean.ocean, {
    small: () => ocean.create({ points: 8 }),
    documented: () => ocean.create(),
    scaled: () => ocean.create({ points: 2048 }),
  }),
  entry("trfd", trfd.trfd, {
    small: () => trfd.create(),
    documented: () => trfd.create(),
    scaled: () => trfd.create({ iterations: 192 * 2 ** 15 }),
  }),
  entry("fftbench", fftbench.fftbench, {
    small: () => fftbench.create({ bits: 8 }),
    documented: () => fftbench.create(),
    scaled: () => fftbench.create({ bits: 22 }),
  }),
  entry("mdg", mdg.mdg, {
    small: () => mdg.create({ side: 3 }),
    documented: () => mdg.create(),
    scaled: () => mdg.create({ side: 14 }),
  }),
  entry("strcat", strcat.strcat, {
    small: () => strcat.create({ strings: 100 }),
    documented: () => strcat.create(),
    scaled: () => strcat.create({ strings: 2 ** 24, firstCapacity: 2 ** 16 }),
  }),
  entry("synthetic", synthetic.synthetic, {
    small: () => synthetic.create({ iterations: 500, rate: 0.05 }),
    documented: () => synthetic.create(),
    scaled: () => synthetic.create({ iterations: 2 ** 22 }),
  }),
  entry("alvinn", alvinn.alvinn, {
    small: () => alvinn.create({ inputs: 50, hiddens: 7, outputs: 5 }),
    documented: () => alvinn.create(),
    scaled: () => alvinn.create({ inputs: 4096, hiddens: 4096, outputs: 1024 }),
  }),
  entry("kruskal", kruskal.kruskal, {
    small: () => kruskal.create({ nodes: 100 }),
    documented: () => kruskal.create(),
    scaled: () => kruskal.create({ nodes: 2 ** 19 }),
  }),
  entry("maximalMatching", maximalMatching.maximalMatching, {
    small: () => maximalMatching.create({ nodes: 200 }),
    documented: () => maximalMatching.create(),
    scaled: () => maximalMatching.create({ nodes: 2 ** 21 }),
  }),
  entry("knuthShuffle", knuthShuffle.knuthShuffle, {
    small: () => knuthShuffle.create({ length: 500 }),
    documented: () => knuthShuffle.create(),
    scaled: () => knuthShuffle.create({ length: 2 ** 24 }),
  }),
  entry("gatherScatter", gatherScatter.gatherScatter, {
    small: () => gatherScatter.create({ length: 1000, rate: 0.01 }),
    documented: () => gatherScatter.create({ length: 2 ** 20 }),
    scaled: () => gatherScatter.create(),
  }),
  entry("chain", chain.chain, {
    small: () => chain.create({ length: 100 }),
    documented: () => chain.create(),
    scaled: () => chain.create({ length: 2 ** 26 }),
  }),
];
