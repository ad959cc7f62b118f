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
  isCovering,
  keeping,
} from "./activations.ts";
import { Fit, hasForm, type SampledResult, type SampledResults, scalingOf } from "./fit.ts";
import { functionOfSum } from "./functionOfSum.ts";
import { NoFit, NoForm } from "./noFit.ts";
import type { SumsOfProducts } from "./sums.ts";
import { SymbolicBuffer } from "./symbolicBuffer.ts";
import { type Answers, bitsOf, type Decision, dependsOnData, type Precision, Symbols } from "./symbols.ts";

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
  const [at] = freePoints(bindingAccesses(resolved.program, resolved.declaration), 1) as [BindingPoint];
  const kept = keeping(resolved, output, [{ values, at }]);
  const activated = new Activated(output, at, values);
  const sums = yield* searchIn(source, kept, withSums(dispatch, resolved, output, [at]), activated);
  // Symbols have the numbers that bindings have in the kernel with sums.
  const bindings = bindingAccesses(kept.program, kept.declaration);
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
  const binding = execution.bindings.findIndex((each) => isAmong([output], each));
  try {
    const results: Possible[][] = [];
    const covering = new Set(candidates);
    const waiting: ReadonlyMap<number, boolean>[] = [new Map()];
    for (let paths = 0; paths < mostPaths; paths++) {
      const known = waiting.pop();
      if (!known) break;
      const buffers = execution.run([0, 0, 0], { known, others: false });
      const kept = new Map(candidates.map((each, i) => [each, buffers(points[i]!).stores]));
      results.push(...possibleIn(execution.symbols, buffers(output), kept, binding));
      for (const each of covering)
        if (!isCovering(execution.symbols, new Set(kept.get(each)!.values()))) covering.delete(each);
      waiting.push(...otherPaths(execution.symbols.decisions, known));
      yield;
    }
    const found = oneOfAll(results, covering) ?? oneOfEach(results);
    const isAlike = ({ type }: Candidate) => sameType(type, found[0]!.type);
    return found.every(isAlike) ? found.map(({ span }) => span) : [];
  } catch (error) {
    if (error instanceof NoFit) return [];
    throw error;
  }
}

/** A candidate that is the sum of a result, and how many other numbers the result depends on. */
interface Possible {
  readonly candidate: Candidate;
  readonly others: number;
}

/**
 * Returns the candidates that may be the sum of each result of a workgroup. Results without any are
 * left out. `kept` has the values of the candidates beside results, and `binding` is the number of
 * the results' binding.
 */
function possibleIn(
  symbols: Symbols,
  { stores, format }: SymbolicBuffer,
  kept: ReadonlyMap<Candidate, ReadonlyMap<number, number>>,
  binding: number,
): Possible[][] {
  const offsets = sampledOffsets([...stores.keys()].sort((a, b) => a - b));
  const areSums = new Map<number, boolean>();
  const isSum = (number: number) => {
    const sum = symbols.sumOf(number, mostTermsOfWorkgroup);
    return sum !== undefined && !sum.isHalf && hasForm([{ offset: 0, sum }], binding);
  };
  const results = offsets.map((offset) =>
    [...kept].flatMap(([candidate, values]) => {
      const number = values.get((offset * bitsOf("f32")) / bitsOf(format));
      if (number === undefined) return [];
      const from = functionOfSum(symbols, stores.get(offset)!, new Set([number]), format);
      if (!from?.usesSum) return [];
      if (!areSums.has(number)) areSums.set(number, isSum(number));
      return areSums.get(number) ? [{ candidate, others: from.loaded.length }] : [];
    }),
  );
  return results.filter((possible) => possible.length > 0);
}

/** Returns the answers that lead to the other paths which an execution has passed. */
function otherPaths(
  decisions: readonly Decision[],
  known: ReadonlyMap<number, boolean>,
): ReadonlyMap<number, boolean>[] {
  const taken = new Map(known);
  return decisions.flatMap(({ site, answer }) => {
    if (taken.has(site)) return [];
    const other = new Map([...taken, [site, !answer]]);
    taken.set(site, answer);
    return [other];
  });
}

/**
 * Returns the candidate that is the sum of all results, with the fewest other numbers. Undefined if
 * there is none among those on which all decisions depend.
 */
function oneOfAll(
  results: readonly (readonly Possible[])[],
  covering: ReadonlySet<Candidate>,
): Candidate[] | undefined {
  const all = [...covering].flatMap((candidate) => {
    const own = results.flatMap((each) => each.filter((possible) => possible.candidate === candidate));
    const others = own.reduce((sum, each) => sum + each.others, 0);
    return own.length === results.length && own.length > 0 ? [{ candidate, others }] : [];
  });
  const [best] = all.sort((a, b) => a.others - b.others);
  return best && [best.candidate];
}

/** Returns the best candidates for each result. Several statements may store sums of their own. */
function oneOfEach(results: readonly (readonly Possible[])[]): Candidate[] {
  const found = new Set<Candidate>();
  for (const possible of results) {
    const orderOf = ({ candidate, others }: Possible) => 2 * others + (found.has(candidate) ? 0 : 1);
    const [best] = [...possible].sort((a, b) => orderOf(a) - orderOf(b));
    found.add(best!.candidate);
  }
  return [...found];
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

/** A place in a grid. */
type Workgroup = readonly [number, number, number];

/** Samples results of workgroups. */
class Sampler {
  readonly #execution: Execution;
  readonly #symbols: Symbols;
  readonly #output: BindingAccess;
  readonly #activated: Activated | undefined;
  #format: Precision = "f32";
  readonly #samples: SampledResult[] = [];
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
      if (!isCovering(this.#symbols, new Set(sums.values()))) throw new NoForm(dependsOnData);
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
