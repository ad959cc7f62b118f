/** The checks by algebra of one device: the search for sums, and what became of the checks. */
import type { BindingPoint, KeptSums } from "../compiler/contract.ts";
import type { KnownDispatch } from "../compiler/filledBytes.ts";
import type { Diagnostic } from "../diagnostics/diagnostic.ts";
import { info, nowhere, warning } from "../diagnostics/finding.ts";
import { messageOf } from "../diagnostics/messageOf.ts";
import { type KernelCoverage, locate } from "../runtime/context/coverage.ts";
import type { DispatchCall, Grid } from "../runtime/context/dispatchCall.ts";
import { asksForAlgebra } from "../runtime/context/kernelPolicy.ts";
import type { Repair } from "../runtime/context/repair.ts";
import type { RuntimeContext } from "../runtime/context/runtimeContext.ts";
import type { SumsReport } from "../runtime/context/sumsChecker.ts";
import type { CheckedVariant, ProtectedKernel } from "../runtime/pipelines/protectedKernels.ts";
import type { BoundPipeline } from "../runtime/recording/boundPipeline.ts";
import type { CheckedDispatch, SumsChecking, WordAt } from "../runtime/recording/sumsChecking.ts";
import { makeSilently } from "../runtime/webgpu/nativeObjects.ts";
import type { OwnKernel } from "../runtime/webgpu/ownKernel.ts";
import type { BufferRange } from "../runtime/webgpu/resources.ts";
import type { Activation } from "./activations.ts";
import { buffersOf } from "./checkKernels.ts";
import { concluding, DispatchCheck, type Findings, type Settled } from "./dispatchCheck.ts";
import type { SumsOfProducts } from "./sums.ts";
import { type FoundSums, searchSums, type Unrecognized } from "./sumsOfProducts.ts";
import { SumsPipelines } from "./sumsPipelines.ts";
import { bitsOf } from "./symbols.ts";
import { reasonAgainstCheck } from "./worth.ts";

/** The cost of redundancy without a prediction, relative to the dispatch alone. */
const usualCost = 2;

/** The settings of the checks. */
interface Settings {
  readonly leastMultiplications: number;
  readonly searchesAtOnce: boolean;
}

/** The most kinds of dispatches of one kernel in which sums are looked for. */
const mostKinds = 16;
/** The most GPU memory for the work of all checks, in bytes. */
const mostWorkBytes = 2 ** 28;
/** The share of time that a search takes while the host does other work. */
const searchShare = 0.25;
/**
 * The number of dispatches without a verdict, or whose check was of no use, after which their kind
 * is left to redundancy.
 */
const mostUndecided = 8;

/** The words of uniform buffers on which an answer depends. */
interface KnownWord {
  readonly of: BindingPoint;
  readonly offset: number;
  readonly word: number | undefined;
}

/** The dispatches of one kind: of one kernel, on one grid, with buffers of the same sizes. */
interface Kind extends Pick<CheckableDispatch, "kernel" | "isAsked" | "costOfRedundancy" | "kernelOf"> {
  /** True if the kernel may load from its output. */
  readonly runsOnce: boolean;
  readonly grid: readonly number[];
  readonly sizes: readonly { readonly of: BindingPoint; readonly size: number }[];
  words: readonly KnownWord[];
  /** The sums with their pipelines once they are known, or the reason why there is no check. */
  found: Found | Unrecognized | "searching";
  /** The check; `"making"` until the device has accepted it. */
  check: DispatchCheck | "making" | undefined;
  undecided: number;
  /** The number of dispatches in place that were checked when they could not run again. */
  atOnce: number;
}

/** A dispatch that may be checked. */
interface CheckableDispatch {
  readonly kernel: { readonly name: string; readonly entryPoint: string };
  /** True if the policy asks for checks whatever they cost. */
  readonly isAsked: boolean;
  /** The predicted time under redundancy, relative to that of the dispatch alone. */
  readonly costOfRedundancy: number;
  /** Returns the protected kernel of a variant, if there is one. */
  readonly kernelOf: (variant: CheckedVariant) => ProtectedKernel | undefined;
  readonly call: DispatchCall;
  readonly wordAt: WordAt;
}

/** The known facts about a dispatch: its kind, and its check once there is one. */
interface KnownCall {
  readonly kind: Kind;
  checked: CheckedDispatch | undefined;
}

/** Sums with the pipelines that check them, and the variants of the kernel that these check. */
interface Found {
  readonly sums: SumsOfProducts;
  readonly activation: Activation | undefined;
  readonly pipelines: SumsPipelines;
  readonly variants: Readonly<Record<CheckedVariant["run"], CheckedVariant>>;
}

