/** Writes the built-in functions of textures that need no sampler. */
import type { BindingPoint } from "../analysis/bindings.ts";
import type { TextureType, Type } from "../wgsl/types.ts";
import type { CodeWriter } from "./codeWriter.ts";
import { type BoundTexture, TextureView } from "./textures.ts";
import {
  type EmittedValue,
  isFloat,
  type Scalar,
  type ScalarsValue,
  scalarOf,
  type TextureValue,
} from "./values.ts";

/** The part of the executor that has textures. Kernels without textures do not need it. */
export interface TextureSupport {
  /** Emits a call of a function on a texture, and returns its value; undefined for a store. */
  emitCall(
    code: CodeWriter,
    name: string,
    texture: TextureValue,
    args: readonly ScalarsValue[],
    result: Type,
  ): EmittedValue | undefined;
  /** Returns the part of a texture that is bound to a variable. */
  viewOf(
    textures: readonly BoundTexture[],
    point: BindingPoint,
    type: TextureType,
    variable: string,
  ): TextureView;
}

export const textureSupport: TextureSupport = {
  emitCall: emitTextureCall,
  viewOf(textures, { group, binding }, type, variable) {
    const bound = textures.find((each) => each.group === group && each.binding === binding);
    if (!bound) throw new TypeError(`no texture is bound to "${variable}"`);
    return new TextureView(bound, type, variable);
  },
};

function emitTextureCall(
  code: CodeWriter,
  name: string,
  { atom, type }: TextureValue,
  args: readonly ScalarsValue[],
  result: Type,
): EmittedValue | undefined {
  const scalars = (texts: readonly string[]): EmittedValue => ({
    kind: "scalars",
    type: result,
    scalars: texts.map((text) => [code.temp(text)]),
  });
  if (name === "textureDimensions") {
    const level = args[0]?.scalars[0]?.[0] ?? "0";
    const count = result.kind === "vector" ? result.size : 1;
    return scalars(Array.from({ length: count }, (_, i) => `${atom}.size(${level}, ${i})`));
  }
  if (name.startsWith("textureNum"))
    return scalars([`${atom}.${name.slice("textureNum".length).toLowerCase()}`]);

  const rest = type.name.includes("_array") ? args.slice(2) : args.slice(1);
  const layer = type.name.includes("_array") ? args[1]!.scalars : [];
  // A layer takes the place of the depth.
  const coordinates = [...args[0]!.scalars, ...layer].map(([each]) => each!);
  const place = `[${[0, 1, 2].map((i) => coordinates[i] ?? "0").join(", ")}]`;
  const isInexact = code.mode === "intervals";
  const location = (method: "load" | "store", further: readonly string[]) => {
    const text = ["r", String(isInexact), place, ...further].join(", ");
    const at = code.temp(`${atom}.${method}(${text})`);
    if (code.detectsRaces && type.access !== undefined)
      code.line(`if (${at} >= 0) races.note(${atom}.texture, ${at}, "texture", "${method}");`);
  };
  if (name === "textureStore") {
    for (const [i, each] of rest[0]!.scalars.entries())
      code.line(`r[${2 * i}] = ${each[0]}; r[${2 * i + 1}] = ${each.at(-1)};`);
    location("store", []);
    return undefined;
  }
  const index = rest[0]?.scalars[0]?.[0] ?? "0";
  location("load", type.name.includes("multisampled") ? ["0", index] : [index, "0"]);
  const both = isInexact && isFloat(scalarOf(result));
  const count = result.kind === "vector" ? 4 : 1;
  return {
    kind: "scalars",
    type: result,
    scalars: Array.from({ length: count }, (_, i): Scalar => {
      const low = code.temp(`r[${2 * i}]`);
      return both ? [low, code.temp(`r[${2 * i + 1}]`)] : [low];
    }),
  };
}
