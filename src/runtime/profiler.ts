import { countWords, type FaultSite, reportWords, sampleCapacity } from "../compiler/contract.ts";
import type { Execution } from "./injector.ts";
import type { Kernel } from "./kernel.ts";
import type { Kernels } from "./kernels.ts";
import type { ReportArena } from "./reportArena.ts";

/** How often a fault site was executed, and by whom. */
export interface SiteProfile extends FaultSite {
  /** By all invocations in all dispatches; what the replicas of an invocation do counts once. */
  readonly executions: number;
  /** Some executions, drawn at random, each with the same chance; none before a first run has told how many there are. */
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

/**
 * Reads the counts of kernels, and starts them anew. Of each site one of every n executions is kept, at random, in the
 * order in which they happen: each has the same chance (stratified sampling; Cochran 1977, chapter 5).
 */
export class Profiler {
  readonly #arena: ReportArena;

  constructor(arena: ReportArena) {
    this.#arena = arena;
  }

  /** Of all that was submitted so far. */
  take(kernels: Kernels): Promise<KernelProfile[]> {
    const counting = [...kernels.choices].flatMap(({ kernel }) =>
      kernel?.protection.layout?.counts === undefined ? [] : [kernel],
    );
    return Promise.all(counting.map((kernel) => this.#takeOne(kernel)));
  }

  async #takeOne(kernel: Kernel): Promise<KernelProfile> {
    const { faultSites, layout } = kernel.protection;
    const firstWord = layout!.counts! / 4;
    const [[dispatches], counts] = await Promise.all([
      this.#arena.read(kernel.slot, reportWords.dispatch, 1),
      this.#arena.read(kernel.slot, firstWord, layout!.bytes / 4 - firstWord),
    ]);
    const blocks = faultSites.map((_, i) => {
      const start = countWords.sites + i * countWords.siteStride;
      return counts.subarray(start, start + countWords.siteStride);
    });
    this.#arena.write(kernel.slot, firstWord, restarted(counts.length, blocks));
    this.#arena.write(kernel.slot, reportWords.dispatch, [0]);
    return {
      ...{ kernel: kernel.name, entryPoint: kernel.entryPoint, source: kernel.source },
      ...{ dispatches: dispatches!, iterations: counts[countWords.iterations]! },
      sites: faultSites.map((site, i) => ({
        ...site,
        executions: executionsIn(blocks[i]!),
        samples: samplesIn(blocks[i]!),
      })),
    };
  }
}

const executionsIn = (block: Uint32Array): number =>
  block[countWords.executions]! + 2 ** 32 * block[countWords.overflows]!;

/** Counts of zero, with the samples to keep next time. */
function restarted(length: number, blocks: readonly Uint32Array[]): Uint32Array {
  const counts = new Uint32Array(length);
  blocks.forEach((block, i) => {
    const stride = Math.max(1, Math.ceil(executionsIn(block) / sampleCapacity));
    const start = countWords.sites + i * countWords.siteStride;
    counts[start + countWords.seed] = Math.floor(Math.random() * 2 ** 32);
    counts[start + countWords.stride] = stride;
  });
  return counts;
}

function samplesIn(block: Uint32Array): Required<Execution>[] {
  const { samples, sampleStride } = countWords;
  return Array.from({ length: sampleCapacity }, (_, i) => {
    const start = samples + i * sampleStride;
    return [...block.subarray(start, start + sampleStride)] as [
      number,
      number,
      number,
      number,
      number,
      number,
      number,
    ];
  }).flatMap(([number, x, y, z, localIndex, occurrence, line]) =>
    // Kernels count dispatches from one on.
    number === 0
      ? []
      : [{ dispatch: number - 1, workgroup: [x, y, z] as const, localIndex, occurrence, line }],
  );
}
