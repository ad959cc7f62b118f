/** The dispatches with which a kernel is tried: grids, and buffers made from the kernel's types. */
import { type BindingPoint, bindingPointOf } from "../analysis/bindings.ts";
import { reachableFrom, variablesOf } from "../analysis/callGraph.ts";
import { addressSpaceOf } from "../analysis/places.ts";
import type { ResolvedKernel } from "../reference/referenceKernel.ts";
import { sizeWith } from "../wgsl/layout.ts";
import type { Type } from "../wgsl/types.ts";
import type { DeviceBuffer } from "./deviceRun.ts";
import { filledBuffer, type InputNumbers } from "./inputs.ts";
import type { KernelBuffer, KernelToQualify } from "./qualification.ts";
import type { BuiltInKernel } from "./suite.ts";

/** A buffer of a trial, and the variable that it is bound to. */
export interface TrialBuffer extends DeviceBuffer {
  readonly name: string;
  readonly type: Type;
}

/** A dispatch of a kernel. */
export interface Trial {
  readonly workgroups: readonly [number, number, number];
  readonly buffers: readonly TrialBuffer[];
}

/** Returns the dispatch of a built-in kernel. */
export function builtInTrial(
  { workgroups = [16, 1, 1], elements = 64, contents = "edges" }: BuiltInKernel,
  kernel: ResolvedKernel,
): Trial {
  const numbers = contents === "edges" ? contents : { below: 64 };
  return {
    workgroups,
    buffers: madeBuffers(kernel, { elements, contents: numbers, size: elements }, []) ?? [],
  };
}

/**
 * Yields dispatches of a kernel of the program: with a full and a partial last workgroup, and with
 * about as many elements as a subgroup has lanes. Integers of uniform buffers are sizes.
 */
export function* trialsOf(
  { workgroups, buffers = [] }: KernelToQualify,
  kernel: ResolvedKernel,
  lanes: number,
): Generator<Trial> {
  const [x, y, z] = kernel.size as [number, number, number];
  const all = x * y * z;
  const partial = 2 * all + Math.floor(all / 2) + 1;
  const made = (grid: Trial["workgroups"], elements: number, contents: InputNumbers, size = elements) => {
    const all = madeBuffers(kernel, { elements, contents, size }, buffers);
    return all ? [{ workgroups: workgroups ?? grid, buffers: all }] : [];
  };
  for (const elements of [partial, 2 * all, lanes + 1])
    for (const contents of [{ below: elements }, "edges"] as const)
      yield* made([Math.ceil(elements / all), 1, 1], elements, contents);
  // A square, for kernels of two dimensions.
  const size = Math.max(x, y) + Math.ceil(Math.max(x, y) / 4);
  yield* made([Math.ceil(size / x), Math.ceil(size / y), 1], size * size, { below: size }, size);
}

/** The most bytes of a buffer that is made. A kernel that needs a larger one has no trials. */
const largest = 2 ** 26;

function madeBuffers(
  { program, declaration }: ResolvedKernel,
  { elements, contents, size }: { elements: number; contents: InputNumbers; size: number },
  given: readonly KernelBuffer[],
): TrialBuffer[] | undefined {
  const variables = [...variablesOf(program, reachableFrom(program, [declaration]))].flatMap((variable) => {
    const point = bindingPointOf(program, variable);
    const isTexture = program.declaredTypeOf(variable).kind === "texture";
    return point && !isTexture ? [{ ...point, variable }] : [];
  });
  const isAt = (one: BindingPoint) => (other: BindingPoint) =>
    one.group === other.group && one.binding === other.binding;
  for (const each of given)
    if (!variables.some(isAt(each)))
      throw new TypeError(
        `the kernel "${declaration.name}" has no binding ${each.binding} in group ${each.group}`,
      );
  const isTooLarge = ({ variable, ...point }: (typeof variables)[number]) =>
    !given.some(isAt(point)) && sizeWith(program.declaredTypeOf(variable), elements) > largest;
  if (variables.some(isTooLarge)) return undefined;
  return variables.map(({ group, binding, variable }) => {
    const { name, qualifiers } = variable;
    const type = program.declaredTypeOf(variable);
    const usage = addressSpaceOf(variable) === "uniform" ? "uniform" : "storage";
    const data = given.find(isAt({ group, binding }))?.data;
    const least = sizeWith(type, 1);
    if (data && data.byteLength < least)
      throw new TypeError(`the buffer of "${name}" has ${data.byteLength} of at least ${least} bytes`);
    const numbers = usage === "uniform" && contents !== "edges" ? { all: size } : contents;
    const bytes = data ? copyOf(data) : filledBuffer(type, elements, numbers);
    const [, access] = qualifiers;
    const isOutput = access?.kind === "identifier" && access.name === "read_write";
    return { group, binding, name, type, usage, bytes, isOutput };
  });
}

function copyOf(data: ArrayBuffer | ArrayBufferView): Uint8Array<ArrayBuffer> {
  const bytes = ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
  if (bytes.length % 4 !== 0) throw new TypeError(`a buffer has ${bytes.length} bytes: use a multiple of 4`);
  return bytes.slice();
}
