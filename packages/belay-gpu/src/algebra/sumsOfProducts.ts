/**
 * Finds kernels that store sums of products, such as products of matrices and convolutions. Some
 * workgroups are executed with symbols in place of floats, and maps of addresses are fitted to what
 * they store.
 *
 * The answer is a hypothesis: other workgroups may compute something else. A check of real results
 * shows that (`checkKernels.ts`).
 */
import { type BindingAccess, type BindingPoint, bindingAccesses } from "../analysis/bindings.ts";
import { reachableFrom } from "../analysis/callGraph.ts";
import type { KnownDispatch } from "../analysis/filledBytes/filledBytes.ts";
import { matrixOperations } from "../analysis/opaqueAccesses.ts";
import type { Span } from "../diagnostics/diagnostic.ts";
import {
  executorOf,
  type ReferenceKernel,
  type ReferenceSource,
  type ResolvedKernel,
  resolveKernel,
  type UnsupportedConstruct,
  whyUnsupported,
} from "../reference/referenceKernel.ts";
import { subgroupMatrices } from "../reference/subgroupMatrices.ts";
import { sameType } from "../wgsl/resolve/index.ts";
import {
  Activated,
  type Activation,
  bytesOfNumbers,
  type Candidate,
  candidatesIn,
  freePoints,
  keeping,
  refuseOtherDecisions,
} from "./activations.ts";
import { type Digit, type DigitMap, digitsOf, divisorsOf, fitDigits, type KnownAddresses } from "./digits.ts";
import { functionOfSum } from "./functionOfSum.ts";
import { NoFit, NoForm } from "./noFit.ts";
import { type Operand, operandOf } from "./operand.ts";
import { SymbolicBuffer } from "./symbolicBuffer.ts";
import {
  type Answers,
  bitsOf,
  dependsOnData,
  isPacked,
  type Precision,
  type Source,
  type SymbolicSum,
  Symbols,
  type Term,
} from "./symbols.ts";

/**
 * A digit of the results' index, or of the terms' index: the number of its values, and how far one
 * step moves the address in each operand.
 */
export interface Dimension {
  /** The number of values. */
  readonly size: number;
  /** The step in the left operand. */
  readonly left: number;
  /** The step in the right operand. */
  readonly right: number;
  /** The step in the operand that is added. Always 0 for terms. */
  readonly added: number;
  /** The step in the operand of the scales. */
  readonly scale: number;
}

/**
 * A condition that a term exists, as at the edges of a padded image: `low <= scale * coordinate +
 * digit of the term <= high`. The coordinate of result `i` is `floor(i / unit) % size`.
 */
export interface Window {
  /** The divisor of the result's number. */
  readonly unit: number;
  /** The number of values of the coordinate. */
  readonly size: number;
  /** The number of the term's dimension. */
  readonly term: number;
  /** The factor of the coordinate. */
  readonly scale: number;
  /** The least sum of an existing term. */
  readonly low: number;
  /** The largest sum of an existing term. */
  readonly high: number;
}

/**
 * A dispatch that stores sums of products. Result `i` is the sum over all terms `t` of
 * `coefficient * left[…] * right[…]`, and of `addedScale * added[…]` if there is such a buffer. One
 * factor may be an integer times a scale.
 */
export interface SumsOfProducts {
  /** The buffer of the results. They lie one after the other, from `first` on. */
  readonly output: Operand;
  /** The address of the first result. */
  readonly first: number;
  /** The number of results. */
  readonly count: number;
  /** The first factors. Only they may be missing at edges. */
  readonly left: Operand;
  /** The second factors. */
  readonly right: Operand;
  /** The numbers that are added, such as a bias, or the results before the dispatch. */
  readonly added?: Operand;
  /** The scales of the integers in one of the factors. */
  readonly scale?: Operand & { readonly scaled: "left" | "right" };
  /** The addresses of the first result's first term. */
  readonly start: Omit<Dimension, "size">;
  /** The dimensions of the results, fastest first. */
  readonly results: readonly Dimension[];
  /** The dimensions of the terms, fastest first. */
  readonly terms: readonly Dimension[];
  /** The conditions of terms. All terms exist if there are none. */
  readonly windows: readonly Window[];
  /** The factor of all products. */
  readonly coefficient: number;
  /** The factor of all numbers that are added. */
  readonly addedScale: number;
  /** The most roundings of one term on its way into the result. */
  readonly roundings: number;
  /** The largest factor, of at least 1, by which numbers in between are scaled up or down. */
  readonly scaling: number;
  /** The format in which the kernel adds up. */
  readonly precision: Precision;
}

/** The reason why a dispatch is not known to store sums of products. */
export interface Unrecognized {
  /** The reason, such as `its terms have weights`. */
  readonly reason: string;
}

/** The most iterations of loops and calls in one workgroup. */
const mostIterations = 2 ** 22;
/** The most terms of all sampled results together. */
const mostTerms = 2 ** 20;
/** The nodes of expressions after which no further workgroup is sampled, and the least of these. */
const mostNodes = 2 ** 21;
const leastWorkgroups = 6;
/** The nodes of expressions after which no further result at an edge is sampled. */
const mostEdgeNodes = 2 ** 24;
/** The workgroups at irregular places that are sampled where that is quick. */
const moreWorkgroups = 16;
/**
 * The roundings to nearest that bound a rounding of a matrix unit, which truncates sums of four
 * products and more. Source: M. Fasi et al., "Numerical behavior of NVIDIA tensor cores", 2021.
 */
