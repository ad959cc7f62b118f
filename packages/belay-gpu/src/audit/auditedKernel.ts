/** Computes workgroups of a kernel again, and compares what the device stored. */
import { usesAtomicResults } from "../analysis/atomicResults.ts";
import { type BindingPoint, bindingPointOf } from "../analysis/bindings.ts";
import { reachableFrom, variablesOf } from "../analysis/callGraph.ts";
import { addressSpaceOf, containsAtomic } from "../analysis/places.ts";
import type { KernelSource } from "../compiler/filledBytes.ts";
import { messageOf } from "../diagnostics/messageOf.ts";
import { describeWord, isBounded } from "../qualify/comparison.ts";
import type { Dispute } from "../reference/dispute.ts";
import { representatives } from "../reference/intervals.ts";
import { RaceDetector } from "../reference/races.ts";
import {
  type ReferenceDispatch,
  type ReferenceKernel,
  type ReferenceOutcome,
  type ReferenceSource,
  type ResolvedKernel,
  referenceOf,
  resolveKernel,
  roundingsOf,
  type UndecidedResult,
  whyUnsupported,
} from "../reference/referenceKernel.ts";
import type { Disagreement } from "../runtime/context/disagreement.ts";
import type { DispatchCall } from "../runtime/context/dispatchCall.ts";
import { sourcePosition } from "../runtime/context/sourcePosition.ts";
import type { BufferRange } from "../runtime/webgpu/resources.ts";
import type { Type } from "../wgsl/types.ts";
import { type Page, SampledBuffer } from "./sampledBuffer.ts";

/** The most iterations of loops and calls of functions of a workgroup: up to half a second. */
const mostIterations = 2 ** 20;
/** The most rounds in which the pages come that a workgroup loads from. */
const mostRounds = 8;
/** The most bytes in the buffers of a dispatch that is told as data. */
const mostDisputed = 2 ** 18;
/** The most workgroups of a dispatch of which races with each other are looked for. */
const mostRacing = 64;

/** A kernel that the executor has. */
export interface AuditedKernel extends ResolvedKernel {
  readonly source: string;
  /** The kernel as the program has given it. */
  readonly given: ReferenceSource;
  readonly name: string;
  readonly reference: ReferenceKernel;
  /** The executors for roundings that the specification allows. Each is made when it is needed. */
  readonly rounded: ReturnType<typeof roundingsOf>;
  /** True once a disagreement has a dispatch of the kernel as data. */
  isDisputed: boolean;
  /** The variables of buffers, with their binding points. */
  readonly variables: readonly (BindingPoint & { readonly name: string; readonly type: Type })[];
  readonly hasSubgroups: boolean;
}

/**
 * Translates a kernel in two steps, or returns the reason why its dispatches cannot be judged.
 */
export function* auditedKernel({
  source,
  entryPoint,
  constants,
  label,
}: KernelSource): Generator<void, AuditedKernel | string> {
  try {
    const given = { source, ...(entryPoint && { entryPoint }), constants };
    const resolved = resolveKernel(given);
    const { program, declaration } = resolved;
    yield;
    const reference = referenceOf(resolved);
    if ("construct" in reference) return whyUnsupported(source, reference);
    const used = [...variablesOf(program, reachableFrom(program, [declaration]))];
    const isShared = (each: (typeof used)[number]) =>
      addressSpaceOf(each) === "storage" && containsAtomic(program.declaredTypeOf(each));
    if (used.some(isShared)) return "workgroups communicate by atomic operations";
    const variables = used.flatMap((variable) => {
      const point = bindingPointOf(program, variable);
      return point ? [{ ...point, name: variable.name, type: program.declaredTypeOf(variable) }] : [];
    });
    const hasSubgroups = program.module.directives.some(
      (each) => each.kind === "enable" && each.names.includes("subgroups"),
    );
    const name = label || declaration.name;
    const own = { reference, rounded: roundingsOf(resolved), isDisputed: false, variables, hasSubgroups };
    return { ...resolved, source, given, name, ...own };
  } catch (error) {
    // A page may forbid the executor to compile.
    return messageOf(error);
  }
}

