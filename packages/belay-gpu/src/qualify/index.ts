/** Tries whether a device computes kernels right, before a program trusts it. */

export type { ReferenceSource } from "../reference/referenceKernel.ts";
export type {
  Dispute,
  KernelBuffer,
  KernelCase,
  KernelToQualify,
  Qualification,
  WrongWord,
} from "./qualification.ts";
export { type QualifyOptions, type QualifyProgress, qualify } from "./qualify.ts";
