/**
 * Executes compute kernels on the CPU, as the WGSL specification defines them. Integers are exact.
 * Floating-point numbers are intervals of all values that an implementation may compute.
 */

import { functionsOf, stageOf } from "../analysis/callGraph.ts";
import { knownWorkgroupSize } from "../analysis/workgroupSize.ts";
import { unknownConstants, withConstants } from "../compiler/overrides.ts";
import type { Span } from "../diagnostics/diagnostic.ts";
import { lineAt } from "../diagnostics/lines.ts";
import type { FunctionDeclaration } from "../wgsl/ast.ts";
import { parse } from "../wgsl/parser.ts";
import type { Program } from "../wgsl/program.ts";
import { resolve } from "../wgsl/resolve/index.ts";
import { BufferContents, type ReferenceBuffer } from "./buffers.ts";
import type { FloatMode } from "./codeWriter.ts";
import { atBarrier, type KernelTranslation, polling } from "./expressions.ts";
import { isInexact } from "./inexactConstants.ts";
import { intervalArithmetic, type Representative } from "./intervals.ts";
import {
  type Arithmetic,
  createLibrary,
  type MatrixOperations,
  type OnUnknown,
  outOfBudget,
} from "./library.ts";
import type { RaceDetector } from "./races.ts";
import { executeSubgroup } from "./subgroups.ts";
import type { TextureSupport } from "./textureCalls.ts";
import type { BoundTexture, TextureView } from "./textures.ts";
import { idCount, type TranslatedKernel, translateKernel } from "./translate.ts";
import { Undecided } from "./undecided.ts";
import { Unsupported } from "./unsupported.ts";

/** A kernel to execute. */
export interface ReferenceSource {
  /** The WGSL of the module. */
  readonly source: string;
  /** Absent if the module has one compute entry point only. */
  readonly entryPoint?: string;
  /** The values of overrides. */
  readonly constants?: Readonly<Record<string, number>>;
}

/** The part of a buffer that a kernel sees. */
export interface BoundBuffer {
  /** The number in `@group`. */
  readonly group: number;
  /** The number in `@binding`. */
  readonly binding: number;
  /** The buffer; several bindings may have the same. */
  readonly buffer: ReferenceBuffer;
  /** The first byte. Default: 0. */
  readonly offset?: number;
  /** The number of bytes. Default: all from the offset on. */
  readonly size?: number;
}

/** A dispatch to execute. */
export interface ReferenceDispatch {
  /** The size of the grid in workgroups. */
  readonly workgroups: readonly [x: number, y: number, z: number];
  /** The buffers of all bindings of the kernel. */
  readonly buffers: readonly BoundBuffer[];
  /** The textures of all bindings of the kernel. Default: none. */
  readonly textures?: readonly BoundTexture[];
  /** The size of subgroups. Default: 32. */
  readonly subgroupSize?: number;
  /** The workgroups to execute, in order. Default: all. */
  readonly only?: Iterable<readonly [x: number, y: number, z: number]>;
  /**
   * The most iterations of loops, calls of functions, and parts of invocations between barriers in
   * one workgroup. Default: 2 ** 28.
   */
  readonly iterations?: number;
  /** The most of them in one of the `steps`. Default: those of the workgroup. */
  readonly iterationsOfStep?: number;
}

/** The reason why the specification does not fix what a dispatch computes. */
export interface UndecidedResult {
  /** The reason, such as `a comparison depends on rounding`. */
  readonly reason: string;
  /** True if the specification allows several roundings, which lead to different results. */
  readonly byRounding: boolean;
  /** True if the executor gave up, because the dispatch takes more than `iterations`. */
  readonly byBudget: boolean;
  /** The offset of the statement in the source. */
  readonly at: number;
  /** The workgroup that was executed. */
  readonly workgroup: readonly [x: number, y: number, z: number];
}

/** The outcome of a dispatch: the buffers have its results unless it is undecided. */
export interface ReferenceOutcome {
  /** Absent if all workgroups have been executed. */
  readonly undecided?: UndecidedResult;
}

/** A construct that the executor does not have. */
export interface UnsupportedConstruct {
  /** The construct, such as `textureSample`. */
  readonly construct: string;
  /** The place of the construct in the source. */
  readonly span: Span;
}

/** Returns why the executor cannot run a kernel, with the line of the construct. */
export function whyUnsupported(source: string, { construct, span }: UnsupportedConstruct): string {
  return `the executor does not have ${construct} (line ${lineAt(source, span.start).line})`;
}

