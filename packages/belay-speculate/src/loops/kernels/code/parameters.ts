import type { Loop, NumberType } from "../../tree/ir.ts";
import { wgslName } from "./names.ts";

/** The values of one execution's parameters, by name; see {@link parametersOf}. */
export type ParameterValues = Readonly<Record<string, number>>;

/**
 * Returns the uniform block of a loop's kernels, with one word for each parameter. `first` and
 * `step` are those of the index, and `count` is that of the iterations. Each array has a
 * `length_a`, and each input an `input_x`. The engine adds further words.
 */
export function parametersOf(loop: Loop, added: readonly string[]): Map<string, NumberType> {
  return new Map<string, NumberType>([
    ["first", loop.index.type],
    ["step", "i32"],
    ["count", "u32"],
    ...loop.arrays.map(({ name }) => [`length_${wgslName(name)}`, "u32"] as const),
    ...loop.inputs.map(({ name, type }) => [`input_${wgslName(name)}`, type] as const),
    ...added.map((name) => [name, "u32"] as const),
  ]);
}

export function declareParameters(parameters: ReadonlyMap<string, NumberType>): string {
  const members = [...parameters].map(([name, type]) => `  ${name}: ${type},`);
  return ["struct Parameters {", ...members, "}"].join("\n");
}

/** Returns the words of the block. Throws if a parameter has no value. */
export function packParameters(
  parameters: ReadonlyMap<string, NumberType>,
  values: ParameterValues,
): Uint32Array<ArrayBuffer> {
  const words = new DataView(new ArrayBuffer(parameters.size * 4));
  for (const [place, [name, type]] of [...parameters].entries()) {
    const value = values[name];
    if (value === undefined) throw new Error(`the parameter ${name} has no value`);
    if (type === "f32") words.setFloat32(place * 4, value, true);
    else words.setInt32(place * 4, value, true);
  }
  return new Uint32Array(words.buffer);
}
