/** Computes workgroups of a kernel again, and compares what the device stored. */
import { usesAtomicResults } from "../analysis/atomicResults.ts";
import { type BindingPoint, bindingPointOf } from "../analysis/bindings.ts";
import { reachableFrom, variablesOf } from "../analysis/callGraph.ts";
import { addressSpaceOf, containsAtomic } from "../analysis/places.ts";
import type { KernelSource } from "../compiler/filledBytes.ts";
import { messageOf } from "../diagnostics/messageOf.ts";
import type { Dispute } from "../reference/dispute.ts";
import { representatives } from "../reference/intervals.ts";
import { RaceDetector } from "../reference/races.ts";
import {
  type BoundBuffer,
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
import type { BoundTexture } from "../reference/textures.ts";
import type { Disagreement } from "../runtime/context/disagreement.ts";
import type { DispatchCall } from "../runtime/context/dispatchCall.ts";
import { sourcePosition } from "../runtime/context/sourcePosition.ts";
import type { BufferRange } from "../runtime/webgpu/resources.ts";
import type { Type } from "../wgsl/types.ts";
import type { CopiedTexture } from "./copiedTexture.ts";
import { SampledBuffer } from "./sampledBuffer.ts";
import type { Page, Pages } from "./sampledContents.ts";
import type { SampledTexture } from "./sampledTexture.ts";

/** The most iterations of loops and calls of functions of a workgroup: up to half a second. */
const mostIterations = 2 ** 20;
/** The most rounds in which the pages come that a workgroup loads from. */
const mostRounds = 8;
/** The most bytes in the buffers of a dispatch that is told as data. */
const mostDisputed = 2 ** 18;
/** The most workgroups of a dispatch of which races with each other are looked for. */
const mostRacing = 64;

/** The part of the audit that has textures. */
type SampledTextures = typeof import("./sampledTexture.ts");

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
  /** Absent if the kernel has no textures. */
  readonly textures: SampledTextures | undefined;
}

/**
 * Translates a kernel in two steps, or returns the reason why its dispatches cannot be judged.
 */
export function* auditedKernel(
  { source, entryPoint, constants, label }: KernelSource,
  textures: SampledTextures | undefined,
): Generator<void, AuditedKernel | string> {
  try {
    const given = { source, ...(entryPoint && { entryPoint }), constants };
    const resolved = resolveKernel(given);
    const { program, declaration } = resolved;
    yield;
    const parts = textures ? { textures: textures.textureSupport } : {};
    const reference = referenceOf(resolved, parts);
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
    const own = {
      reference,
      rounded: roundingsOf(resolved, parts),
      isDisputed: false,
      variables,
      hasSubgroups,
      textures,
    };
    return { ...resolved, source, given, name, ...own };
  } catch (error) {
    // A page may forbid the executor to compile.
    return messageOf(error);
  }
}

/** The copies of a buffer that a sampled dispatch uses. */
export interface BindingCopy extends BindingPoint {
  /** The resource: a range of a buffer, or a part of a texture. */
  readonly from: BufferRange | CopiedTexture;
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
  readonly variable: string;
  readonly contents: SampledBuffer | SampledTexture;
}