interface GeneratedKernel {
  main(
    P: Float64Array,
    PH: Float64Array | null,
    X: Float64Array,
    ids: Float64Array,
  ): Generator<number> | undefined;
  at(): number;
  /** Returns the iterations that are left. */
  fuel(): number;
  refuel(iterations: number): void;
  begin(): void;
  bind(values: readonly (ReferenceBuffer | TextureView | number)[]): void;
}

/** A kernel of a typed module. */
export interface ResolvedKernel {
  readonly program: Program;
  readonly declaration: FunctionDeclaration;
  /** The size of a workgroup in each dimension. */
  readonly size: readonly number[];
}

/** Types a kernel. Throws a `TypeError` as `createReference` does. */
export function resolveKernel({ source, entryPoint, constants = {} }: ReferenceSource): ResolvedKernel {
  const { module, diagnostics } = parse(source);
  const resolved = diagnostics.length > 0 ? undefined : resolve(module);
  const error = [...diagnostics, ...(resolved?.diagnostics ?? [])].find(
    ({ severity }) => severity === "error",
  );
  if (error || !resolved) {
    const line = error && lineAt(source, error.span.start).line;
    throw new TypeError(`the module has an error: ${error?.message} (line ${line})`);
  }
  const [unknown] = unknownConstants(resolved, constants);
  if (unknown !== undefined) throw new TypeError(`there is no override "${unknown}"`);
  const program = withConstants(resolved, constants);
  const kernels = functionsOf(program).filter((fn) => stageOf(fn) === "compute");
  const declaration = kernels.find(({ name }) => entryPoint === undefined || name === entryPoint);
  if (!declaration || (entryPoint === undefined && kernels.length > 1))
    throw new TypeError(entryPoint ? `there is no kernel "${entryPoint}"` : "name one of the kernels");
  const size = knownWorkgroupSize(program, declaration);
  if (!size) throw new TypeError("an override in the workgroup's size has no value that fits");
  return { program, declaration, size };
}

/** Parts of the executor that not all of its users need. */
export interface ExecutorParts {
  readonly races?: RaceDetector;
  readonly textures?: TextureSupport;
  /** The operations on subgroup matrices, whose sums have no known intervals. */
  readonly matrices?: MatrixOperations;
  /** Returns true for a constant of several values. Absent if each has one. */
  readonly isInexact?: KernelTranslation["isInexact"];
  /** The function to call for an index out of bounds. By default, the dispatch is undecided. */
  readonly outOfBounds?: () => void;
  /** The operations on unknown integers. Absent if buffers load known ones only. */
  readonly onUnknown?: OnUnknown;
}

/** The same parts, and the operations that round each number to the nearest one. */
export interface ReferenceParts extends ExecutorParts {
  /** Default: the operations on intervals. */
  readonly nearest?: Arithmetic;
  /** The number that stands for an interval where rounding decides. Default: none. */
  readonly representative?: Representative;
}

/** Translates a typed kernel, as `createReference` does. */
export function referenceOf(
  kernel: ResolvedKernel,
  { nearest, representative, ...parts }: ReferenceParts = {},
): ReferenceKernel | UnsupportedConstruct {
  if (nearest) return executorOf(kernel, "nearest", nearest, parts);
  const arithmetic: Arithmetic = (format, r) => intervalArithmetic(format, r, representative);
  return executorOf(kernel, "intervals", arithmetic, { isInexact, ...parts });
}

/**
 * Returns a function that translates a kernel with a number that stands for each interval. It
 * translates once for each. The executor must have the kernel.
 */
export function roundingsOf(
  kernel: ResolvedKernel,
  parts: ReferenceParts = {},
): (representative: Representative) => ReferenceKernel {
  const known = new Map<Representative, ReferenceKernel>();
  return (representative) => {
    const rounded =
      known.get(representative) ?? (referenceOf(kernel, { ...parts, representative }) as ReferenceKernel);
    known.set(representative, rounded);
    return rounded;
  };
}

/** Translates a typed kernel that computes with some arithmetic. */
export function executorOf(
  { program, declaration, size }: ResolvedKernel,
  mode: FloatMode,
  arithmetic: Arithmetic,
  parts: ExecutorParts,
): ReferenceKernel | UnsupportedConstruct {
  const invocations = size.reduce((product, each) => product * each);
  if (invocations > mostInvocations) {
    const construct = `workgroups of more than ${mostInvocations} invocations`;
    return { construct, span: declaration.nameSpan };
  }
  try {
    const { races, textures, matrices, outOfBounds, onUnknown } = parts;
    const translated = translateKernel(program, declaration, mode, parts);
    if (translated.waits && translated.cells * invocations > mostWaiting) {
      const construct = `${invocations} invocations that wait with ${translated.cells} numbers each`;
      return { construct, span: declaration.nameSpan };
    }
    const library = createLibrary(arithmetic, races, matrices);
    Object.assign(library, outOfBounds && { outOfBounds }, onUnknown && { onUnknown });
    return new GeneratedReference(translated, size, library, mode === "intervals", races, textures);
  } catch (error) {
    if (error instanceof Unsupported) return { construct: error.message, span: error.span };
    if (error instanceof RangeError)
      return { construct: "nesting as deep as this", span: program.module.span };
    throw error;
  }
}

