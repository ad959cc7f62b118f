/** The reference executor: compute kernels on the CPU, as the WGSL specification defines them. */

export type { Span } from "../diagnostics/diagnostic.ts";
export { createReferenceBuffer, type FloatRange, type ReferenceBuffer } from "./buffers.ts";
export { createReference, type ReferenceOptions } from "./createReference.ts";
export { referenceDevice } from "./referenceDevice.ts";
export type {
  BoundBuffer,
  ReferenceDispatch,
  ReferenceKernel,
  ReferenceOutcome,
  ReferenceSource,
  UndecidedResult,
  UnsupportedConstruct,
} from "./referenceKernel.ts";
export {
  type BoundTexture,
  createReferenceTexture,
  type ReferenceTexture,
  type ReferenceTextureDescriptor,
} from "./textures.ts";
