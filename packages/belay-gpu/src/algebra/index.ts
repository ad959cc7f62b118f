/** Checks by algebra: sums of products in kernels, and the check of their results. */

export type { BindingPoint } from "../analysis/bindings.ts";
export type { KnownDispatch } from "../analysis/filledBytes/filledBytes.ts";
export type { SumsChecker } from "../runtime/context/sumsChecker.ts";
export { type AlgebraOptions, algebra } from "./algebra.ts";
export type { Operand } from "./operand.ts";
export type { Dimension, SumsOfProducts, Window } from "./sums.ts";
export { type Mismatch, SumsCheck, type SumsVerdict } from "./sumsCheck.ts";
export { findSumsOfProducts, type Unrecognized } from "./sumsOfProducts.ts";
export type { CheckedBuffers } from "./sumsPipelines.ts";
export type { Format, Precision } from "./symbols.ts";