interface WrongNumber {
  readonly binding: SampledBinding;
  readonly place: number;
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
  readonly #buffers: readonly BoundBuffer[];
  readonly #textures: readonly BoundTexture[];
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
    this.#bindings = copies.map((copy) => {
      const { from, input, output, group, binding } = copy;
      const { name, type } = kernel.variables.find(
        (each) => each.group === group && each.binding === binding,
      )!;
      const tracksLoads = input !== undefined && output !== undefined;
      const contents =
        "buffer" in from
          ? new SampledBuffer(from.size, type, tracksLoads)
          : new kernel.textures!.SampledTexture(from, tracksLoads);
      return { ...copy, variable: name, contents };
    });
    this.#buffers = this.#bindings.flatMap(({ group, binding, contents }) =>
      contents instanceof SampledBuffer ? [{ group, binding, buffer: contents }] : [],
    );
    this.#textures = this.#bindings.flatMap((each) =>
      each.contents instanceof SampledBuffer ? [] : [kernel.textures!.boundTexture(each, each.contents)],
    );
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
    if (this.#hasForeignStores) return { undecided: "another workgroup stores a word that it loads" };
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
      if (this.#hasForeignStores) continue;
      const { bounded, wrong } = await this.#inSlices(compare(this.#bindings));
      if (bounded > 0 && wrong.length === 0) return true;
    }
    return false;
  }

  /** True if another workgroup has stored a number that the workgroup loads. */
  get #hasForeignStores(): boolean {
    return this.#bindings.some(({ contents, output }) => output && contents.hasForeignStores);
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
      for (const { contents } of this.#bindings) contents.reset();
      const dispatch = {
        workgroups: this.#grid,
        buffers: this.#buffers,
        textures: this.#textures,
        subgroupSize,
        ...(only && { only }),
        iterations: mostIterations,
        iterationsOfStep: this.#iterationsOfStep,
      };
      const { undecided } = await this.#inSlices(stepsOf(reference, dispatch));
      const loaded = this.#bindings.map(({ contents, input }) => [contents.before, input] as const);
      if (!(await this.#provide(loaded))) return undecided;
    }
    return { reason: "its loads depend on too many other loads", byRounding: false };
  }

  /** Reads the numbers after the dispatch that the workgroup has stored, or only loaded. */
  async #readStored(): Promise<void> {
    const outputs = this.#bindings.filter(({ output }) => output);
    for (const { contents } of outputs) contents.noteCompared();
    await this.#provide(outputs.map(({ contents, output }) => [contents.after, output]));
  }

  /** Reads the missing pages of copies. Returns false if there are none. */
  async #provide(copies: readonly (readonly [Pages, BufferRange | undefined])[]): Promise<boolean> {
    const wanted = copies.flatMap(([pages, copy]) =>
      pages.missing.map((page) => ({ pages, page, copy: copy! })),
    );
    const read = await this.#read(wanted.map(({ copy, page }) => [copy, page]));
    for (const [i, { pages, page }] of wanted.entries()) pages.provide(page, read[i]!);
    return wanted.length > 0;
  }

  async #describe(
    workgroup: Workgroup,
    subgroupSize: number,
    { binding: { contents, variable }, place }: WrongNumber,
    wrong: number,
  ): Promise<Disagreement> {
    const { source, name, declaration, reference } = this.#kernel;
    const text = contents.describe(variable, place);
    let at = declaration.nameSpan.start;
    contents.onStore = (stored) => {
      if (stored === place) at = reference.position;
    };
    await this.#execute([workgroup], subgroupSize);
    contents.onStore = undefined;
    const site = sourcePosition(source, at);
    const dispute = await this.#dispute();
    const found = { kernel: name, entryPoint: declaration.name, workgroup, ...text, wrong, site };
    return dispute ? { ...found, dispute } : found;
  }

  /** Returns the dispatch as data, for the first disagreement of a kernel with small buffers. */
  async #dispute(): Promise<Dispute | undefined> {
    const bytes = this.#buffers.reduce((sum, { buffer }) => sum + buffer.byteLength, 0);
    if (this.#kernel.isDisputed || bytes > mostDisputed || this.#textures.length > 0) return undefined;
    this.#kernel.isDisputed = true;
    const wanted = this.#bindings.map(({ contents, input }) =>
      input ? contents.before.all.map((page) => [input, page] as const) : [],
    );
    const pages = await this.#read(wanted.flat());
    let next = 0;
    const buffers = this.#buffers.map(({ group, binding, buffer }, i) => {
      const words = new Uint8Array(buffer.byteLength);
      for (const [, { offset }] of wanted[i]!) words.set(pages[next++]!, offset);
      return { group, binding, words: [...new Uint32Array(words.buffer)] };
    });
    return { ...this.#kernel.given, workgroups: this.#grid, buffers };
  }

  /** Returns the reason why a wrong word may be no mistake, if there is one. */
  async #doubtOf(workgroup: Workgroup, subgroupSize: number): Promise<string | undefined> {
    const { program, declaration, textures } = this.#kernel;
    if (usesAtomicResults(program, declaration))
      return "the order of atomic operations may decide its results";
    const [x, y, z] = this.#grid;
    let racing: ReferenceKernel | undefined;
    const search = async (only?: readonly Workgroup[]) => {
      const reference = () => {
        const races = new RaceDetector();
        const parts = { races, ...(textures && { textures: textures.textureSupport }) };
        racing ??= referenceOf(this.#kernel, parts) as ReferenceKernel;
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
    for (const place of binding.contents.storedPlaces) {
      const { isBounded, isRight } = binding.contents.compareAt(place);
      if (isBounded) bounded++;
      if (!isRight) wrong.push({ binding, place });
      yield;
    }
  }
  return { bounded, wrong };
}
