import type { BindingAccess, BindingPoint } from "../../compiler/contract.ts";
import type { KernelSource } from "../../compiler/filledBytes.ts";
import type { BufferRange } from "../webgpu/resources.ts";

/** A grid of workgroups: their numbers in x, y and z. */
export type Grid = readonly [x: number, y: number, z: number];

/** A dispatch of a known kernel on a known grid, with its buffers. */
export interface DispatchCall {
  readonly kernel: KernelSource;
  readonly grid: Grid;
  readonly bound: readonly BoundResource[];
}

/** A resource that a dispatch uses. */
export interface BoundResource {
  readonly of: BindingPoint;
  readonly place: BufferRange | GPUTexture;
  /** The view of a texture; absent for the default one. */
  readonly view?: GPUTextureViewDescriptor | undefined;
  readonly mode: BindingAccess["access"];
}