/** The variants of kernels that store sums. */
const usualVariants: Found["variants"] = { alone: { run: "alone" }, again: { run: "again" } };

/** The counts of one kernel. */
interface Counts {
  checked: number;
  repaired: number;
  undecided: number;
  refuted: number;
  bound: number;
}

export class DeviceAlgebra implements SumsChecking {
  readonly #context: RuntimeContext;
  readonly #device: GPUDevice;
  readonly #settings: Settings;
  readonly #conclude: OwnKernel;
  readonly #kinds = new WeakMap<object, Kind[]>();
  /** The known facts about the dispatches that were asked for, by their calls. */
  readonly #known = new WeakMap<DispatchCall, KnownCall>();
  /** The variants that keep sums, by kernel and by what they keep. */
  readonly #keeping = new WeakMap<object, Map<string, Found["variants"]>>();
  readonly #counts = new Map<string, Counts>();
  /** The reasons why dispatches are not checked, by kernel. */
  readonly #gaps = new Map<string, Map<string, Diagnostic>>();
  #workBytes = 0;
  #searching: Promise<void> = Promise.resolve();
  /** The number of calls that wait for the end of the search. */
  #waiting = 0;

  constructor(context: RuntimeContext, settings: Settings) {
    this.#context = context;
    this.#device = context.device;
    this.#settings = settings;
    this.#conclude = concluding(context.device);
  }

