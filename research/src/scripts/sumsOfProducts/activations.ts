import type { CapturedDispatch } from "./captured.js";
import { type NewDevice, ownProduct } from "./products.js";

/** A function of WGSL: of a sum `x`, of its column, and of the number `i` of its result. */
interface Activation {
  readonly text: string;
  /** The functions that it calls. */
  readonly functions?: string;
  /** The largest slope. */
  readonly slope: number;
  /** True for a function that loads from a further buffer, `beside`. */
  readonly loads?: boolean;
  /** True for a function with results in f16. */
  readonly isHalf?: boolean;
}

export const activations: Readonly<Record<string, Activation>> = {
  relu: { text: "max(x, 0.0)", slope: 1 },
  gelu: { text: "0.5 * x * (1.0 + tanh(0.7978845608 * (x + 0.044715 * x * x * x)))", slope: 1.13 },
  affine: { text: "max(2.5 * x + 0.5, 0.0) * 3.0", slope: 7.5 },
  mix: { text: "mix(max(x, 0.0), x, 0.3)", slope: 1 },
  elu: {
    text: "elu(x)",
    functions: "fn elu(x: f32) -> f32 { if (x >= 0.0) { return x; } return exp(x) - 1.0; }",
    slope: 1,
  },
  swish: { text: "x * (1.0 / (1.0 + exp(-x)))", slope: 1.1 },
  smoothstep: { text: "smoothstep(-20.0, 20.0, x)", slope: 0.04 },
  prelu: { text: "select(beside[column] * x, x, x >= 0.0)", slope: 1, loads: true },
  residual: { text: "max(x, 0.0) + beside[i]", slope: 1, loads: true },
  half: { text: "f16(max(x, 0.0))", slope: 1, isHalf: true },
  halfSwish: { text: "f16(x) / (1.0h + exp(-f16(x)))", slope: 1.1, isHalf: true },
};

/** Returns the names of the activations that a device can compute. */
export const activationsOn = ({ features }: GPUDevice): string[] =>
  Object.keys(activations).filter((name) => features.has("shader-f16") || !activations[name]!.isHalf);

/** Returns the own product of a size, with a function of each sum. */
export async function activatedProduct(
  newDevice: NewDevice,
  size: number,
  activation: string,
): Promise<CapturedDispatch> {
  const dispatch = await ownProduct(newDevice, size);
  const { text, functions = "", loads, isHalf } = activations[activation]!;
  const format = isHalf ? "f16" : "f32";
  const source = dispatch.source
    .replace(/\[([^\]]*)\] = (upper|lower);/g, "[$1] = activated($2, column, $1);")
    .replace("product: array<f32>", `product: array<${format}>`);
  const further = loads ? "@group(0) @binding(4) var<storage, read> beside: array<f32>;" : "";
  const beside = { group: 0, binding: 4, size: 4 * size * size, uniform: undefined };
  const bindings = dispatch.bindings.map((each) =>
    isHalf && each.binding === 3 ? { ...each, size: each.size / 2 } : each,
  );
  return {
    ...dispatch,
    source: `${isHalf ? "enable f16;" : ""}${source}
${further}
${functions}
fn activated(x: f32, column: u32, i: u32) -> ${format} { return ${text}; }`,
    bindings: [...bindings, ...(loads ? [beside] : [])],
  };
}