const matrixUnit = 3;
/**
 * The largest factor by which numbers may be scaled on their way into a result. Numbers in between
 * are then so much closer to the least and the largest normal ones.
 */
const mostScaling = 2 ** 64;
/** The most executions of a workgroup, on different paths. */
const mostPaths = 8;
/** The most results that are sampled of each workgroup, and the most terms of these. */
const mostOfWorkgroup = 48;
const mostTermsOfWorkgroup = mostTerms / 8;

/** A sampled result. */
interface Sample {
  /** The offset in the output, in numbers. */
  readonly offset: number;
  readonly sum: SymbolicSum;
}

/** Returns the sums of products that a dispatch stores, or the reason why none are known. */
export function findSumsOfProducts(
  kernel: ReferenceSource,
  dispatch: KnownDispatch,
): SumsOfProducts | Unrecognized {
  const search = searchSumsOfProducts(kernel, dispatch);
  for (;;) {
    const { done, value } = search.next();
    if (done) return value;
  }
}

/** Sums of products, and the function of them that a dispatch stores if it does not store them. */
export interface FoundSums {
  readonly sums: SumsOfProducts;
  readonly activation?: Activation;
}

/**
 * Looks for the sums of products that a dispatch stores, as `findSumsOfProducts` does. The search
 * pauses after each workgroup that it executes.
 */
export function* searchSumsOfProducts(
  kernel: ReferenceSource,
  dispatch: KnownDispatch,
): Generator<void, SumsOfProducts | Unrecognized, void> {
  try {
    return yield* searchIn(kernel.source, resolvedOf(kernel), dispatch);
  } catch (error) {
    return reasonOf(error);
  }
}

/** Looks for sums of products that a dispatch stores, or of which it stores one function. */
export function* searchSums(
  kernel: ReferenceSource,
  dispatch: KnownDispatch,
): Generator<void, FoundSums | Unrecognized, void> {
  try {
    const { source } = kernel;
    const resolved = resolvedOf(kernel);
    try {
      const sums = yield* searchIn(source, resolved, dispatch);
      // Sums in f32 may be rounded to f16 later on.
      const found = sums.precision === "f16" && (yield* searchActivated(source, resolved, dispatch));
      return found || { sums };
    } catch (error) {
      if (!(error instanceof NoForm)) throw error;
      const found = yield* searchActivated(source, resolved, dispatch);
      if (!found) throw error;
      return found;
    }
  } catch (error) {
    return reasonOf(error);
  }
}

function reasonOf(error: unknown): Unrecognized {
  if (error instanceof NoFit) return { reason: error.message };
  throw error;
}

/** Returns a kernel with its types. Throws `NoFit` if it has an error. */
function resolvedOf(kernel: ReferenceSource): ResolvedKernel {
  try {
    return resolveKernel(kernel);
  } catch (error) {
    throw error instanceof TypeError ? new NoFit(error.message) : error;
  }
}

/** Returns the buffers that a kernel writes. */
const outputsOf = ({ program, declaration }: ResolvedKernel): BindingAccess[] =>
  bindingAccesses(program, declaration).filter(({ access }) => access !== "read");

/** Looks for sums of which a dispatch stores functions. Returns undefined if none are in sight. */
function* searchActivated(
  source: string,
  resolved: ResolvedKernel,
  dispatch: KnownDispatch,
): Generator<void, FoundSums | undefined, void> {
  const [output] = outputsOf(resolved);
  if (output?.access !== "write") return undefined;
  const values = yield* searchValues(resolved, dispatch, output);
  if (values.length === 0) return undefined;
  const bindings = bindingAccesses(resolved.program, resolved.declaration);
  const [at] = freePoints(bindings, 1) as [BindingPoint];
  const kept = keeping(resolved, output, [{ values, at }]);
  const activated = new Activated(output, at, values);
  const sums = yield* searchIn(source, kept, withSums(dispatch, resolved, output, [at]), activated);
  return { sums, activation: activated.function(bindings, sums) };
}

/**
 * Looks for the sums that a kernel stores, or that it keeps beside functions of them. Throws
 * `NoFit` if there are none.
 */
function* searchIn(
  source: string,
  resolved: ResolvedKernel,
  dispatch: KnownDispatch,
  activated?: Activated,
): Generator<void, SumsOfProducts, void> {
  const execution = executionOf(resolved, dispatch, activated !== undefined);
  if ("construct" in execution) throw new NoFit(whyUnsupported(source, execution));
  const outputs = execution.bindings.filter(
    ({ access, ...of }) => access !== "read" && (!activated || isAmong([activated.results], of)),
  );
  const [output] = outputs;
  if (!output || outputs.length > 1) throw new NoFit("it does not store to exactly one buffer");
  yield;
  const sampler = new Sampler(execution, output, activated);
  const { program, declaration } = resolved;
  const hasMatrices = matrixOperations(program, reachableFrom(program, [declaration])).length > 0;
  yield* sampler.sampleWorkgroups();
  for (;;) {
    const samples = sampler.results();
    const { bindings } = execution;
    const found = new Fit(bindings, dispatch, output, samples, hasMatrices ? matrixUnit : 1).result();
    if (!("unclear" in found)) return found;
    yield;
    if (!sampler.sampleResult(found.unclear)) throw new NoFit("it is not clear where its terms are missing");
  }
}

/**
 * Looks for the values of the source that are sums of which results are functions. One workgroup
 * tells which of the candidates they are.
 */