  /** True if the host decides about dispatches. */
  get #defers(): boolean {
    const { onFault, retries, memory } = this.#context.policy;
    // A code for memory checks the buffers between the dispatches of a check.
    return onFault === "recover" && retries > 0 && memory === "none";
  }

  checkOf(pipeline: BoundPipeline, grid: Grid, wordAt: WordAt): CheckedDispatch | undefined {
    const { record, kernel } = pipeline;
    const call = kernel && this.#callOf(pipeline, kernel, grid);
    const known = call && this.#knownOf(call, record, kernel, wordAt);
    if (!known) return undefined;
    const { kind } = known;
    if (kind.found === "searching" || "reason" in kind.found) return undefined;
    if (!kind.check) this.#make(kind, kind.found);
    if (!kind.check || kind.check === "making") return undefined;
    known.checked ??= kind.check.of(call);
    return known.checked;
  }

  /**
   * Returns a dispatch if its kernel is under redundancy, and its grid and its buffers are known.
   */
  #callOf(pipeline: BoundPipeline, { interGroup }: ProtectedKernel, grid: Grid): DispatchCall | undefined {
    const { record } = pipeline;
    if (record.redundancy === "none" || !grid.every((count) => count >= 1)) return undefined;
    const { dispatch } = pipeline.use(record.variant(0)).effectOn(grid);
    const hasShadows = interGroup !== undefined && interGroup.shadows.length > 0;
    // Two dispatches in a row would need shadows that are up to date in between.
    if (hasShadows && !(dispatch && runsOnce(dispatch.call) && this.#defers)) return undefined;
    return dispatch?.call;
  }

  /** Makes the check of a kind of dispatches. */
  #make(kind: Kind, { sums, activation, pipelines, variants }: Found): void {
    const skippable = kind.kernelOf(variants.again);
    const keepsSums = skippable?.sums && kind.kernelOf(variants.alone)?.sums;
    if (variants.alone.keptSums && !keepsSums) {
      this.#leave(kind, "its pipeline has no room for a buffer of the sums before its activation");
      return;
    }
    if (!skippable) {
      this.#leave(kind, "its dispatches under redundancy cannot be skipped");
      return;
    }
    const { combinedBytes } = pipelines.kernels;
    const { sums: buffers } = this.#context;
    const outputBytes = kind.sizes.find(({ of }) => isSame(of, sums.output.of))!.size;
    const keptBytes = keepsSums ? growthOf(activation) * outputBytes : 0;
    if (this.#workBytes + combinedBytes + buffers.bytesWith(keptBytes) > mostWorkBytes) {
      this.#leave(kind, "all checks together would need too much memory");
      return;
    }
    this.#workBytes += combinedBytes;
    const found = (findings: Findings) => this.#count(kind, findings);
    const settled = (each: Settled) => this.#settled(kind, each);
    const { runsOnce } = kind;
    const defers = this.#defers;
    const kept = keepsSums && buffers.of(keptBytes);
    const others = buffersOf(activation, sums);
    const own = { kernel: skippable, defers, runsOnce, variants, kept: kept?.range, others, found, settled };
    const parts = { sums, pipelines, ...own };
    const make = () => new DispatchCheck(this.#device, this.#context.reports, this.#conclude, parts);
    const { made, failed } = makeSilently(this.#device, make);
    kind.check = this.#settings.searchesAtOnce ? made : "making";
    this.#settle(async () => {
      const error = (await kept?.failed) ?? (await failed);
      if (error) this.#leave(kind, error.message);
      else kind.check = made;
    });
  }

  reportOn(
    { kernel, diagnostics }: KernelCoverage,
    source: string,
  ): Pick<KernelCoverage, "diagnostics"> & { readonly sums: SumsReport } {
    const gaps = locate(source, [...(this.#gaps.get(kernel)?.values() ?? [])]);
    return { sums: { ...this.#countsOf(kernel) }, diagnostics: [...diagnostics, ...gaps] };
  }

  /** Makes `finished` wait for a task. */
  #settle(task: () => Promise<void>): void {
    this.#searching = Promise.all([this.#searching, task()]).then(() => {});
  }

  async finished(): Promise<void> {
    this.#waiting++;
    let searched: Promise<void> | undefined;
    while (searched !== this.#searching) {
      searched = this.#searching;
      await searched;
    }
    this.#waiting--;
  }

  #countsOf(kernel: string): Counts {
    const counts = this.#counts.get(kernel) ?? {
      checked: 0,
      repaired: 0,
      undecided: 0,
      refuted: 0,
      bound: 0,
    };
    this.#counts.set(kernel, counts);
    return counts;
  }

  /** Takes the findings about dispatches of one kind. */
  #count(kind: Kind, findings: Findings): void {
    const { name, entryPoint } = kind.kernel;
    const { checked, repaired, undecided, refuted, atOnce, first } = findings;
    const counts = this.#countsOf(name);
    counts.checked += checked;
    counts.repaired += repaired;
    counts.undecided += undecided;
    counts.refuted += refuted;
    kind.undecided += undecided;
    kind.atOnce += atOnce;
    if (repaired > 0) {
      const repair = { kernel: name, entryPoint, ...first, count: repaired };
      this.#context.events.emit("repair", { ...repair, message: describeRepair(repair) });
    }
    if (refuted > 0) this.#refute(kind);
    else if (kind.undecided > mostUndecided)
      this.#leave(kind, "its numbers are or may be not finite too often");
    else if (kind.atOnce > mostUndecided)
      this.#leave(kind, "it adds to its output, whose old contents have no room in snapshotBytes too often");
  }

  /** Takes the facts about executions whose results no other execution replaces. */
  #settled(kind: Kind, { bound, isInDoubt }: Settled): void {
    const counts = this.#countsOf(kind.kernel.name);
    counts.bound = Math.max(counts.bound, bound);
    if (isInDoubt) this.#leave(kind, "its check did not agree, and its work could not run again");
  }

  /** Leaves dispatches of one kind to redundancy from now on. */
  #leave(kind: Kind, reason: string): void {
    kind.found = { reason };
    this.#tell(kind, "not-checked-by-algebra", reason);
  }

  /** Leaves dispatches of one kind to redundancy, as it disagrees with their check. */
  #refute(kind: Kind): void {
    kind.found = { reason: "refuted" };
    this.#tell(kind, "sums-refuted");
  }

  #tell({ kernel, isAsked }: Pick<Kind, "kernel" | "isAsked">, name: keyof typeof gaps, reason = ""): void {
    const told = this.#gaps.get(kernel.name) ?? new Map();
    this.#gaps.set(kernel.name, told.set(`${name} ${reason}`, gaps[name](reason, isAsked)));
  }

  /**
   * Returns the known facts about a dispatch. Finds its kind if that is new, or another one than
   * before.
   */
  #knownOf(
    call: DispatchCall,
    record: BoundPipeline["record"],
    kernel: ProtectedKernel,
    wordAt: WordAt,
  ): KnownCall | undefined {
    const known = this.#known.get(call);
    if (known && isStill(known.kind, call, wordAt)) return known;
    const names = { label: record.source?.label ?? "", entryPoint: kernel.entryPoint };
    const kind = this.#kindOf({
      kernel,
      isAsked: asksForAlgebra(this.#context.policy, names),
      costOfRedundancy: kernel.protection.chosen?.predicted ?? usualCost,
      kernelOf: (variant) => record.with(variant).kernel,
      call,
      wordAt,
    });
    const found = kind && { kind, checked: undefined };
    if (found) this.#known.set(call, found);
    return found;
  }

  /** Returns the kind of a dispatch. Begins to look for sums in a new one. */
  #kindOf(dispatch: CheckableDispatch): Kind | undefined {
    const { kernel, call, wordAt } = dispatch;
    const kinds = this.#kinds.get(kernel) ?? [];
    this.#kinds.set(kernel, kinds);
    let kind = kinds.find(
      (each) =>
        each.grid.every((count, i) => count === call.grid[i]) &&
        each.sizes.every(({ of, size }) => placeAt(call, of)?.size === size) &&
        isStill(each, call, wordAt),
    );
    if (!kind) {
      if (kinds.length >= mostKinds) {
        const reason = `it runs on more than ${mostKinds} kinds of grids, sizes and shapes`;
        this.#tell(dispatch, "not-checked-by-algebra", reason);
        return undefined;
      }
      kind = this.#begin(dispatch);
      kinds.push(kind);
    }
    return kind;
  }

  /** Begins to look for sums in dispatches of a new kind. */
  #begin(dispatch: CheckableDispatch): Kind {
    const { kernel, isAsked, costOfRedundancy, kernelOf, call, wordAt } = dispatch;
    const ranges = call.bound.flatMap(({ of, place }) => ("buffer" in place ? [{ of, range: place }] : []));
    // The search may see the words only as they are now.
    const words = ranges.flatMap(({ of, range }) => {
      const all: KnownWord[] = [];
      for (let offset = 0; offset + 4 <= range.size; offset += 4) {
        const word = wordAt(range, offset);
        if (word === undefined) break;
        all.push({ of, offset, word });
      }
      return all;
    });
    const kind: Kind = {
      kernel,
      isAsked,
      costOfRedundancy,
      kernelOf,
      runsOnce: runsOnce(call),
      grid: [...call.grid],
      sizes: ranges.map(({ of, range: { size } }) => ({ of, size })),
      words,
      found: "searching",
      check: undefined,
      undecided: 0,
      atOnce: 0,
    };
    const outputs = call.bound.filter(({ mode }) => mode !== "read");
    const obstacle =
      outputs.length !== 1
        ? "it does not store to exactly one buffer"
        : kind.runsOnce && !this.#defers
          ? "it may load from the buffer to which it stores, and the device decides"
          : undefined;
    if (obstacle !== undefined) this.#leave(kind, obstacle);
    else if (this.#settings.searchesAtOnce) for (const _ of this.#search(kind, dispatch));
    else this.#searchLater(kind, dispatch);
    return kind;
  }

  /** Looks for sums in the dispatches of a kind after all others, with rests for other work. */
  #searchLater(kind: Kind, dispatch: CheckableDispatch): void {
    const before = this.#searching;
    this.#settle(async () => {
      await before;
      await this.#searchAside(kind, dispatch);
    });
  }

  async #searchAside(kind: Kind, dispatch: CheckableDispatch): Promise<void> {
    const search = this.#search(kind, dispatch);
    for (;;) {
      const start = performance.now();
      if (search.next().done) break;
      const rest = this.#waiting > 0 ? 0 : (performance.now() - start) * (1 / searchShare - 1);
      await new Promise((resolve) => setTimeout(resolve, rest));
    }
  }

  /** Looks for sums in the dispatches of a kind. Pauses now and then. */
  *#search(kind: Kind, { call }: CheckableDispatch): Generator<void, void, void> {
    const { kernel, bound } = call;
    const { source, entryPoint, constants } = kernel;
    const read = new Map<string, KnownWord>();
    const words = new Map(kind.words.map((each) => [keyOf(each.of, each.offset), each]));
    const dispatch: KnownDispatch = {
      grid: kind.grid,
      sizeOf: (of) => kind.sizes.find((each) => isSame(each.of, of))?.size,
      wordAt: (of, offset) => {
        const key = keyOf(of, offset);
        const word = words.get(key);
        if (word) read.set(key, word);
        return word?.word;
      },
    };
    try {
      const reference = { source, ...(entryPoint && { entryPoint }), constants };
      const found = yield* searchOrDefect(reference, dispatch);
      kind.words = [...read.values()];
      if ("reason" in found) return this.#leave(kind, found.reason);
      const { sums, activation } = found;
      const { of } = sums.output;
      const output = bound.find((each) => isSame(each.of, of))!.place as BufferRange;
      const reason = obstacleTo(found, output.size) ?? this.#reasonAgainst(kind, found);
      if (reason !== undefined) return this.#leave(kind, reason);
      yield;
      const options = { decides: true, activation };
      const make = () => new SumsPipelines(this.#device, sums, growthOf(activation) * output.size, options);
      const { made: pipelines, failed } = makeSilently(this.#device, make);
      const keptSums = activation && { values: activation.values, of, growth: growthOf(activation) };
      const variants = keptSums ? this.#variantsWith(keptSums, kind) : usualVariants;
      const known = { sums, activation, pipelines, variants };
      if (this.#settings.searchesAtOnce) kind.found = known;
      this.#settle(async () => {
        const error = await failed;
        if (error) return this.#leave(kind, error.message);
        kind.found = known;
        if (!kind.check) this.#make(kind, known);
      });
    } catch (error) {
      // Sums that no check can have leave the kernel to redundancy.
      this.#leave(kind, messageOf(error));
    }
  }

  /** Returns the variants of a kernel that keep sums. All kinds of its dispatches share them. */
  #variantsWith(keptSums: KeptSums, { kernel }: Kind): Found["variants"] {
    const known = this.#keeping.get(kernel) ?? new Map<string, Found["variants"]>();
    this.#keeping.set(kernel, known);
    const key = JSON.stringify(keptSums);
    const variants = known.get(key) ?? {
      alone: { run: "alone", keptSums },
      again: { run: "again", keptSums },
    };
    known.set(key, variants);
    return variants;
  }

  /** Returns the reason why a check of these sums does not pay, if there is one. */
  #reasonAgainst({ isAsked, costOfRedundancy }: Kind, found: FoundSums): string | undefined {
    if (isAsked) return undefined;
    const { leastMultiplications } = this.#settings;
    return reasonAgainstCheck(found, { costOfRedundancy, leastMultiplications, defers: this.#defers });
  }
}