/** The copies of a buffer that a sampled dispatch uses. */
export interface BindingCopy extends BindingPoint {
  readonly bytes: number;
  /** The contents that the dispatch loads; absent if it loads none. */
  readonly input?: BufferRange;
  /** The contents after the dispatch; absent if it stores none. */
  readonly output?: BufferRange;
}

/** A range of a copy to read. */
export type PageRequest = readonly [copy: BufferRange, page: Page];
/** Reads pages of copies. */
export type ReadPages = (requests: readonly PageRequest[]) => Promise<readonly Uint8Array[]>;

/** The verdict on a workgroup: no members if it agrees. */
export interface WorkgroupVerdict {
  readonly undecided?: string;
  readonly disagreement?: Disagreement;
}

type Workgroup = readonly [x: number, y: number, z: number];

interface SampledBinding extends BindingCopy {
  readonly buffer: SampledBuffer;
  /** The words after the dispatch, as far as they were read, by their offsets. */
  readonly stored: Map<number, number>;
}

interface WrongNumber {
  readonly binding: SampledBinding;
  readonly offset: number;
  readonly word: number;
}

/** The parts of an audit that a dispatch uses. */
interface AuditParts {
  readonly read: ReadPages;
  /** Takes steps in slices for which the budget pays. */
  inSlices<T>(steps: Generator<void, T>): Promise<T>;
  /** The most iterations of loops and calls of functions in a step. */
  readonly iterationsOfStep: number;
}

/** A dispatch of which workgroups are judged. */
export class AuditedDispatch {
  readonly #kernel: AuditedKernel;
  readonly #grid: Workgroup;
  readonly #bindings: readonly SampledBinding[];
  readonly #read: ReadPages;
  readonly #subgroupSizes: readonly number[];
  /** The result of looking for races in the whole dispatch, once it was needed. */
  #races: Promise<string | undefined> | undefined;
  readonly #inSlices: AuditParts["inSlices"];
  readonly #iterationsOfStep: number;