/** The most invocations of a workgroup. No device of today executes as many. */
const mostInvocations = 2 ** 16;
/** The most numbers in the variables of invocations that wait for each other: 512 MiB. */
const mostWaiting = 2 ** 26;

/** A kernel that runs on the CPU. */
export interface ReferenceKernel {
  /** The binding points that a dispatch needs. */
  readonly bindings: readonly {
    readonly group: number;
    readonly binding: number;
    readonly resource: "buffer" | "texture";
  }[];
  /**
   * Executes a dispatch, one workgroup after another, and changes the buffers. Throws a `TypeError`
   * for a binding without a buffer or a texture, or outside of its buffer, and for a grid that is
   * no grid.
   */
  run(dispatch: ReferenceDispatch): ReferenceOutcome;
  /**
   * Executes a dispatch as `run` does, in steps. A step is an invocation, or the part of it until
   * it waits for others. No other dispatch of the kernel may run before the last step.
   */
  steps(dispatch: ReferenceDispatch): Generator<void, ReferenceOutcome>;
  /** The offset in the source of the statement that runs, or that ran last. */
  readonly position: number;
}

class GeneratedReference implements ReferenceKernel {
  readonly bindings: ReferenceKernel["bindings"];
  readonly #translated: TranslatedKernel;
  readonly #generated: GeneratedKernel;
  readonly #size: readonly number[];
  readonly #inexact: boolean;
  readonly #library: Readonly<Record<string, unknown>>;
  readonly #races: RaceDetector | undefined;
  readonly #textures: TextureSupport | undefined;

  constructor(
    translated: TranslatedKernel,
    size: readonly number[],
    library: Readonly<Record<string, unknown>>,
    inexact: boolean,
    races: RaceDetector | undefined,
    textures: TextureSupport | undefined,
  ) {
    this.#translated = translated;
    this.#size = size;
    this.#inexact = inexact;
    this.#library = library;
    this.#races = races;
    this.#textures = textures;
    this.bindings = translated.bindings.map(({ group, binding, texture }) => ({
      group,
      binding,
      resource: texture ? "texture" : "buffer",
    }));
    // The text has names and numbers of this translation only, never text of the kernel.
    this.#generated = new Function("lib", translated.text)(library) as GeneratedKernel;
  }

  get position(): number {
    return this.#generated.at();
  }

  run(dispatch: ReferenceDispatch): ReferenceOutcome {
    const steps = this.steps(dispatch);
    for (;;) {
      const { done, value } = steps.next();
      if (done) return value;
    }
  }

  *steps({
    workgroups,
    buffers,
    textures = [],
    subgroupSize = 32,
    only,
    iterations = 2 ** 28,
    iterationsOfStep = iterations,
  }: ReferenceDispatch): Generator<void, ReferenceOutcome> {
    const generated = this.#generated;
    if (!workgroups.every((each) => isCount(each)))
      throw new TypeError(`a grid has whole numbers of workgroups, not ${workgroups.join(" x ")}`);
    generated.bind(
      this.#translated.bindings.flatMap(
        ({ group, binding, variable, texture }): (ReferenceBuffer | TextureView | number)[] => {
          if (texture) return [this.#textures!.viewOf(textures, { group, binding }, texture, variable.name)];
          const bound = buffers.find((each) => each.group === group && each.binding === binding);
          if (!bound) throw new TypeError(`no buffer is bound to "${variable.name}"`);
          if (!(bound.buffer instanceof BufferContents))
            throw new TypeError(`"${variable.name}" needs a buffer of createReferenceBuffer`);
          const { buffer, offset = 0, size = buffer.byteLength - offset } = bound;
          const end = offset + size;
          if (
            ![offset, size, end].every((each) => isCount(each) && each % 4 === 0) ||
            end > buffer.byteLength
          )
            throw new TypeError(
              `"${variable.name}" needs whole words of its buffer, not bytes ${offset} to ${end} of ${buffer.byteLength}`,
            );
          return [buffer, offset, end];
        },
      ),
    );
    this.#races?.beginDispatch();
    for (const workgroup of only ?? grid(workgroups)) {
      generated.begin();
      let left = iterations;
      try {
        for (const step of this.#stepsOfWorkgroup(workgroup, workgroups, subgroupSize)) {
          if (--left < 0) throw outOfBudget();
          const fuel = Math.min(left, iterationsOfStep);
          generated.refuel(fuel);
          step();
          left -= fuel - generated.fuel();
          yield;
        }
      } catch (error) {
        if (!(error instanceof Undecided)) throw error;
        const { message: reason, by } = error;
        const causes = { byRounding: by === "rounding", byBudget: by === "budget" };
        return { undecided: { reason, ...causes, at: generated.at(), workgroup } };
      }
    }
    return {};
  }

