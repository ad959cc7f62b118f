import type { CapturedDispatch } from "./captured.js";
import { type NewDevice, ownProduct } from "./products.js";

/** Functions of WGSL, each with the largest slope that it has. */
export const activations = {
  relu: { text: "max(x, 0.0)", slope: 1 },
  gelu: { text: "0.5 * x * (1.0 + tanh(0.7978845608 * (x + 0.044715 * x * x * x)))", slope: 1.13 },
} as const;
export type Activation = keyof typeof activations;
export const activationNames = Object.keys(activations) as Activation[];

/** Returns the own product of a size, with a function of each sum. */
export async function activatedProduct(
  newDevice: NewDevice,
  size: number,
  activation: Activation,
): Promise<CapturedDispatch> {
  const dispatch = await ownProduct(newDevice, size);
  const source = dispatch.source.replace(/= (upper|lower);/g, "= activated($1);");
  const text = `fn activated(x: f32) -> f32 { return ${activations[activation].text}; }`;
  return { ...dispatch, source: `${source}\n${text}` };
}
