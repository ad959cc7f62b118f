/**
 * Lists the names that the language predeclares in every module. Source: WGSL specification,
 * "Declaration and Scope".
 */

import { matrixType, scalarTypes, vectorType } from "../conversion.ts";
import type { Builtin } from "../program.ts";
import type { Type } from "../types.ts";
import { boolType, f16Type, f32Type, i32Type, u32Type } from "../types.ts";
import { signatureNames } from "./signatures.ts";

export const accessModes: ReadonlySet<string> = words("read write read_write");
export const addressSpaces: ReadonlySet<string> = words(
  "function private workgroup uniform storage immediate",
);
export const texelFormats: ReadonlySet<string> = words(
  "rgba8unorm rgba8snorm rgba8uint rgba8sint rgba16unorm rgba16snorm rgba16uint rgba16sint rgba16float " +
    "rg8unorm rg8snorm rg8uint rg8sint rg16unorm rg16snorm rg16uint rg16sint rg16float " +
    "r32uint r32sint r32float rg32uint rg32sint rg32float rgba32uint rgba32sint rgba32float bgra8unorm " +
    "r8unorm r8snorm r8uint r8sint r16unorm r16snorm r16uint r16sint r16float rgb10a2unorm rgb10a2uint rg11b10ufloat",
);
/**
 * The built-in values that `@builtin` takes, with their types; undefined if several are allowed.
 * These names are not identifiers in scope. Source: WGSL specification, "Built-in Inputs and
 * Outputs".
 */
export const builtinValues: ReadonlyMap<string, Type | undefined> = new Map([
  ...typed("position", vectorType(4, f32Type)),
  ...typed("barycentric_coord", vectorType(3, f32Type)),
  ...typed("frag_depth", f32Type),
  ...typed("front_facing", boolType),
  ...typed("vertex_index instance_index primitive_index sample_index sample_mask", u32Type),
  ...typed("local_invocation_id global_invocation_id workgroup_id num_workgroups", vectorType(3, u32Type)),
  ...typed("local_invocation_index global_invocation_index workgroup_index", u32Type),
  ...typed("subgroup_invocation_id subgroup_size subgroup_id num_subgroups", u32Type),
  ...typed("clip_distances", undefined),
]);

function typed(names: string, type: Type | undefined): [string, Type | undefined][] {
  return [...words(names)].map((name) => [name, type]);
}

function words(text: string): ReadonlySet<string> {
  return new Set(text.split(" "));
}

/** The types written without a template list, including aliases such as `vec3f`. */
export const plainTypes: ReadonlyMap<string, Type> = new Map(plainTypeEntries());

function* plainTypeEntries(): Iterable<[string, Type]> {
  for (const name of ["bool", "i32", "u32", "f32", "f16"] as const) yield [name, scalarTypes[name]];
  const suffixes = { f: f32Type, h: f16Type, i: i32Type, u: u32Type };
  for (const size of [2, 3, 4]) {
    for (const [suffix, element] of Object.entries(suffixes)) {
      yield [`vec${size}${suffix}`, vectorType(size, element)];
    }
    for (const rows of [2, 3, 4]) {
      yield [`mat${size}x${rows}f`, matrixType(size, rows, f32Type)];
      yield [`mat${size}x${rows}h`, matrixType(size, rows, f16Type)];
    }
  }
  yield ["sampler", { kind: "sampler", comparison: false }];
  yield ["sampler_comparison", { kind: "sampler", comparison: true }];
  for (const shape of ["2d", "2d_array", "cube", "cube_array", "multisampled_2d"]) {
    yield [`texture_depth_${shape}`, { kind: "texture", name: `texture_depth_${shape}` }];
  }
  yield ["texture_external", { kind: "texture", name: "texture_external" }];
}

/** The components of subgroup matrices that are no types of values. */
export const byteComponents: ReadonlySet<string> = words("i8 u8");
/** The orders of a subgroup matrix in memory. */
export const majorOrders: ReadonlySet<string> = words("row_major col_major");

/**
 * The functions that the table of signatures cannot describe: a template list decides their result,
 * or they take subgroup matrices or opaque buffers.
 */
export const explicitFunctions: ReadonlySet<string> = words(
  "bitcast bufferView bufferArrayView bufferLength getResource hasResource " +
    "subgroupMatrixLoad subgroupMatrixStore subgroupMatrixMultiply subgroupMatrixMultiplyAccumulate " +
    "subgroupMatrixScalarAdd subgroupMatrixScalarSubtract subgroupMatrixScalarMultiply",
);

/** The names that make a type from a template list. */
const typeGenerators: ReadonlySet<string> = words(
  "array atomic ptr binding_array buffer texel_buffer vec2 vec3 vec4 mat2x2 mat2x3 mat2x4 mat3x2 mat3x3 mat3x4 mat4x2 mat4x3 mat4x4 " +
    "texture_1d texture_2d texture_2d_array texture_3d texture_cube texture_cube_array texture_multisampled_2d " +
    "texture_multisampled_2d_array subgroup_matrix_left subgroup_matrix_right subgroup_matrix_result " +
    "texture_storage_1d texture_storage_2d texture_storage_2d_array texture_storage_3d",
);

const builtins = new Map<string, Builtin>();
function predeclare(category: Builtin["category"], names: Iterable<string>): void {
  for (const name of names) builtins.set(name, { kind: "builtin", name, category });
}
predeclare("type", plainTypes.keys());
predeclare("type", typeGenerators);
predeclare("enumerant", accessModes);
predeclare("enumerant", addressSpaces);
predeclare("enumerant", texelFormats);
predeclare("function", signatureNames);
predeclare("function", explicitFunctions);
predeclare("enumerant", byteComponents);
predeclare("enumerant", majorOrders);

export function predeclared(name: string): Builtin | undefined {
  return builtins.get(name);
}

export function predeclaredNames(): Iterable<string> {
  return builtins.keys();
}

/** The names for fragment shaders of some implementations, each with its extension. */
export const unsupportedNames: ReadonlyMap<string, string> = new Map([
  ["input_attachment", "chromium_internal_input_attachments"],
  ["inputAttachmentLoad", "chromium_internal_input_attachments"],
  ["pixel_local", "chromium_experimental_pixel_local"],
]);
