import type { BindingAccess, BindingPoint } from "../../compiler/contract.ts";
import type { KernelSource } from "../../compiler/filledBytes.ts";
import type { BufferRange } from "../webgpu/resources.ts";

/** A dispatch of a known kernel on a known grid, with its buffers. */
export interface DispatchCall {
  readonly kernel: KernelSource;
  readonly grid: readonly number[];
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