  /** Yields the steps of a workgroup. Each has to end before the next. */
  *#stepsOfWorkgroup(
    workgroup: readonly number[],
    workgroups: readonly number[],
    subgroupSize: number,
  ): Generator<() => void> {
    const [width, height, depth] = this.#size as [number, number, number];
    const count = width * height * depth;
    const memory = () => new Float64Array(this.#translated.cells);
    const upper = () => (this.#inexact ? memory() : null);
    const idsOf = (index: number): Float64Array => {
      const local = [index % width, Math.floor(index / width) % height, Math.floor(index / (width * height))];
      const global = local.map((each, i) => workgroup[i]! * this.#size[i]! + each);
      const ids = new Float64Array(idCount);
      const across = Math.min(subgroupSize, 128);
      const group = workgroup[0]! + workgroups[0]! * (workgroup[1]! + workgroups[1]! * workgroup[2]!);
      ids.set([...local, index, ...global, ...workgroup, ...workgroups]);
      ids.set([across, index % across, Math.floor(index / across), Math.ceil(count / across)], 13);
      ids.set([group, group * count + index], 17);
      return ids;
    };
    if (!this.#translated.waits) {
      const [cells, bounds, exchange] = [memory(), upper(), new Float64Array(0)];
      for (let i = 0; i < count; i++) {
        if (this.#races) this.#races.invocation = i;
        yield () => this.#generated.main(cells, bounds, exchange, idsOf(i));
      }
      return;
    }
    const exchanges = Array.from({ length: count }, () => new Float64Array(64));
    const running = exchanges.map(
      (exchange, i) => this.#generated.main(memory(), upper(), exchange, idsOf(i))!,
    );
    yield* this.#schedule(running, exchanges, subgroupSize);
  }

  /** Yields the steps of invocations, which meet at barriers and in subgroup operations. */
  *#schedule(
    running: readonly Generator<number>[],
    exchanges: readonly Float64Array[],
    size: number,
  ): Generator<() => void> {
    const all = range(0, running.length);
    /** The site at which an invocation waits; undefined if it has ended. */
    const sites: (number | undefined)[] = [];
    const races = this.#races;
    const resume = function* (invocations: readonly number[]) {
      for (const i of invocations) {
        if (races) races.invocation = i;
        yield () => {
          const { value, done } = running[i]!.next();
          sites[i] = done ? undefined : value;
        };
      }
    };
    yield* resume(all);
    while (sites.some((site) => site !== undefined)) {
      const polls = all.filter((i) => sites[i] === polling);
      yield* resume(polls);
      let moved = polls.length > 0;
      for (let first = 0; first < running.length; first += size) {
        const lanes = range(first, Math.min(first + size, running.length));
        const waiting = lanes.filter((i) => sites[i] !== undefined);
        const site = waiting.length > 0 ? sites[waiting[0]!]! : atBarrier;
        if (site === atBarrier || waiting.some((i) => sites[i] === polling)) continue;
        if (waiting.some((i) => sites[i] !== site))
          throw new Undecided("invocations of a subgroup wait at different places");
        const operands = lanes.map((i) => (sites[i] === undefined ? undefined : exchanges[i]));
        executeSubgroup(this.#translated.sites[site]!, operands, this.#inexact, this.#library);
        yield* resume(waiting);
        moved = true;
      }
      if (moved) continue;
      if (sites.some((site) => site !== atBarrier)) throw new Undecided("some invocations miss a barrier");
      this.#races?.leaveBarrier();
      yield* resume(all);
    }
  }
}

const isCount = (number: number) => Number.isInteger(number) && number >= 0 && number < 2 ** 32;

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i);
}

function* grid([x, y, z]: readonly [number, number, number]): Generator<readonly [number, number, number]> {
  for (let k = 0; k < z; k++) for (let j = 0; j < y; j++) for (let i = 0; i < x; i++) yield [i, j, k];
}
