/**
 * Decides which kernels may sum their buffers under a checksum. Trials on the device show whether a
 * kernel accesses each word equally often. Their results choose the variant of the kernel.
 */
import type {
  BindingPoint,
  BindingScheme,
  MemorySummary,
  ProtectedBinding,
} from "../../compiler/contract.ts";
import { placesOf } from "../../ecc/checksum.ts";
import { weightOf } from "../../transforms/memory/summedAccesses.ts";
import type { BufferRange } from "../webgpu/resources.ts";
import { type SumTrial, trialCells } from "./checksumKernels.ts";
import type { ProtectedBuffer } from "./granules.ts";
import { type ExpectedUniforms, type PendingSum, plainSum, type UniformVersions } from "./memoryState.ts";
import type { ProtectedBuffers } from "./protectedBuffers.ts";

/**
 * The sums of a dispatch by table row, in the order of their slots. A slot is undefined if its sum
 * will not be used. A sum replaces a verification or an encoding of its buffer.
 */
export type DispatchSums = ReadonlyMap<number, PendingSum | undefined>;

/** A kernel with its use of memory. */
interface SummingKernel {
  readonly memory: MemorySummary | undefined;
}

/** Tells the contents of uniform buffers, as far as they are known. */
export interface KnownUniforms extends UniformVersions {
  /** Returns the bytes of a range as a text; undefined if they are unknown. */
  textOf(range: BufferRange): string | undefined;
}

/** A kernel with the buffers that are bound for it. */
export interface SummingDispatch {
  readonly kernel: SummingKernel | undefined;
  rangeAt(of: BindingPoint): BufferRange | undefined;
}

/**
 * A binding that a kernel sums, with its size in bytes. The owner is undefined if the binding is
 * not a whole protected buffer.
 */
interface Summed {
  readonly binding: ProtectedBinding;
  readonly size: number;
  readonly owner: ProtectedBuffer | undefined;
}

/** The sums of a kernel on a grid, or the variant of the kernel to use instead. */
export interface SumsOnGrid {
  /**
   * The schemes of another variant of the kernel, once trials decided for it. If a load site did
   * not access each word equally often, the variant sums at the next site. If the sums always do,
   * the variant counts no places.
   */
  readonly variant: readonly BindingScheme[] | undefined;
  /** The sums, if the kernel itself is used. Undefined if it has none. */
  readonly sums: DispatchSums | undefined;
  /** The contents of uniform buffers on which this result depends, if it does. */
  readonly expected: ExpectedUniforms | undefined;
}

/** The results of trials of a kernel, for one grid and one set of array sizes. */
interface TrialResults {
  /** True if each word is accessed equally often, by table row. */
  readonly outcomes: Map<number, boolean>;
  /**
   * The schemes of the variant to use instead. Absent until first asked for after the latest
   * outcome.
   */
  variant?: { readonly schemes: readonly BindingScheme[] | undefined } | undefined;
}

/** A kernel with the results of its trials. */
interface KnownKernel {
  /** Its bindings, in the order of their rows. */
  readonly bindings: readonly ProtectedBinding[];
  /**
   * The results of trials by grid, sizes of arrays, the bindings that are whole buffers, and the
   * contents of uniform buffers.
   */
  readonly results: Map<string, TrialResults>;
  /** True if the contents of uniform buffers distinguish results. */
  isByUniforms: boolean;
  /** The different contents of uniform buffers so far. */
  readonly uniforms: Set<string>;
}

/** A dispatch with the results of its kernel's trials. */
interface KnownDispatch {
  /** The bindings to sum. */
  readonly summed: readonly Summed[];
  readonly results: TrialResults;
  readonly expected: ExpectedUniforms | undefined;
}

/**
 * The most contents of uniform buffers for which trials of a kernel are made. A kernel with more
 * gets other arguments each time.
 */
const mostUniforms = 32;

/**
 * The dispatches of which a kernel accesses each word of a buffer equally often. The device
 * compares the count of places. One comparison decides if the accesses depend only on the grid, the
 * sizes of arrays, and uniform buffers that the host wrote. If they depend on other memory, each
 * dispatch is compared.
 */
export class KernelSums {
  readonly #buffers: ProtectedBuffers;
  readonly #known = new WeakMap<SummingKernel, KnownKernel>();
  /**
   * The running trials, by report cell. A cell is reused while it may still hold the outcome of an
   * earlier trial, so each trial has a tag.
   */
  readonly #trials: { readonly results: TrialResults; readonly row: number; readonly trial: SumTrial }[] = [];
  #tags = 0;
  #decisions = 0;
  readonly #places = new Map<number, number>();
  /** The schemes by their JSON text, so that equal schemes are the same object. */
  readonly #schemes = new Map<string, readonly BindingScheme[]>();

  constructor(buffers: ProtectedBuffers) {
    this.#buffers = buffers;
  }

  /** The number of outcomes so far. An outcome may change the sums of a dispatch. */
  get decisions(): number {
    return this.#decisions;
  }