function* searchValues(
  resolved: ResolvedKernel,
  dispatch: KnownDispatch,
  output: BindingAccess,
): Generator<void, readonly Span[], void> {
  const candidates = candidatesIn(resolved, output);
  if (candidates.length === 0) return [];
  const bindings = bindingAccesses(resolved.program, resolved.declaration);
  const points = freePoints(bindings, candidates.length);
  const kept = keeping(
    resolved,
    output,
    candidates.map(({ span }, i) => ({ values: [span], at: points[i]! })),
  );
  const execution = executionOf(kept, withSums(dispatch, resolved, output, points), true);
  if ("construct" in execution) return [];
  yield;
  try {
    const found = new Set<Candidate>();
    // Each path of a function may have a value of its own, or a constant as its result.
    for (const others of [false, true]) {
      const buffers = execution.run([0, 0, 0], { known: new Map(), others });
      const kept = new Map(candidates.map((each, i) => [each, buffers(points[i]!).stores]));
      addValues(found, execution, buffers(output), kept, bindings.indexOf(output));
      if (execution.symbols.decisions.length === 0) break;
      yield;
    }
    const [first] = found;
    const isAlike = ({ type }: Candidate) => sameType(type, first!.type);
    return [...found].every(isAlike) ? [...found].map(({ span }) => span) : [];
  } catch (error) {
    if (error instanceof NoFit) return [];
    throw error;
  }
}

/**
 * Adds those candidates that are sums of which the results of a workgroup are functions. `kept` has
 * the values of the candidates beside results, and `binding` is the number of the results' binding.
 */
function addValues(
  found: Set<Candidate>,
  { symbols }: Execution,
  { stores, format }: SymbolicBuffer,
  kept: ReadonlyMap<Candidate, ReadonlyMap<number, number>>,
  binding: number,
): void {
  for (const offset of sampledOffsets([...stores.keys()].sort((a, b) => a - b))) {
    const possible = [...kept].flatMap(([candidate, values]) => {
      const sum = values.get((offset * bitsOf("f32")) / bitsOf(format));
      if (sum === undefined) return [];
      const from = functionOfSum(symbols, stores.get(offset)!, new Set([sum]), format);
      return from?.usesSum ? [{ candidate, sum, others: from.loaded.length }] : [];
    });
    // Several statements may store results, each after a sum of its own.
    const orderOf = ({ candidate, others }: (typeof possible)[number]) =>
      2 * others + (found.has(candidate) ? 0 : 1);
    const chosen = possible
      .sort((a, b) => orderOf(a) - orderOf(b))
      .find(({ sum: number }) => {
        const sum = symbols.sumOf(number, mostTermsOfWorkgroup);
        return sum && !sum.isHalf && hasForm([{ offset: 0, sum }], binding);
      });
    if (chosen) found.add(chosen.candidate);
  }
}

/** Returns a dispatch with buffers for sums at some points, beside the results in an output. */
function withSums(
  dispatch: KnownDispatch,
  { program }: ResolvedKernel,
  output: BindingPoint,
  points: readonly BindingPoint[],
): KnownDispatch {
  const bytes = bytesOfNumbers(program, output);
  return {
    grid: dispatch.grid,
    sizeOf: (each) => {
      const size = dispatch.sizeOf(isAmong(points, each) ? output : each);
      return size && isAmong(points, each) ? (size * 4) / bytes : size;
    },
    wordAt: (...place) => dispatch.wordAt(...place),
  };
}

const isAmong = (points: readonly BindingPoint[], { group, binding }: BindingPoint) =>
  points.some((each) => each.group === group && each.binding === binding);

/** Executes workgroups of a dispatch with symbols. */
class Execution {
  readonly symbols: Symbols;
  readonly bindings: readonly BindingAccess[];
  readonly dispatch: KnownDispatch;
  readonly #reference: ReferenceKernel;

  constructor(
    symbols: Symbols,
    bindings: readonly BindingAccess[],
    dispatch: KnownDispatch,
    reference: ReferenceKernel,
  ) {
    this.symbols = symbols;
    this.bindings = bindings;
    this.dispatch = dispatch;
    this.#reference = reference;
  }

  /** Executes a workgroup, and returns a function that returns its buffers. */
  run(workgroup: Workgroup, answers?: Answers): (of: BindingPoint) => SymbolicBuffer {
    const { grid } = this.dispatch;
    this.symbols.clear(answers);
    const buffers = this.bindings.map(({ group, binding, kind, name }, i) => {
      const of = { group, binding };
      const size = this.dispatch.sizeOf(of);
      if (size === undefined) throw new NoFit(`the size of "${name}" is not known`);
      const wordAt = (offset: number) => this.dispatch.wordAt(of, offset);
      const known = kind === "uniform" ? wordAt : undefined;
      const buffer = new SymbolicBuffer(this.symbols, i, size - (size % 4), known);
      return { group, binding, buffer };
    });
    const { undecided } = this.#reference.run({
      workgroups: grid as [number, number, number],
      buffers,
      only: [workgroup],
      iterations: mostIterations,
    });
    if (undecided) throw new (undecided.reason === dependsOnData ? NoForm : NoFit)(undecided.reason);
    return (of) => buffers.find((each) => isAmong([each], of))!.buffer;
  }
}

