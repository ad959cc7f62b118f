/** The reference executor: compute kernels on the CPU, as the WGSL specification defines them. */

export type { Span } from "../diagnostics/diagnostic.ts";
export { createReferenceBuffer, type FloatRange, type ReferenceBuffer } from "./buffers.ts";
export { referenceDevice } from "./referenceDevice.ts";
export {
  type BoundBuffer,
  createReference,
  type ReferenceDispatch,
  type ReferenceKernel,
  type ReferenceOptions,
  type ReferenceOutcome,
  type ReferenceSource,
  type UndecidedResult,
  type UnsupportedConstruct,
} from "./referenceKernel.ts";
export {
  type BoundTexture,
  createReferenceTexture,
  type ReferenceTexture,
  type ReferenceTextureDescriptor,
} from "./textures.ts";
