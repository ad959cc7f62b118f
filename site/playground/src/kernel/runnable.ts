/** A kernel that the page can run: its buffers, its grid and the picture of its result. */
import type { Diagnostic, Span } from "belay-gpu";
import { bindingPointOf } from "belay-gpu/internal/analysis/bindings";
import { addressSpaceOf } from "belay-gpu/internal/analysis/places";
import { sizeOf, strideOf } from "belay-gpu/internal/wgsl/layout";
import { type FunctionDeclaration, type Program, parse, resolve, type Type } from "belay-gpu/wgsl";

/** A buffer that the page creates for a binding. */
export interface RunBuffer {
  readonly name: string;
  readonly binding: number;
  readonly isUniform: boolean;
  readonly contents: Uint32Array<ArrayBuffer>;
}

/** A kernel with everything that a run needs. */
export interface Runnable {
  readonly source: string;
  readonly entryPoint: string;
  readonly workgroupSize: readonly [number, number, number];
  readonly grid: readonly [number, number, number];
  readonly buffers: readonly RunBuffer[];
  readonly picture: Picture;
}

/** The buffer that the page draws, with its size in pixels. */
export interface Picture {
  readonly name: string;
  readonly width: number;
  readonly height: number;
  readonly isFloat: boolean;
}

/** A problem of a source, with its place. */
export type SourceProblem = Pick<Diagnostic, "severity" | "message" | "span" | "help"> & {
  readonly code?: string;
};

/** Reads a kernel. Its result has either a kernel that runs, or the reasons why it does not. */
export function readRunnable(source: string): { runnable?: Runnable; problems: readonly SourceProblem[] } {
  const parsed = parse(source);
  const program = resolve(parsed.module);
  const errors = [...parsed.diagnostics, ...program.diagnostics].filter(
    ({ severity }) => severity === "error",
  );
  if (errors.length > 0) return { problems: errors };
  try {
    return { runnable: runnableFrom(source, program), problems: [] };
  } catch (error) {
    if (error instanceof Refusal) return { problems: [error.problem] };
    throw error;
  }
}

/** The reason why the page does not run a valid kernel. */
class Refusal extends Error {
  readonly problem: SourceProblem;

  constructor(message: string, span: Span, help?: string) {
    super(message);
    this.problem = { severity: "warning", message, span, ...(help !== undefined && { help }) };
  }
}

function runnableFrom(source: string, program: Program): Runnable {
  const directives = readDirectives(source);
  const kernels = program.module.declarations.filter(
    (each) => each.kind === "function" && each.attributes.some(({ name }) => name === "compute"),
  ) as FunctionDeclaration[];
  const [kernel] = kernels;
  if (!kernel) throw new Refusal("the source has no compute entry point", { start: 0, end: 0 });
  const workgroupSize = workgroupSizeOf(program, kernel);
  const shown = directives.find(({ name }) => name === "show");
  const [width = 64, height = 64] = (shown?.words.slice(1) ?? []).map(Number);
  const buffers = program.module.declarations.flatMap((each) => {
    if (each.kind !== "globalVariable") return [];
    const point = bindingPointOf(program, each);
    if (!point) return [];
    const type = program.declaredTypeOf(each);
    const space = addressSpaceOf(each);
    if (space !== "storage" && space !== "uniform")
      throw new Refusal("the playground has buffers only, no textures and samplers", each.nameSpan);
    if (point.group !== 0) throw new Refusal("the playground binds `@group(0)` only", each.nameSpan);
    const elements = wordsOf(directives, "size", each.name)?.map(Number)[0] ?? width * height;
    const words = Math.ceil(bytesOf(type, elements) / 4);
    const fill = wordsOf(directives, "fill", each.name) ?? ["zero"];
    const contents = filled(fill, words, isFloat(type), { width, height });
    const isWritten =
      each.qualifiers.length > 1 && source.slice(each.span.start, each.span.end).includes("read_write");
    return [
      { name: each.name, binding: point.binding, isUniform: space === "uniform", contents, type, isWritten },
    ];
  });
  const picture = shown
    ? buffers.find(({ name }) => name === shown.words[0])
    : buffers.find(({ isWritten }) => isWritten);
  if (!picture)
    throw new Refusal(
      shown ? `there is no buffer \`${shown.words[0]}\` to show` : "the kernel writes no buffer",
      shown ?? kernel.nameSpan,
      "write `//! show name 64 64` with the name of a buffer",
    );
  const grid = directives.find(({ name }) => name === "dispatch")?.words.map(Number) ?? [
    Math.ceil(width / workgroupSize[0]),
    Math.ceil(height / workgroupSize[1]),
  ];
  const [x = 1, y = 1, z = 1] = grid.map((count) => Math.min(1024, Math.max(1, count | 0)));
  return {
    source,
    entryPoint: kernel.name,
    workgroupSize,
    grid: [x, y, z],
    buffers: buffers.map(({ type: _, isWritten: _w, ...buffer }) => buffer),
    picture: { name: picture.name, width, height, isFloat: isFloat(picture.type) },
  };
}