/** Looks for sums. A defect of the search is a reason that says so, and harms no program. */
function* searchOrDefect(...given: Parameters<typeof searchSums>): ReturnType<typeof searchSums> {
  try {
    return yield* searchSums(...given);
  } catch (error) {
    return { reason: `a defect of Belay ended the search, please report it: ${messageOf(error)}` };
  }
}

/** Returns the bytes of sums for each byte of results. */
const growthOf = (activation: Activation | undefined): 1 | 2 => (activation?.format === "f16" ? 2 : 1);

/** Returns the reason why a dispatch with these sums cannot be checked, if there is one. */
function obstacleTo({ sums, activation }: FoundSums, outputBytes: number): string | undefined {
  const { output, first, count } = sums;
  const bytes = bitsOf(activation?.format ?? output.format) / 8;
  if (first === 0 && count * bytes === outputBytes) return undefined;
  return `its results fill ${count * bytes} of the ${outputBytes} bytes of "${output.name}"`;
}

/** Describes a repair in one line. */
function describeRepair({ kernel, result, difference, bound, count }: Omit<Repair, "message">): string {
  const more = count > 1 ? `, and ${count - 1} more dispatches` : "";
  return result === undefined
    ? `the check of kernel "${kernel}" did not run, so a dispatch was computed again${more}`
    : `kernel "${kernel}" computed wrong sums: weighted results from number ${result} on differed by ${difference}, and may differ by ${bound} (computed again${more})`;
}

