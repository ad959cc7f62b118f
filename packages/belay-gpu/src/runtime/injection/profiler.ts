import { countWords, type FaultSite, injectionWords, sampleCapacity } from "../../compiler/contract.ts";
import type { ReportArena } from "../context/reportArena.ts";
import type { Kernel, Kernels } from "../pipelines/kernels.ts";
import type { Execution } from "./injector.ts";

/** How often a fault site was executed, and by whom. */
export interface SiteProfile extends FaultSite {
  /** By all invocations in all dispatches; what the replicas of an invocation do counts once. */
  readonly executions: number;
  /**
   * Executions that were drawn, each with the same chance; 0 before a first run has told how many
   * there are.
   */
  readonly drawn: number;
  /**
   * The executions that were drawn, in the order of their numbers, as far as the report had room
   * for them.
   */
  readonly samples: readonly Required<Execution>[];
}

/** What a kernel did since the profile before. */
export interface KernelProfile {
  readonly kernel: string;
  readonly entryPoint: string;
  /** The program's WGSL, which positions refer to. */
  readonly source: string;
  readonly dispatches: number;
  /** The most iterations of loops that an invocation has run in one dispatch. */
  readonly iterations: number;
  readonly sites: readonly SiteProfile[];
}

/** Reads the counts of kernels, and starts them anew. */
export class Profiler {
  readonly #arena: ReportArena;

  constructor(arena: ReportArena) {
    this.#arena = arena;
  }

  /**
   * Returns the profiles of all that was submitted so far. `seed`, a word, decides which executions
   * are drawn from now on.
   */
  take(kernels: Kernels, seed: number): Promise<KernelProfile[]> {
    const counting = [...kernels.choices].flatMap(({ kernel }) =>
      kernel?.protection.layout?.counts === undefined ? [] : [kernel],
    );
    return Promise.all(counting.map((kernel) => this.#takeOne(kernel, seed)));
  }

  async #takeOne(kernel: Kernel, seed: number): Promise<KernelProfile> {
    const { faultSites, layout } = kernel.protection;
    const firstWord = layout!.counts! / 4;
    const [[dispatches], counts] = await Promise.all([
      this.#arena.read(kernel.slot, injectionWords.dispatch, 1),
      this.#arena.read(kernel.slot, firstWord, layout!.bytes / 4 - firstWord),
    ]);
    const blocks = faultSites.map((_, i) => {
      const start = countWords.sites + i * countWords.siteStride;
      return counts.subarray(start, start + countWords.siteStride);
    });
    this.#arena.write(kernel.slot, firstWord, restarted(counts.length, blocks, seed));
    this.#arena.write(kernel.slot, injectionWords.dispatch, [0]);
    return {
      kernel: kernel.name,
      entryPoint: kernel.entryPoint,
      source: kernel.source,
      dispatches: dispatches!,
      iterations: counts[countWords.iterations]!,
      sites: faultSites.map((site, i) => ({
        ...site,
        executions: executionsIn(blocks[i]!),
        drawn: blocks[i]![countWords.drawn]!,
        samples: samplesIn(blocks[i]!),
      })),
    };
  }
}

const executionsIn = (block: Uint32Array): number =>
  block[countWords.executions]! + 2 ** 32 * block[countWords.overflows]!;

/** Executions that are drawn of a site on average, where not all of them have room. */
const expectedSamples = 128;

/** Returns counts of zero, with what decides which executions are drawn next time. */
function restarted(length: number, blocks: readonly Uint32Array[], seed: number): Uint32Array {
  const counts = new Uint32Array(length);
  counts[countWords.seed] = seed;
  blocks.forEach((block, i) => {
    const executions = executionsIn(block);
    const stride = executions <= sampleCapacity ? 1 : Math.ceil(executions / expectedSamples);
    counts[countWords.sites + i * countWords.siteStride + countWords.stride] = Math.min(stride, 2 ** 32 - 1);
  });
  return counts;
}

function samplesIn(block: Uint32Array): Required<Execution>[] {
  const { drawn, samples, sampleStride } = countWords;
  const kept = Math.min(block[drawn]!, sampleCapacity);
  return (
    Array.from({ length: kept }, (_, i) => {
      const start = samples + i * sampleStride;
      return block.subarray(start, start + sampleStride);
    })
      // Invocations write them in any order.
      .sort(compareWords)
      .map(([dispatch, x, y, z, localIndex, occurrence, line]) => ({
        // Kernels count dispatches from one on.
        dispatch: dispatch! - 1,
        workgroup: [x!, y!, z!] as const,
        localIndex: localIndex!,
        occurrence: occurrence!,
        line: line!,
      }))
  );
}

function compareWords(a: Uint32Array, b: Uint32Array): number {
  const differing = a.findIndex((word, i) => word !== b[i]);
  return differing < 0 ? 0 : a[differing]! - b[differing]!;
}