  constructor(
    kernel: AuditedKernel,
    { grid }: DispatchCall,
    copies: readonly BindingCopy[],
    {
      read,
      inSlices,
      iterationsOfStep,
      subgroupSizes,
    }: AuditParts & { readonly subgroupSizes: readonly number[] },
  ) {
    this.#kernel = kernel;
    this.#grid = grid as unknown as Workgroup;
    this.#read = read;
    this.#inSlices = inSlices;
    this.#iterationsOfStep = iterationsOfStep;
    this.#subgroupSizes = kernel.hasSubgroups ? subgroupSizes : [32];
    this.#bindings = copies.map((copy) => ({
      ...copy,
      buffer: new SampledBuffer(copy.bytes, copy.input !== undefined && copy.output !== undefined),
      stored: new Map(),
    }));
  }

  /** Computes a workgroup again, and compares the words that it stores. */
  async judge(workgroup: Workgroup): Promise<WorkgroupVerdict> {
    let verdict: WorkgroupVerdict = {};
    for (const size of this.#subgroupSizes) {
      verdict = await this.#judge(workgroup, size);
      if (!verdict.undecided && !verdict.disagreement) return verdict;
    }
    if (this.#kernel.hasSubgroups && verdict.disagreement)
      return { undecided: "the device may map invocations to lanes in an order of its own" };
    return verdict;
  }

  async #judge(workgroup: Workgroup, subgroupSize: number): Promise<WorkgroupVerdict> {
    const undecided = await this.#execute([workgroup], subgroupSize);
    if (undecided) {
      if (undecided.byRounding && (await this.#agreesWithSome(workgroup, subgroupSize))) return {};
      return { undecided: undecided.reason };
    }
    await this.#readStored();
    if (this.#bindings.some(hasForeignStores))
      return { undecided: "another workgroup stores a word that it loads" };
    const { bounded, wrong } = await this.#inSlices(compare(this.#bindings));
    const [first] = wrong;
    if (!first) return bounded > 0 ? {} : { undecided: "the specification fixes no word that it stores" };
    const disagreement = await this.#describe(workgroup, subgroupSize, first, wrong.length);
    const doubt = await this.#doubtOf(workgroup, subgroupSize);
    return doubt === undefined ? { disagreement } : { undecided: doubt };
  }

  /**
   * Returns true if the workgroup has the results of one of several executions that the
   * specification allows, which differ where rounding decides.
   */
  async #agreesWithSome(workgroup: Workgroup, subgroupSize: number): Promise<boolean> {
    for (const representative of representatives) {
      const rounded = () => this.#kernel.rounded(representative);
      if (await this.#execute([workgroup], subgroupSize, rounded)) continue;
      await this.#readStored();
      if (this.#bindings.some(hasForeignStores)) continue;
      const { bounded, wrong } = await this.#inSlices(compare(this.#bindings));
      if (bounded > 0 && wrong.length === 0) return true;
    }
    return false;
  }

  /**
   * Executes some workgroups, or all. Returns the reason if the specification does not fix their
   * results.
   */
  async #execute(
    only: readonly Workgroup[] | undefined,
    subgroupSize: number,
    reference = () => this.#kernel.reference,
  ): Promise<Pick<UndecidedResult, "reason" | "byRounding"> | undefined> {
    for (let round = 0; round < mostRounds; round++) {
      for (const { buffer } of this.#bindings) buffer.reset();
      const dispatch = {
        workgroups: this.#grid,
        buffers: this.#bindings,
        subgroupSize,
        ...(only && { only }),
        iterations: mostIterations,
        iterationsOfStep: this.#iterationsOfStep,
      };
      const { undecided } = await this.#inSlices(stepsOf(reference, dispatch));
      const missing = this.#bindings.flatMap(({ buffer, input }) =>
        buffer.missing.map((page) => ({ buffer, page, input: input! })),
      );
      if (missing.length === 0) return undecided;
      const pages = await this.#read(missing.map(({ input, page }) => [input, page]));
      for (const [i, { buffer, page }] of missing.entries()) buffer.provide(page, pages[i]!);
    }
    return { reason: "its loads depend on too many other loads", byRounding: false };
  }

  /** Reads the words after the dispatch that the workgroup has stored, or loaded and not stored. */
  async #readStored(): Promise<void> {
    const wanted = this.#bindings.flatMap(({ buffer, output, stored }) => {
      const unknown = [...buffer.stores, ...buffer.loads].filter((offset) => !stored.has(offset & ~3));
      return output ? buffer.pagesOf(unknown).map((page) => ({ output, page, stored })) : [];
    });
    const pages = await this.#read(wanted.map(({ output, page }) => [output, page]));
    for (const [i, { page, stored }] of wanted.entries()) {
      const view = new DataView(pages[i]!.buffer, pages[i]!.byteOffset);
      for (let at = 0; at < page.size; at += 4) stored.set(page.offset + at, view.getUint32(at, true));
    }
  }

  async #describe(
    workgroup: Workgroup,
    subgroupSize: number,
    { binding, offset, word }: WrongNumber,
    wrong: number,
  ): Promise<Disagreement> {
    const { source, name, declaration, variables, reference } = this.#kernel;
    const isAt = (each: BindingPoint) => each.group === binding.group && each.binding === binding.binding;
    const text = describeWord(variables.find(isAt)!, binding.buffer, offset, word);
    let at = declaration.nameSpan.start;
    binding.buffer.onStore = (stored) => {
      if (stored === text.offset) at = reference.position;
    };
    await this.#execute([workgroup], subgroupSize);
    binding.buffer.onStore = undefined;
    const site = sourcePosition(source, at);
    const dispute = await this.#dispute();
    const found = { kernel: name, entryPoint: declaration.name, workgroup, ...text, wrong, site };
    return dispute ? { ...found, dispute } : found;
  }

  /** Returns the dispatch as data, for the first disagreement of a kernel with small buffers. */
  async #dispute(): Promise<Dispute | undefined> {
    const bytes = this.#bindings.reduce((sum, each) => sum + each.bytes, 0);
    if (this.#kernel.isDisputed || bytes > mostDisputed) return undefined;
    this.#kernel.isDisputed = true;
    const wanted = this.#bindings.map(({ buffer, input }) =>
      input ? buffer.pages.map((page) => [input, page] as const) : [],
    );
    const pages = await this.#read(wanted.flat());
    let next = 0;
    const buffers = this.#bindings.map(({ group, binding, bytes }, i) => {
      const contents = new Uint8Array(bytes);
      for (const [, { offset }] of wanted[i]!) contents.set(pages[next++]!, offset);
      return { group, binding, words: [...new Uint32Array(contents.buffer)] };
    });
    return { ...this.#kernel.given, workgroups: this.#grid, buffers };
  }

  /** Returns the reason why a wrong word may be no mistake, if there is one. */
  async #doubtOf(workgroup: Workgroup, subgroupSize: number): Promise<string | undefined> {
    const { program, declaration } = this.#kernel;
    if (usesAtomicResults(program, declaration))
      return "the order of atomic operations may decide its results";
    const [x, y, z] = this.#grid;
    let racing: ReferenceKernel | undefined;
    const search = async (only?: readonly Workgroup[]) => {
      const reference = () => {
        racing ??= referenceOf(this.#kernel, { races: new RaceDetector() }) as ReferenceKernel;
        return racing;
      };
      return (await this.#execute(only, subgroupSize, reference))?.reason;
    };
    if (x * y * z > mostRacing) return search([workgroup]);
    this.#races ??= search();
    return this.#races;
  }
}