/** The diagnostics about dispatches that are not checked. */
const gaps = {
  "not-checked-by-algebra": (reason: string, isAsked: boolean) =>
    (isAsked ? warning : info)(
      "not-checked-by-algebra",
      `dispatches are not checked by algebra: ${reason}`,
      nowhere,
    ),
  "sums-refuted": () =>
    warning(
      "sums-refuted",
      "a check by algebra and redundancy disagreed, so such dispatches are no longer checked",
      nowhere,
    ),
};

/** Returns true if a dispatch may load from its output. Then it cannot run twice in a row. */
const runsOnce = ({ bound }: DispatchCall): boolean => bound.some(({ mode }) => mode === "read_write");

/** Returns the range that is bound at a binding point. */
function placeAt({ bound }: DispatchCall, of: BindingPoint): BufferRange | undefined {
  const place = bound.find((each) => isSame(each.of, of))?.place;
  return place && "buffer" in place ? place : undefined;
}

/** Returns true if the words on which the answer for a kind depends are as they were. */
const isStill = ({ words }: Kind, call: DispatchCall, wordAt: WordAt): boolean =>
  words.every(({ of, offset, word }) => {
    const range = placeAt(call, of);
    return range !== undefined && wordAt(range, offset) === word;
  });

const isSame = (a: BindingPoint, b: BindingPoint) => a.group === b.group && a.binding === b.binding;

const keyOf = ({ group, binding }: BindingPoint, offset: number) => `${group} ${binding} ${offset}`;
