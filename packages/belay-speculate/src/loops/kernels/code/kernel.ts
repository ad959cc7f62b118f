import type { Loop, LoopArray, NumberType } from "../../tree/ir.ts";
import { arithmeticFor } from "./arithmetic.ts";
import { type ArrayAccess, bufferType, emitPeek, emitPoke } from "./memory.ts";
import { wgslName } from "./names.ts";
import { declareParameters } from "./parameters.ts";

/** A kernel's text and bindings. The `n`th of its bindings is at `@binding(n)` of group 0. */
export interface LoopKernel {
  /** The name of the entry point. */
  readonly name: string;
  readonly code: string;
  readonly bindings: readonly KernelBinding[];
}

/** Functions that make kernels, by their names. A loop never needs all of its kernels. */
export type KernelMakers<Name extends string> = Readonly<Record<Name, () => LoopKernel>>;

export interface KernelBinding {
  /** The name of a buffer of the engine, or `array_x` for the memory of the loop's array x. */
  readonly name: string;
  readonly access: "uniform" | ArrayAccess;
}

/** A buffer that a kernel uses besides the loop's arrays. */
export interface EngineBuffer extends KernelBinding {
  /** The WGSL type. */
  readonly type: string;
}

/**
 * The override constant that gives the workgroup size of every kernel of a loop. It is set when the
 * kernel is compiled for a device.
 */
export const workgroupSize = "group_size";

/**
 * The parameters that tell an invocation its position in the grid. The workgroups may fill two
 * dimensions.
 */
export const placeInGrid = `
@builtin(workgroup_id) workgroup: vec3u,
@builtin(num_workgroups) workgroups: vec3u,
@builtin(local_invocation_index) local: u32`.trim();

/** The invocation's number, from the built-in values of {@link placeInGrid}. */
export const numberInGrid = `(workgroup.y * workgroups.x + workgroup.x) * ${workgroupSize} + local`;

export interface KernelParts {
  readonly name: string;
  readonly loop: Loop;
  readonly parameters: ReadonlyMap<string, NumberType>;
  readonly resources: readonly EngineBuffer[];
  /** Declarations that need only the resources, such as structs. */
  readonly declarations: readonly string[];
  /**
   * The entry point and the functions that it calls. They may `peek` at and `poke` into the loop's
   * arrays.
   */
  readonly functions: readonly string[];
}

/**
 * Assembles a module. It declares only the resources, arrays and arithmetic that the functions use.
 */
export function assembleKernel(parts: KernelParts): LoopKernel {
  const body = parts.functions.join("\n\n");
  const arrays = parts.loop.arrays.flatMap((array) => accessIn(body, array) ?? []);
  const resources: EngineBuffer[] = [
    { name: "params", access: "uniform", type: "Parameters" },
    ...parts.resources.filter(({ name }) => new RegExp(`\\b${name}\\b`).test(body)),
    ...arrays.map(({ array, access }) => ({
      name: `array_${wgslName(array.name)}`,
      access,
      type: bufferType(array, access),
    })),
  ];
  const memory = arrays.flatMap(({ array, access }) => [
    emitPeek(array, access),
    ...(access === "write" ? [emitPoke(array)] : []),
  ]);
  const code = [
    ...(usesWorkgroupSize(body) ? [`override ${workgroupSize}: u32;`] : []),
    declareParameters(parts.parameters),
    ...parts.declarations,
    resources.map(declareResource).join("\n"),
    ...memory,
    body,
  ].join("\n\n");
  const bindings = resources.map(({ name, access }) => ({ name, access }));
  return {
    name: parts.name,
    code: `${code}\n\n${arithmeticFor(code, parts.loop.functions)}`.trimEnd().concat("\n"),
    bindings,
  };
}

/** Returns true if a kernel with this code needs the override constant of its workgroup size. */
export function usesWorkgroupSize(code: string): boolean {
  return new RegExp(`\\b${workgroupSize}\\b`).test(code);
}

function declareResource({ name, access, type }: EngineBuffer, binding: number): string {
  const space = { uniform: "uniform", read: "storage, read", write: "storage, read_write" }[access];
  return `@group(0) @binding(${binding}) var<${space}> ${name}: ${type};`;
}

function accessIn(body: string, array: LoopArray): { array: LoopArray; access: ArrayAccess }[] | null {
  const name = wgslName(array.name);
  if (body.includes(`poke_${name}(`)) return [{ array, access: "write" }];
  return body.includes(`peek_${name}(`) ? [{ array, access: "read" }] : null;
}