/** Executes a dispatch in steps, of which the first one translates the kernel if it has to. */
function* stepsOf(
  reference: () => ReferenceKernel,
  dispatch: ReferenceDispatch,
): Generator<void, ReferenceOutcome> {
  return yield* reference().steps(dispatch);
}

/** Returns true if another workgroup has stored a word that the workgroup loads. */
function hasForeignStores({ buffer, stored, output }: SampledBinding): boolean {
  if (!output) return false;
  for (const offset of buffer.loads) {
    if (buffer.stores.has(offset)) continue;
    if (halfOf(stored.get(offset & ~3)!, offset) !== buffer.halfAt(offset)) return true;
  }
  return false;
}

/** Returns the half of a word at an offset. */
function halfOf(word: number, offset: number): number {
  return (word >>> ((offset & 2) * 8)) & 0xffff;
}

/** Compares the numbers that a workgroup has stored with those of the device. */
function* compare(bindings: readonly SampledBinding[]): Generator<
  void,
  {
    readonly bounded: number;
    readonly wrong: readonly WrongNumber[];
  }
> {
  let bounded = 0;
  const wrong: WrongNumber[] = [];
  for (const binding of bindings) {
    const { buffer, stored } = binding;
    for (const start of new Set([...buffer.stores].map((offset) => offset & ~3))) {
      // Of a word of two numbers, another workgroup may have stored one.
      const halves = [start, start + 2].map((offset) =>
        buffer.stores.has(offset) ? halfOf(stored.get(start)!, offset) : buffer.halfAt(offset),
      );
      const word = (halves[0]! | (halves[1]! << 16)) >>> 0;
      if (isBounded(buffer, start) || isBounded(buffer, start + 2)) bounded++;
      if (!buffer.allows(start, word)) wrong.push({ binding, offset: start, word });
      yield;
    }
  }
  return { bounded, wrong };
}