/** Returns what executes workgroups. With `followsFunctions`, results may be functions of sums. */
function executionOf(
  resolved: ResolvedKernel,
  dispatch: KnownDispatch,
  followsFunctions: boolean,
): Execution | UnsupportedConstruct {
  const symbols = new Symbols(followsFunctions);
  const bindings = bindingAccesses(resolved.program, resolved.declaration);
  const hasIntegers = bindings.some(({ kind, scalar }) => kind !== "uniform" && scalar !== "f32");
  const { onUnknown } = symbols;
  // Kernels load beyond the end what they do not use.
  const parts = {
    matrices: subgroupMatrices,
    outOfBounds: () => {},
    ...((hasIntegers || followsFunctions) && { onUnknown }),
  };
  const reference = executorOf(resolved, "nearest", (format) => symbols.arithmetic(format), parts);
  return "construct" in reference ? reference : new Execution(symbols, bindings, dispatch, reference);
}

/** The sampled results, and their format. */
interface SampledResults {
  readonly format: Precision;
  readonly samples: readonly Sample[];
  /** The least offset of a result, and the number of offsets up to the largest. */
  readonly least: number;
  readonly count: number;
}

/** The number of a result that tells where terms are missing. */
interface Unclear {
  readonly unclear: number;
}

/** A place in a grid. */
type Workgroup = readonly [number, number, number];

/** Samples results of workgroups. */
class Sampler {
  readonly #execution: Execution;
  readonly #symbols: Symbols;
  readonly #output: BindingAccess;
  readonly #activated: Activated | undefined;
  #format: Precision = "f32";
  readonly #samples: Sample[] = [];
  /** The grid of the workgroups with results. */
  readonly #grid: [number, number, number];
  /** The places of the executed workgroups in the grid. */
  readonly #executed = new Set<string>();
  /** The least offset that each workgroup stores to, by its place. */
  readonly #firsts = new Map<string, number>();
  #least = Number.POSITIVE_INFINITY;
  #most = 0;
  #terms = 0;
  #nodes = 0;

  constructor(execution: Execution, output: BindingAccess, activated: Activated | undefined) {
    this.#execution = execution;
    this.#symbols = execution.symbols;
    this.#grid = [...execution.dispatch.grid] as [number, number, number];
    this.#output = output;
    this.#activated = activated;
  }

