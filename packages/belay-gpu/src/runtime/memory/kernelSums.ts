import { placesOf } from "../../codes/checksum.ts";
import type {
  BindingPoint,
  BindingScheme,
  MemorySummary,
  ProtectedBinding,
} from "../../compiler/contract.ts";
import { weightOf } from "../../transforms/memory/summedAccesses.ts";
import type { BufferRange } from "../webgpu/resources.ts";
import { type Trial, trialCells } from "./checksumKernels.ts";
import type { ProtectedBuffer } from "./granules.ts";
import type { PendingSum } from "./memoryState.ts";
import type { ProtectedBuffers } from "./protectedBuffers.ts";

/**
 * What a dispatch adds up, by rows and in their order, which is that of the slots; what nobody is
 * going to look at has no sum. A sum stands for a verification, or an encoding.
 */
export type DispatchSums = ReadonlyMap<number, PendingSum | undefined>;

/** A kernel, by what it does about the memory that it uses. */
interface SummingKernel {
  readonly memory: MemorySummary | undefined;
}

/** A kernel with the buffers that are bound for it. */
export interface SummingDispatch {
  readonly kernel: SummingKernel | undefined;
  rangeAt(of: BindingPoint): BufferRange | undefined;
}

/** What a kernel sums, and the buffer if all of it is bound. */
interface Summed {
  readonly binding: ProtectedBinding;
  readonly size: number;
  readonly owner: ProtectedBuffer | undefined;
}

/** What there is to do of a kernel on a grid. */
export interface SumsOnGrid {
  /**
   * What to add up rather than what it does, once that is known. Where what it does turned out to
   * be of no use: of a buffer that it loads in several places, one of these after the other. Where
   * it always is of use: no places.
   */
  readonly less: readonly BindingScheme[] | undefined;
  /** Otherwise what it adds up; undefined where that is of no use. */
  readonly sums: DispatchSums | undefined;
}

/** What is known of a kernel on a grid with arrays of some sizes. */
interface Coverage {
  /** Whether each word is accessed as often, by rows. */
  readonly outcomes: Map<number, boolean>;
  /**
   * What to add up rather than what it does, once that has been asked for since there was an
   * outcome.
   */
  less?: { readonly schemes: readonly BindingScheme[] | undefined } | undefined;
}

/**
 * Knows of which dispatches a kernel accesses each word of a buffer equally often. The count of
 * places tells: where the grid and the sizes of arrays alone decide, once and for all, and where
 * uniform buffers do too, of each dispatch anew.
 */
export class KernelSums {
  readonly #buffers: ProtectedBuffers;
  readonly #known = new WeakMap<SummingKernel, Map<string, Coverage>>();
  /**
   * What is tried, by cells of the report. Cells are used again while earlier trials may still be
   * told of in them.
   */
  readonly #trials: { readonly coverage: Coverage; readonly row: number; readonly trial: Trial }[] = [];
  #tags = 0;
  readonly #places = new Map<number, number>();
  /** By their text. */
  readonly #schemes = new Map<string, readonly BindingScheme[]>();

  constructor(buffers: ProtectedBuffers) {
    this.#buffers = buffers;
  }