  /** Returns the sums of a kernel on a grid, or the schemes of the variant to use instead. */
  on(bound: SummingDispatch, grid: readonly number[], uniforms: KnownUniforms): SumsOnGrid {
    const dispatch = this.#dispatchOf(bound, grid, uniforms);
    const { summed, results, expected } = dispatch;
    results.variant ??= { schemes: this.#variantOf(bound.kernel, summed, results) };
    const variant = results.variant.schemes;
    return { variant, sums: variant ? undefined : this.#sumsOf(dispatch, grid), expected };
  }

  #variantOf(kernel: SummingKernel | undefined, summed: readonly Summed[], { outcomes }: TrialResults) {
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

  #sumsOf({ summed, results, expected }: KnownDispatch, grid: readonly number[]): DispatchSums | undefined {
    const sums = new Map<number, PendingSum | undefined>();
    for (const { binding, size, owner } of summed) {
      const { index, stores, sums: weights = [] } = binding;
      sums.set(index, undefined);
      if (!owner) continue;
      const kind = stores ? "stored" : "loaded";
      const weight = weightOf(weights, grid);
      const places = Math.imul(weight, this.#placesIn(size / 4)) >>> 0;
      const trial = results.outcomes.has(index) ? undefined : this.#trialOf(results, index);
      const isExpected = expected && binding.varies === "uniforms" && results.outcomes.get(index) === true;
      if (binding.isKnown) sums.set(index, plainSum(owner, kind, weight));
      else if (isExpected) sums.set(index, plainSum(owner, kind, weight, places));
      else sums.set(index, { owner, kind, weight, doubt: { places, trial } });
    }
    return [...sums.values()].some((sum) => sum) ? sums : undefined;
  }

  /** Reads the outcomes of trials. */
  read(cells: Uint32Array): void {
    for (const { results, row, trial } of this.#trials) {
      const found = cells[trial.cell] ?? 0;
      if (found >>> 1 !== trial.tag) continue;
      results.outcomes.set(row, (results.outcomes.get(row) ?? true) && found % 2 === 1);
      results.variant = undefined;
      this.#decisions++;
    }
    // Trials with an outcome need no cell. Cells are freed from the end.
    while (this.#trials.length > 0 && this.#trials.every(({ results, row }) => results.outcomes.has(row)))
      this.#trials.pop();
  }

  /** Returns the bindings to sum, and the results of the kernel's trials. */
  #dispatchOf(bound: SummingDispatch, grid: readonly number[], uniforms: KnownUniforms): KnownDispatch {
    const known = this.#kernelOf(bound.kernel);
    const { bindings, results } = known;
    const summed: Summed[] = [];
    // Accesses may depend on the size of any array.
    let key = grid.join();
    for (const binding of bindings) {
      const range = bound.rangeAt(binding.of);
      key += ` ${range?.size}`;
      if (binding.mode !== "summed") continue;
      const owner = range && isWhole(range) ? this.#buffers.of(range.buffer) : undefined;
      if (owner) key += " whole";
      summed.push({ binding, size: range?.size ?? 0, owner });
    }
    const expected = this.#expectedOf(known, bound, uniforms);
    const full = expected ? `${key} ${expected.text}` : key;
    const own = results.get(full) ?? { outcomes: new Map<number, boolean>() };
    results.set(full, own);
    return { summed, results: own, expected };
  }

  /**
   * Returns the contents of the uniform buffers that decide which elements a kernel accesses.
   * Undefined if none do, or if trials cannot be made for all contents.
   */
  #expectedOf(
    known: KnownKernel,
    bound: SummingDispatch,
    uniforms: KnownUniforms,
  ): (ExpectedUniforms & { readonly text: string }) | undefined {
    if (!known.isByUniforms) return undefined;
    const contents: { readonly buffer: GPUBuffer; readonly version: number }[] = [];
    let text = "";
    for (const { of, isUniform } of known.bindings) {
      if (!isUniform) continue;
      const range = bound.rangeAt(of);
      const [own, version] = range ? [uniforms.textOf(range), uniforms.versionOf(range.buffer)] : [];
      if (!range || own === undefined || version === undefined) return undefined;
      text += ` ${own}`;
      contents.push({ buffer: range.buffer, version });
    }
    known.uniforms.add(text);
    if (known.uniforms.size <= mostUniforms) return { contents, text, missed: () => this.#forget(known) };
    this.#forget(known);
    return undefined;
  }

  /** Makes trials of a kernel for each dispatch from now on, whatever uniform buffers contain. */
  #forget(known: KnownKernel): void {
    known.isByUniforms = false;
    const all = new Set(known.results.values());
    for (const { results, row } of this.#trials) if (all.has(results)) results.outcomes.set(row, false);
    known.results.clear();
    this.#decisions++;
  }

  #kernelOf(kernel: SummingKernel | undefined): KnownKernel {
    const known = kernel && this.#known.get(kernel);
    if (known) return known;
    const bindings = (kernel?.memory?.bindings ?? []).toSorted((a, b) => a.index - b.index);
    const isByUniforms = bindings.some(({ varies }) => varies === "uniforms");
    const made = {
      bindings,
      results: new Map<string, TrialResults>(),
      isByUniforms,
      uniforms: new Set<string>(),
    };
    if (kernel) this.#known.set(kernel, made);
    return made;
  }

  #trialOf(results: TrialResults, row: number): SumTrial | undefined {
    const known = this.#trials.find((each) => each.results === results && each.row === row);
    if (known || this.#trials.length === trialCells) return known?.trial;
    const trial = { cell: this.#trials.length, tag: ++this.#tags };
    this.#trials.push({ results, row, trial });
    return trial;
  }

  #placesIn(words: number): number {
    const places = this.#places.get(words) ?? placesOf(words);
    this.#places.set(words, places);
    return places;
  }
}

/** Returns whether a binding covers its whole buffer, in whole words. */
function isWhole({ buffer, offset, size }: BufferRange): boolean {
  return offset === 0 && size >= buffer.size && size % 4 === 0;
}
