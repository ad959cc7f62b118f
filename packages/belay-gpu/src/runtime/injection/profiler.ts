import { type CampaignSite, countWords, injectionWords, sampleCapacity } from "../../compiler/contract.ts";
import type { ReportArena } from "../context/reportArena.ts";
import type { Kernels, ProtectedKernel } from "../pipelines/protectedKernels.ts";
import type { Execution } from "./injector.ts";

/** The number of executions of a fault site, and a sample of them. */
export interface SiteProfile extends CampaignSite {
  /**
   * The executions by all invocations in all dispatches. Both replicas of an invocation count as
   * one.
   */
  readonly executions: number;
  /**
   * The number of executions that were drawn, each with the same probability. It is 0 in the first
   * run, as the number of executions is not known yet.
   */
  readonly drawn: number;
  /**
   * The drawn executions in their order. There may be fewer than `drawn`, as the room in a report
   * is limited.
   */
  readonly samples: readonly Required<Execution>[];
}

/** The profile of a kernel since the previous profile. */
export interface KernelProfile {
  /** The name of the kernel, for `arm`. */
  readonly kernel: string;
  /** The kernel's entry point. */
  readonly entryPoint: string;
  /** The program's WGSL, to which positions refer. */
  readonly source: string;
  /** The number of dispatches. */
  readonly dispatches: number;
  /** The most loop iterations of an invocation in one dispatch. */
  readonly iterations: number;
  /** The executions of each fault site. */
  readonly sites: readonly SiteProfile[];
}

/** Reads the counts of kernels, and resets them. */
export class Profiler {
  readonly #arena: ReportArena;

  constructor(arena: ReportArena) {
    this.#arena = arena;
  }

  /**
   * Returns the profiles of all submitted work. The word `seed` decides which executions are drawn
   * from now on.
   */
  take(kernels: Kernels, seed: number): Promise<KernelProfile[]> {
    const counting = [...kernels.choices].flatMap(({ kernel }) =>
      kernel?.protection.layout?.counts === undefined ? [] : [kernel],
    );
    return Promise.all(counting.map((kernel) => this.#takeOne(kernel, seed)));
  }

  async #takeOne(kernel: ProtectedKernel, seed: number): Promise<KernelProfile> {
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
      kernel: kernel.target,
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

/** The average number of executions that are drawn at a site, if not all of them have room. */
const expectedSamples = 128;

/** Returns zeroed counts, with the seed and the strides for the next draw. */
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
        // Kernels count dispatches from 1 on.
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