  /** What a kernel is to do on a grid: less than it does, or what it adds up. */
  on(bound: SummingDispatch, grid: readonly number[]): SumsOnGrid {
    const { summed, coverage } = this.#dispatchOf(bound, grid);
    coverage.less ??= { schemes: this.#lessOf(bound.kernel, summed, coverage) };
    const less = coverage.less.schemes;
    return { less, sums: less ? undefined : this.#sumsOf(summed, coverage, grid) };
  }

  #lessOf(kernel: SummingKernel | undefined, summed: readonly Summed[], { outcomes }: Coverage) {
    const tried = summed.flatMap(({ binding, owner }) => (owner && !binding.isKnown ? [binding] : []));
    const misses = tried.filter(({ index }) => outcomes.get(index) === false);
    const isSettled = misses.length === 0 && tried.every(({ index }) => outcomes.has(index));
    const known = isSettled ? tried.filter(({ varies }) => !varies) : [];
    if (misses.length === 0 && known.length === 0) return undefined;
    const schemes = kernel!.memory!.bindings.map((binding): BindingScheme => {
      const { of, scheme, site = -1, isKnown } = binding;
      const next = misses.includes(binding) ? site + 1 : site;
      return {
        of,
        scheme,
        ...(next >= 0 && { site: next }),
        ...((isKnown || known.includes(binding)) && { isKnown: true }),
      };
    });
    const key = JSON.stringify(schemes);
    const same = this.#schemes.get(key) ?? schemes;
    this.#schemes.set(key, same);
    return same;
  }

  #sumsOf(summed: readonly Summed[], coverage: Coverage, grid: readonly number[]): DispatchSums | undefined {
    const sums = new Map<number, PendingSum | undefined>();
    for (const { binding, size, owner } of summed) {
      const { index, stores, sums: weights = [], isKnown } = binding;
      sums.set(index, undefined);
      if (!owner) continue;
      const sum = { owner, kind: stores ? "stored" : "loaded", weight: weightOf(weights, grid) } as const;
      const places = Math.imul(sum.weight, this.#placesIn(size / 4)) >>> 0;
      const trial = coverage.outcomes.has(index) ? undefined : this.#trialOf(coverage, index);
      sums.set(index, isKnown ? sum : { ...sum, doubt: { places, trial } });
    }
    return [...sums.values()].some((sum) => sum) ? sums : undefined;
  }

  /** Reads what came of trials. */
  read(cells: Uint32Array): void {
    for (const { coverage, row, trial } of this.#trials) {
      const found = cells[trial.cell] ?? 0;
      if (found >>> 1 !== trial.tag) continue;
      coverage.outcomes.set(row, (coverage.outcomes.get(row) ?? true) && found % 2 === 1);
      coverage.less = undefined;
    }
    // What has an outcome needs no cell.
    while (this.#trials.length > 0 && this.#trials.every(({ coverage, row }) => coverage.outcomes.has(row)))
      this.#trials.pop();
  }

  /** What is summed, in the order of rows, with the buffers that are bound as a whole. */
  #dispatchOf(
    bound: SummingDispatch,
    grid: readonly number[],
  ): { summed: readonly Summed[]; coverage: Coverage } {
    const { kernel } = bound;
    const all = (kernel?.memory?.bindings ?? []).map((binding) => ({
      binding,
      range: bound.rangeAt(binding.of),
    }));
    const summed = all
      .filter(({ binding }) => binding.mode === "summed")
      .map(({ binding, range }) => ({
        binding,
        size: range?.size ?? 0,
        owner: range && isWhole(range) ? this.#buffers.of(range.buffer) : undefined,
      }))
      .sort((a, b) => a.binding.index - b.binding.index);
    // The size of any array may decide what is accessed.
    const key = `${grid} ${all.map(({ range }) => range?.size)} ${summed.map(({ owner }) => owner !== undefined)}`;
    const coverage = kernel ? this.#coverageOf(kernel, key) : { outcomes: new Map() };
    return { summed, coverage };
  }

  #coverageOf(kernel: SummingKernel, key: string): Coverage {
    const ofKernel = this.#known.get(kernel) ?? new Map<string, Coverage>();
    this.#known.set(kernel, ofKernel);
    const coverage = ofKernel.get(key) ?? { outcomes: new Map<number, boolean>() };
    ofKernel.set(key, coverage);
    return coverage;
  }

  #trialOf(coverage: Coverage, row: number): Trial | undefined {
    const known = this.#trials.find((each) => each.coverage === coverage && each.row === row);
    if (known || this.#trials.length === trialCells) return known?.trial;
    const trial = { cell: this.#trials.length, tag: ++this.#tags };
    this.#trials.push({ coverage, row, trial });
    return trial;
  }

  #placesIn(words: number): number {
    const places = this.#places.get(words) ?? placesOf(words);
    this.#places.set(words, places);
    return places;
  }
}

/** Whether a binding is all of its buffer, in whole words. */
function isWhole({ buffer, offset, size }: BufferRange): boolean {
  return offset === 0 && size >= buffer.size && size % 4 === 0;
}