  /** Samples results of workgroups at different places. */
  *sampleWorkgroups(): Generator<void, void, void> {
    yield* this.#findEnds();
    for (const [i, workgroup] of sampledWorkgroups(this.#grid).entries()) {
      const isLong = this.#nodes > mostNodes || this.#terms > mostTerms / 2;
      if (i >= leastWorkgroups && isLong) break;
      if (this.#executed.has(workgroup.join())) continue;
      this.#sample(workgroup, sampledOffsets);
      yield;
    }
    if (this.#samples.length === 0) throw new NoFit("the sampled workgroups store nothing");
    this.#nodes = 0;
  }

  /** Finds where the workgroups with results end, as a grid may have more than these. */
  *#findEnds(): Generator<void, void, void> {
    this.#sample([0, 0, 0], sampledOffsets);
    yield;
    for (const axis of [0, 1, 2]) this.#grid[axis] = 1 + (yield* this.#lastOn([0, 0, 0], axis));
    // A grid of rows that fill a line has its end within its last row.
    const last = this.#grid.map((count) => count - 1) as [number, number, number];
    for (const axis of [0, 1, 2]) {
      if (this.#hasResults(last)) break;
      const first = last.map((place, i) => (i === axis ? 0 : place)) as [number, number, number];
      yield* this.#lastOn(first, axis);
    }
  }

  /** Returns the last place with results on a line from a workgroup that has some. */
  *#lastOn(from: Workgroup, axis: number): Generator<void, number, void> {
    const at = (place: number) =>
      from.map((each, i) => (i === axis ? place : each)) as [number, number, number];
    let low = from[axis]!;
    let high = this.#grid[axis]! - 1;
    // Most grids end with a workgroup that has results.
    for (let place = high; low < high; place = Math.ceil((low + high) / 2)) {
      if (this.#hasResults(at(place))) low = place;
      else high = place - 1;
      yield;
    }
    return low;
  }

  /** Returns true if a workgroup stores results. Samples some of them. */
  #hasResults(workgroup: Workgroup): boolean {
    if (!this.#executed.has(workgroup.join())) this.#sample(workgroup, sampledOffsets);
    return this.#firsts.has(workgroup.join());
  }

  /** Returns the sampled results. */
  results(): SampledResults {
    const count = this.#most - this.#least + 1;
    return { format: this.#format, samples: this.#samples, least: this.#least, count };
  }

  /** Samples the result with a number. Returns false if no workgroup is known to store it. */
  sampleResult(index: number): boolean {
    const offset = this.#least + index;
    if (this.#nodes > mostEdgeNodes || this.#samples.some((each) => each.offset === offset)) return false;
    const isResult = (each: number, bytes: number) => each / bytes === offset;
    const stored = this.#sample(this.#workgroupOf(offset), (offsets, bytes) =>
      offsets.filter((each) => isResult(each, bytes)),
    );
    return stored.length > 0;
  }

  /** Returns the workgroup that stores a result, if steps in the grid move results equally far. */
  #workgroupOf(offset: number): Workgroup {
    const origin = this.#firsts.get("0,0,0") ?? 0;
    const steps = [0, 1, 2].map((axis) => {
      const last = this.#grid[axis]! - 1;
      const corner = [0, 0, 0].map((_, i) => (i === axis ? last : 0)).join();
      return Math.round(((this.#firsts.get(corner) ?? origin) - origin) / Math.max(1, last));
    });
    const workgroup: [number, number, number] = [0, 0, 0];
    let rest = offset - origin;
    for (const axis of [0, 1, 2].sort((a, b) => steps[b]! - steps[a]!)) {
      const step = steps[axis]!;
      if (step <= 0) continue;
      workgroup[axis] = Math.max(0, Math.min(Math.floor(rest / step), this.#grid[axis]! - 1));
      rest -= workgroup[axis]! * step;
    }
    return workgroup;
  }

  /** Executes a workgroup, samples some of its results, and returns their offsets in numbers. */
  #sample(
    workgroup: Workgroup,
    chosen: (offsets: readonly number[], bytes: number) => readonly number[],
  ): readonly number[] {
    const buffers = this.#execution.run(workgroup);
    this.#executed.add(workgroup.join());
    const output = buffers(this.#output);
    const { stores, format } = this.#activated ? buffers(this.#activated.at) : output;
    this.#nodes += this.#symbols.count;
    this.#format = format;
    const bytes = bitsOf(format) / 8;
    const offsets = [...stores.keys()].sort((a, b) => a - b);
    if (offsets.length > 0) this.#firsts.set(workgroup.join(), offsets[0]! / bytes);
    for (const offset of offsets) {
      this.#least = Math.min(this.#least, offset / bytes);
      this.#most = Math.max(this.#most, offset / bytes);
    }
    const before = this.#terms;
    const sampled: number[] = [];
    let longest = 0;
    for (const offset of chosen(offsets, bytes)) {
      if (this.#terms - before + longest > mostTermsOfWorkgroup) break;
      const sum = this.#symbols.sumOf(stores.get(offset)!, mostTerms - this.#terms, format);
      if (!sum) throw new NoForm("its results are no sums of products, or too long ones");
      if (sum.hidesNumbers) throw new NoFit("numbers cancel in it that its results do not have");
      if (!(scalingOf(sum) <= mostScaling)) throw new NoFit("it scales numbers too far up and down");
      longest = Math.max(longest, sum.terms.length);
      this.#terms += sum.terms.length;
      this.#samples.push({ offset: offset / bytes, sum });
      sampled.push(offset / bytes);
    }
    if (this.#activated) this.#followPaths(this.#activated, workgroup, buffers, sampled);
    return sampled;
  }

  /** Looks at results of a workgroup on all paths, of which one was executed. */
  #followPaths(
    activated: Activated,
    workgroup: Workgroup,
    executed: (of: BindingPoint) => SymbolicBuffer,
    addresses: readonly number[],
  ): void {
    let buffers = executed;
    for (let paths = 1; ; paths++) {
      const [results, sums] = [buffers(this.#output), buffers(activated.at).stores];
      refuseOtherDecisions(this.#symbols, new Set(sums.values()));
      for (const address of addresses) {
        const number = results.stores.get((address * bitsOf(results.format)) / 8);
        const sum = sums.get((address * bitsOf("f32")) / 8);
        activated.note(this.#symbols, { address, number, format: results.format }, sum);
      }
      const answers = activated.missing();
      if (!answers) break;
      if (paths === mostPaths) throw new NoFit("its activation has too many paths");
      buffers = this.#execution.run(workgroup, answers);
      this.#nodes += this.#symbols.count;
    }
    activated.conclude();
  }
}

/** Returns workgroups at the corners of a grid, some between, and those next to its origin. */
function sampledWorkgroups(grid: readonly number[]): Workgroup[] {
  const [x, y, z] = grid.map((count) => count - 1) as [number, number, number];
  const middle = (last: number, by: number) => Math.floor(last * by);
  const chosen: Workgroup[] = [
    [0, 0, 0],
    [x, y, z],
    [middle(x, 0.38), middle(y, 0.62), middle(z, 0.5)],
    [x, 0, 0],
    [0, y, 0],
    [0, 0, z],
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
    ...Array.from({ length: moreWorkgroups }, (_, i) => {
      const [u, v, w] = [0.618, 0.755, 0.57].map((by) => ((i + 1) * by) % 1) as [number, number, number];
      return [middle(x, u), middle(y, v), middle(z, w)] as const;
    }),
  ];
  const inside = chosen.filter(([i, j, k]) => i <= x && j <= y && k <= z);
  return [...new Map(inside.map((each) => [each.join(), each])).values()];
}

/** Returns the first offsets, the last one, and some between. */
function sampledOffsets(offsets: readonly number[]): number[] {
  const chosen = new Set<number>();
  for (let i = 0; i < Math.min(4, offsets.length); i++) chosen.add(i);
  chosen.add(offsets.length - 1);
  const gaps = offsets.flatMap((offset, i) => (i > 0 && offset > offsets[i - 1]! + 4 ? [i, i - 1] : []));
  for (const each of gaps.slice(0, 16)) chosen.add(each);
  const left = mostOfWorkgroup - chosen.size;
  for (let i = 0; i < left; i++) chosen.add(Math.floor((i * 0.618034 * offsets.length) % offsets.length));
  return [...chosen].filter((i) => offsets[i] !== undefined).map((i) => offsets[i]!);
}

/**
 * Returns the indices at `count / q`, and those before, for each prime power `q` that divides
 * `count`. They tell two coordinates apart whose different periods divide `count`. Not both of them
 * begin anew at all these indices, as some `q` has more of a prime than one period leaves.
 */
function edgesOf(count: number): number[] {
  const powers = divisorsOf(count).filter((each) => each > 1 && isPrimePower(each));
  return powers.flatMap((power) => [count / power, count / power - 1]);
}

/** Returns true for a power of one prime. */
function isPrimePower(number: number): boolean {
  const prime = divisorsOf(number)[1]!;
  return prime ** Math.round(Math.log(number) / Math.log(prime)) === number;
}

/** The addresses of a product's two factors, and of the scale of one. */
type Pair = readonly [left: number, right: number, scale: number];

/** The sources of the numbers of a sum, and their factors. */
interface Parts {
  readonly left: Source;
  readonly right: Source;
  readonly scale: Source | undefined;
  readonly added: Source | undefined;
  readonly addedScale: number;
  readonly coefficient: number;
}

/** Fits maps of addresses to sampled results. */
class Fit {
  readonly #bindings: readonly BindingAccess[];
  readonly #dispatch: KnownDispatch;
  readonly #output: BindingAccess;
  readonly #format: Precision;
  readonly #samples: readonly Sample[];
  readonly #least: number;
  readonly #count: number;
  /** The roundings to nearest that bound one rounding of the kernel. */
  readonly #unit: number;

  constructor(
    bindings: readonly BindingAccess[],
    dispatch: KnownDispatch,
    output: BindingAccess,
    { format, samples, least, count }: SampledResults,
    unit: number,
  ) {
    this.#unit = unit;
    this.#bindings = bindings;
    this.#dispatch = dispatch;
    this.#output = output;
    this.#format = format;
    this.#samples = samples;
    this.#least = least;
    this.#count = count;
  }

  /** Returns the fitted sums, or the number of a result on which they depend. Throws `NoFit`. */
  result(): SumsOfProducts | Unclear {
    const parts = partsOf(this.#samples, this.#bindings.indexOf(this.#output));
    const { left, right } = parts;
    try {
      return this.#fit(parts);
    } catch (error) {
      // Terms may be missing at the edges of one operand, which has to be the left one.
      if (!(error instanceof NoFit) || left === right) throw error;
      try {
        return this.#fit({ ...parts, left: right, right: left });
      } catch {
        throw error;
      }
    }
  }

  #fit({ left, right, scale, added, addedScale, coefficient }: Parts): SumsOfProducts | Unclear {
    const sums = this.#samples.map(({ offset, sum }) => ({
      index: offset - this.#least,
      pairs: pairsOf(sum, left, scale),
      plus: sum.terms.flatMap(({ factors }) => (factors.length === 1 ? [factors[0]!.address] : [])),
    }));
    if (added && sums.some(({ plus }) => plus.length !== 1))
      throw new NoFit("it adds a number to some results only, or several");
    const isInPlace = added?.buffer === this.#bindings.indexOf(this.#output);
    if (isInPlace && sums.some(({ index, plus }) => plus[0] !== this.#least + index))
      throw new NoFit("it adds results to other ones");
    const bytes = this.#dispatch.sizeOf(this.#bindings[right.buffer]!)!;
    const pattern = new Pattern(
      sums.map(({ pairs }) => pairs),
      (8 * bytes) / bitsOf(right.format),
    );
    const terms = pattern.map();
    const facts: KnownAddresses[] = [];
    const present: { readonly index: number; readonly terms: ReadonlySet<number> }[] = [];
    for (const { index, pairs, plus } of sums) {
      if (pairs.length === 0) throw new NoFit("a result has no terms");
      const base = pattern.baseOf(pairs);
      facts.push({ index, at: [...base, plus[0] ?? 0] });
      present.push({ index, terms: pattern.numbersOf(pairs, base) });
    }
    const results = fitDigits(facts, this.#count);
    if (!results) throw new NoFit("the addresses of its results have no pattern");
    const windows = windowsOf(results.digits, terms.digits, present, edgesOf(this.#count));
    if (!windows) throw new NoFit("some of its terms are missing without a pattern");
    if ("unclear" in windows) return windows;
    const operand = (each: Source) => operandOf(this.#bindings, each);
    const isHalf = this.#samples.some(({ sum }) => sum.isHalf);
    const all = this.#samples.flatMap(({ sum }) => sum.terms);
    return {
      output: operand({ buffer: this.#bindings.indexOf(this.#output), format: this.#format, plus: 0 }),
      first: this.#least,
      count: this.#count,
      left: operand(left),
      right: operand(right),
      ...(added && { added: operand(added) }),
      ...(scale && { scale: { ...operand(scale), scaled: scaledOf(left, right, results.digits) } }),
      start: stepsOf(results.start),
      results: results.digits.map(dimensionOf),
      terms: terms.digits.map(dimensionOf),
      windows,
      coefficient,
      addedScale,
      scaling: this.#samples.reduce((most, { sum }) => Math.max(most, scalingOf(sum)), 1),
      roundings: this.#unit * all.reduce((most, each) => Math.max(most, each.roundings), 0),
      precision: isHalf ? "f16" : "f32",
    };
  }
}

/** Returns true if sums may be checked, as far as their terms tell. */
function hasForm(samples: readonly Sample[], output: number): boolean {
  try {
    partsOf(samples, output);
    return true;
  } catch (error) {
    if (error instanceof NoFit) return false;
    throw error;
  }
}

/**
 * Returns the sources of the factors, of single numbers that are added, and the coefficients.
 * Throws `NoForm` where the results are no such sums. `output` is the number of their binding.
 */
function partsOf(samples: readonly Sample[], output: number): Parts {
  const terms = samples.flatMap(({ sum }) => sum.terms);
  const products = terms.filter(isProduct);
  const singles = terms.filter(({ factors }) => factors.length === 1);
  if (products.length === 0) throw new NoForm("its results have no products of loaded numbers");
  if (terms.some(({ factors }) => factors.length === 0)) throw new NoForm("it adds constants");
  if (products.some(({ factors }) => factors.some(({ source }) => source.buffer === output)))
    throw new NoForm("its results are factors of others");
  const all = [...new Set(products.flatMap(({ factors }) => factors.map(({ source }) => source)))];
  const [{ factors: first, coefficient }] = products as [Term];
  const isAlike = ({ factors }: Term) =>
    factors.length === first.length && all.every((each) => factors.some(({ source }) => source === each));
  if (all.length > first.length || !products.every(isAlike))
    throw new NoForm("its products have factors of several buffers");
  if (first.length > 2 && all.length < first.length) throw new NoForm("its products have three factors");
  const scale = first.length > 2 ? scaleOf(all, samples) : undefined;
  const [left, right = left] = all.filter((each) => each !== scale).sort((x, y) => x.buffer - y.buffer) as [
    Source,
    Source?,
  ];
  const added = [...new Set(singles.map(({ factors }) => factors[0]!.source))];
  if (added.length > 1) throw new NoForm("it adds numbers of several buffers");
  const addedScale = singles[0]?.coefficient ?? 1;
  if (singles.some((each) => each.coefficient !== addedScale))
    throw new NoForm("it scales what it adds by several factors");
  if (products.some((each) => each.coefficient !== coefficient)) throw new NoForm("its terms have weights");
  return { left, right, scale, added: added[0], addedScale, coefficient };
}

/** Returns the largest factor by which numbers of a sum are scaled up or down. */
const scalingOf = ({ least, most }: SymbolicSum): number => Math.max(1 / least, most);

const isProduct = ({ factors }: Term): boolean => factors.length > 1;

/** Returns the addresses of the products of a sum, in ascending order. */
function pairsOf({ terms }: SymbolicSum, left: Source, scale: Source | undefined): Pair[] {
  const pairs = terms.filter(isProduct).map(({ factors }): Pair => {
    const scaling = factors.find(({ source }) => source === scale);
    const [x, y] = factors.filter((each) => each !== scaling);
    const [a, b] = x!.source === left ? [x!, y!] : [y!, x!];
    return [a.address, b.address, scaling?.address ?? 0];
  });
  return pairs.sort((p, q) => p[0] - q[0] || p[1] - q[1]);
}

/** Returns the source of the scales: the one whose numbers most terms of a sum share. */
function scaleOf(sources: readonly Source[], samples: readonly Sample[]): Source {
  const { terms } = samples.reduce((a, b) => (b.sum.terms.length > a.sum.terms.length ? b : a)).sum;
  const countOf = (of: Source) =>
    new Set(
      terms.flatMap(({ factors }) => factors.flatMap((each) => (each.source === of ? each.address : []))),
    ).size;
  return [...sources].sort((a, b) => countOf(a) - countOf(b) || b.format.localeCompare(a.format))[0]!;
}

/** Returns the factor that has scales: integers that change wherever their scales do. */
function scaledOf(left: Source, right: Source, results: readonly Digit[]): "left" | "right" {
  const changes = ([inLeft, inRight]: readonly number[], side: string) =>
    side === "left" ? inLeft : inRight;
  for (const [side, { format }] of [
    ["left", left],
    ["right", right],
  ] as const)
    if (isPacked(format) && results.every(({ steps }) => steps[2] === 0 || changes(steps, side) !== 0))
      return side;
  throw new NoFit("its products have three factors");
}

/** Returns the steps of addresses, by operand. */
const stepsOf = ([left = 0, right = 0, scale = 0, added = 0]: readonly number[]): Omit<
  Dimension,
  "size"
> => ({
  left,
  right,
  added,
  scale,
});

const dimensionOf = ({ size, steps }: Digit): Dimension => ({ size, ...stepsOf(steps) });

/** The addresses of the terms of all results, relative to each result's first term. */
class Pattern {
  /** The terms of a result that has all of them. */
  readonly #terms: readonly Pair[];
  /** The numbers of the terms, by their relative addresses. */
  readonly #numbers = new Map<number, number>();
  /** The first and the last address of a first right factor with which all right factors exist. */
  readonly #first: number;
  readonly #last: number;
  /** The least and the largest address of a first right factor, and the step between them. */
  readonly #rights: { readonly least: number; readonly most: number; readonly step: number };

  /** `rightCount` is the number of right factors. */
  constructor(all: readonly (readonly Pair[])[], rightCount: number) {
    const longest = all.reduce((a, b) => (b.length > a.length ? b : a));
    const [left, right, scale] = longest[0]!;
    this.#terms = longest.map(([a, b, c]) => [a - left, b - right, c - scale]);
    for (const [t, pair] of this.#terms.entries()) this.#numbers.set(keyOf(pair), t);
    const relative = this.#terms.map((pair) => pair[1]);
    this.#first = -relative.reduce((a, b) => Math.min(a, b));
    this.#last = rightCount - 1 - relative.reduce((a, b) => Math.max(a, b));
    const rights = all.flatMap((pairs) => (pairs.length === longest.length ? [pairs[0]![1]] : []));
    const [least, most] = [Math.min(...rights), Math.max(...rights)];
    this.#rights = { least, most, step: rights.reduce((step, each) => divisor(step, each - least), 0) };
  }

  /** Returns the map from the number of a term to its relative addresses. */
  map(): DigitMap {
    const map = fitDigits(
      this.#terms.map((at, index) => ({ index, at })),
      this.#terms.length,
    );
    if (!map) throw new NoFit("the addresses of its terms have no pattern");
    return map;
  }

  /** Returns the addresses of a result's first term, even if this term is missing. */
  baseOf(pairs: readonly Pair[]): Pair {
    const isWhole = pairs.length === this.#terms.length;
    const [left, right, scale] = pairs[0]!;
    const bases = (isWhole ? this.#terms.slice(0, 1) : this.#terms)
      .map(([a, b, c]): Pair => [left - a, right - b, scale - c])
      .filter((base) => this.#mayBegin(base[1]))
      .sort((a, b) => this.#oddityOf(a) - this.#oddityOf(b));
    for (const base of bases)
      if (pairs.every((pair) => this.#numberOf(pair, base) !== undefined)) return base;
    throw new NoFit("the terms of its results have several patterns");
  }

  /** Returns the numbers of the terms that a result has. */
  numbersOf(pairs: readonly Pair[], base: Pair): ReadonlySet<number> {
    return new Set(pairs.map((pair) => this.#numberOf(pair, base)!));
  }

  #numberOf([a, b]: Pair, base: Pair): number | undefined {
    return this.#numbers.get(keyOf([a - base[0], b - base[1], 0]));
  }

  /** Returns false if the first right factor of no result with all terms can be at an address. */
  #mayBegin(right: number): boolean {
    const { least, step } = this.#rights;
    return step === 0 || (right - least) % step === 0;
  }

  /**
   * Returns how unusual a base is. Only left factors may be missing, and the right factors of
   * results with all terms begin at similar addresses.
   */
  #oddityOf([, right]: Pair): number {
    const { least, most } = this.#rights;
    const distance = Math.max(least - right, right - most, 0);
    return right < this.#first || right > this.#last ? 2 ** 32 + distance : distance;
  }
}

const keyOf = ([a, b]: Pair): number => a * 2 ** 27 + b;

/** Returns the greatest common divisor. */
const divisor = (a: number, b: number): number => (b === 0 ? a : divisor(b, a % b));

/** The terms that a sampled result has. */
interface Present {
  readonly index: number;
  readonly terms: ReadonlySet<number>;
}

/** The least and the largest value of a digit. */
interface Range {
  readonly low: number;
  readonly high: number;
}

/**
 * Returns the conditions that the existing terms meet and that each missing term fails; undefined
 * if there are none. If several differ at the given edges, the edge at which most differ is
 * returned. A result's coordinate may be only a part of one of its digits, because the rows of an
 * image often have no gap between them.
 */
function windowsOf(
  results: readonly Digit[],
  terms: readonly Digit[],
  present: readonly Present[],
  edges: readonly number[],
): readonly Window[] | Unclear | undefined {
  const count = terms.reduce((product, { size }) => product * size, 1);
  if (present.every((each) => each.terms.size === count)) return [];
  const numbers = Array.from({ length: count }, (_, t) => digitsOf(terms, t));
  const ranges = present.map((each) =>
    terms.map((_, n) => rangeOf([...each.terms].map((t) => numbers[t]![n]!))),
  );
  const isBox = present.every(({ terms: has }, i) => {
    const sizes = ranges[i]!.map(({ low, high }) => high - low + 1);
    return has.size === sizes.reduce((product, size) => product * size);
  });
  if (!isBox) return undefined;
  const windows: Window[] = [];
  for (const [n, { size }] of terms.entries()) {
    if (ranges.every((each) => each[n]!.low === 0 && each[n]!.high === size - 1)) continue;
    const existing = (each: Window, index: number): Range => {
      const at = each.scale * coordinateAt(each, index);
      return { low: Math.max(0, each.low - at), high: Math.min(size - 1, each.high - at) };
    };
    const isSame = (a: Range, b: Range) => a.low === b.low && a.high === b.high;
    const [window, ...others] = coordinatesOf(results, terms[n]!, n)
      .map((each) => limited(each, present, ranges))
      .filter((each) => present.every(({ index }, i) => isSame(existing(each, index), ranges[i]![n]!)));
    if (!window) return undefined;
    const differing = (i: number) =>
      others.filter((each) => !isSame(existing(window, i), existing(each, i))).length;
    const [unclear] = edges.filter((i) => differing(i) > 0).sort((i, j) => differing(j) - differing(i));
    if (unclear !== undefined) return { unclear };
    windows.push(window);
  }
  return windows;
}

type Coordinate = Omit<Window, "low" | "high">;

const coordinateAt = ({ unit, size }: Coordinate, index: number) => Math.floor(index / unit) % size;

/** Returns the parts of results' digits whose steps are multiples of a term's step. */
function coordinatesOf(results: readonly Digit[], { steps: [by] }: Digit, term: number): Coordinate[] {
  let stride = 1;
  return results.flatMap(({ size, steps: [step] }) => {
    const first = stride;
    stride *= size;
    return divisorsOf(size).flatMap((skipped) => {
      const scale = (step! * skipped) / by!;
      if (!Number.isInteger(scale) || scale === 0) return [];
      return divisorsOf(size / skipped)
        .filter((each) => each > 1)
        .map((each) => ({ unit: first * skipped, size: each, term, scale }));
    });
  });
}

/** Returns a condition with the limits that all results keep to. */
function limited(
  each: Coordinate,
  present: readonly Present[],
  ranges: readonly (readonly Range[])[],
): Window {
  const positions = present.map(({ index }) => each.scale * coordinateAt(each, index));
  const lows = positions.map((at, i) => at + ranges[i]![each.term]!.low);
  const highs = positions.map((at, i) => at + ranges[i]![each.term]!.high);
  return { ...each, low: Math.min(...lows), high: Math.max(...highs) };
}

const rangeOf = (values: readonly number[]): Range => ({
  low: values.reduce((a, b) => Math.min(a, b)),
  high: values.reduce((a, b) => Math.max(a, b)),
});