/** A line `//! name words` of a source. */
interface Directive extends Span {
  readonly name: string;
  readonly words: readonly string[];
}

function readDirectives(source: string): Directive[] {
  return [...source.matchAll(/^[ \t]*\/\/![ \t]*(\w+)[ \t]+([^\n]*)/gm)].map((match) => ({
    name: match[1]!,
    words: match[2]!.trim().split(/[\s,]+/),
    start: match.index,
    end: match.index + match[0].length,
  }));
}

const wordsOf = (directives: readonly Directive[], directive: string, variable: string) =>
  directives.find(({ name, words }) => name === directive && words[0] === variable)?.words.slice(1);

function workgroupSizeOf(program: Program, kernel: FunctionDeclaration): [number, number, number] {
  const attribute = kernel.attributes.find(({ name }) => name === "workgroup_size")!;
  const [x = 1, y = 1, z = 1] = attribute.args.map((argument) => {
    const constant = program.constantOf(argument);
    if (!constant || !("value" in constant))
      throw new Refusal("the playground needs a constant workgroup size", argument.span);
    return Number(constant.value);
  });
  return [x, y, z];
}

function bytesOf(type: Type, elements: number): number {
  if (type.kind === "array" && type.count === "runtime") return strideOf(type) * elements;
  const last = type.kind === "struct" ? type.members.at(-1)?.type : undefined;
  const more = last?.kind === "array" && last.count === "runtime" ? strideOf(last) * elements : 0;
  return sizeOf(type) + more;
}

function isFloat(type: Type): boolean {
  if (type.kind === "struct") return type.members.every((member) => isFloat(member.type));
  if ("element" in type) return isFloat(type.element);
  return type.kind === "scalar" && type.name === "f32";
}

/** Returns words by their description: a pattern, or numbers, of which the last one repeats. */
function filled(
  description: readonly string[],
  count: number,
  isFloat: boolean,
  { width, height }: { readonly width: number; readonly height: number },
): Uint32Array<ArrayBuffer> {
  const values = new Float64Array(count).map((_, i) => {
    const [x, y] = [(i % width) / width, Math.floor(i / width) / height];
    switch (description[0]) {
      case "zero":
        return 0;
      case "ramp":
        return isFloat ? x * y : i;
      case "waves":
        return (
          (isFloat ? 1 : 255) *
          (0.5 + 0.25 * (Math.sin(24 * x * (1 - 0.5 * y)) + Math.cos(18 * y + 5 * x * x)))
        );
      case "noise":
        return (Math.imul(i + 1, 0x9e3779b1) >>> 8) * (isFloat ? 2 ** -24 : 1);
      default:
        return Number(description[Math.min(i, description.length - 1)]) || 0;
    }
  });
  const words = new Uint32Array(count);
  if (isFloat) new Float32Array(words.buffer).set(values);
  else words.set(values);
  return words;
}

/** Returns the invocation that a click on a pixel means: the one with this global id, or index. */
export function invocationAt({ workgroupSize, grid, picture }: Runnable, pixel: number) {
  const [wx, wy, wz] = workgroupSize;
  const isFlat = grid[1] * wy === 1;
  const [x, y] = isFlat ? [pixel, 0] : [pixel % picture.width, Math.floor(pixel / picture.width)];
  const workgroup = [Math.floor(x / wx), Math.floor(y / wy), 0] as const;
  const localIndex = (x % wx) + wx * (y % wy);
  const exists = workgroup[0] < grid[0] && workgroup[1] < grid[1] && wz > 0;
  return exists ? { workgroup, localIndex } : undefined;
}
