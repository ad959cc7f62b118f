/**
 * The two halves of a transformer's work as programs of their own. Weights are 4-bit numbers that a
 * generator made, and results are compared with the same model in 64-bit floats.
 */

import { readBuffers } from "../buffers.ts";
import { type Prepared, runOnce, type Verdict, type VerifiableProgram } from "../program.ts";
import { create as createConvolution } from "./convolution.ts";
import { kernelsOf, TEMPERATURE } from "./kernels.ts";
import { ReferenceTransformer, softmax } from "./reference.ts";
import {
  contextOf,
  headWidth,
  type MatrixShape,
  type ModelPrecision,
  matricesOf,
  type Shape,
  shapes,
} from "./shape.ts";
import { createTransformer, type Made, makeModel, type Transformer } from "./transformer.ts";

export interface ModelOptions {
  readonly shape: Shape;
  /** The number format of what is kept; 16-bit floats need the feature `shader-f16`. */
  readonly precision?: ModelPrecision;
}

type ModelOutputs = { logits: Float32Array; tokens: Uint32Array };

/** Creates the first half: reads a prompt, and chooses the first token after it. */
export function createPrefill(options: ModelOptions): VerifiableProgram<ModelOutputs> {
  return createProgram(options, {
    tokens: 1,
    encode: (transformer, encoder) => transformer.encodePrompt(encoder),
  });
}

/** Creates the second half: generates tokens one after the other. The prompt was read before. */
export function createDecode(options: ModelOptions): VerifiableProgram<ModelOutputs> {
  const { tokens } = options.shape;
  return createProgram(options, {
    tokens: tokens + 1,
    encode(transformer, encoder) {
      for (let i = 0; i < tokens; i++) transformer.encodeToken(encoder, i);
    },
    prepare(transformer, device) {
      const encoder = device.createCommandEncoder();
      transformer.encodePrompt(encoder);
      device.queue.submit([encoder.finish()]);
    },
  });
}

/** Both halves with each number format, and a layer of another network, for campaigns. */
export const campaignModels = [
  { name: "convolution", campaign: () => createConvolution() },
  ...[
    { name: "prefill", create: createPrefill, precision: "f32" },
    { name: "prefillHalf", create: createPrefill, precision: "f16" },
    { name: "decode", create: createDecode, precision: "f32" },
    { name: "decodeHalf", create: createDecode, precision: "f16" },
  ].map(({ name, create, precision }) => ({
    name,
    campaign: () => create({ shape: shapes.campaign, precision: precision as ModelPrecision }),
  })),
];

interface Part {
  /** The tokens after the prompt that are chosen when the part has run. */
  readonly tokens: number;
  encode(transformer: Transformer, encoder: GPUCommandEncoder): void;
  /** Runs what the part relies on. */
  prepare?(transformer: Transformer, device: GPUDevice): void;
}

function createProgram(
  { shape, precision = "f32" }: ModelOptions,
  part: Part,
): VerifiableProgram<ModelOutputs> {
  const made = makeModel(shape, 1);
  const prepare = (device: GPUDevice): Prepared<ModelOutputs> => {
    const transformer = createTransformer(device, { shape, precision, made });
    part.prepare?.(transformer, device);
    return {
      encode: (encoder) => part.encode(transformer, encoder),
      async read() {
        const bytes = await readBuffers(device, transformer.logits, transformer.tokens);
        const tokens = new Uint32Array(bytes, transformer.logits.size);
        return {
          logits: new Float32Array(bytes, 0, shape.vocabulary),
          tokens: tokens.slice(shape.prompt, shape.prompt + part.tokens),
        };
      },
      destroy: () => transformer.destroy(),
    };
  };
  return {
    prepare,
    workload: runOnce(prepare),
    verify: (outputs) => verify(outputs, shape, made, precision),
    kernelSources: kernelsOf(shape, precision),
    work: workOf(shape, precision, part.tokens),
  };
}

/**
 * The largest accepted error of a logit, in standard deviations of all logits. Sums have 32 bits,
 * so the precision of what is kept decides.
 */
const LOGIT_ERROR: Readonly<Record<ModelPrecision, number>> = { f32: 1e-4, f16: 0.05 };

/**
 * Compares the last logits with those of the reference after the same tokens, and each token with
 * the interval of chances that chooses it.
 */
function verify(
  { logits, tokens }: ModelOutputs,
  shape: Shape,
  made: Made,
  precision: ModelPrecision,
): Verdict {
  const reference = new ReferenceTransformer(shape, made);
  let expected: Float64Array = new Float64Array();
  for (const token of made.prompt) expected = reference.append(token);
  const error = LOGIT_ERROR[precision];
  for (const [i, token] of tokens.entries()) {
    if (i > 0) expected = reference.append(tokens[i - 1]!);
    if (token >= shape.vocabulary) return wrong(`tokens[${i}]`, token, `a token below ${shape.vocabulary}`);
    const chance = made.chance(shape.prompt + i - 1);
    const probabilities = softmax(expected, TEMPERATURE);
    const before = probabilities.subarray(0, token).reduce((sum, x) => sum + x, 0);
    // An error of all logits changes a probability by this factor at most.
    const slack = Math.expm1((2 * error) / TEMPERATURE);
    if (chance < before - slack || chance > before + probabilities[token]! + slack) {
      return wrong(`tokens[${i}]`, token, `a token at ${chance} of the sum, not at ${before}`);
    }
  }
  const deviation = Math.sqrt(expected.reduce((sum, x) => sum + x * x, 0) / expected.length);
  for (const [i, logit] of logits.entries()) {
    if (Math.abs(logit - expected[i]!) <= error * deviation) continue;
    return wrong(`logits[${i}]`, logit, String(expected[i]));
  }
  return { ok: true, message: `${tokens.length} tokens and all logits are those of the reference` };
}

const wrong = (what: string, is: number, expected: string): Verdict => ({
  ok: false,
  message: `${what} is ${is} instead of ${expected}`,
});

/** Returns the weights and the cache that a run has to load, and its products. */
function workOf(shape: Shape, precision: ModelPrecision, tokens: number): VerifiableProgram["work"] {
  const { layer, logits } = matricesOf(shape);
  const weights = (matrices: readonly MatrixShape[]) =>
    matrices.reduce((sum, { rows, columns }) => sum + rows * columns, 0);
  const inLayers = shape.layers * weights(Object.values(layer));
  const all = inLayers + weights([logits]);
  // The prompt is one step. Each further token is a step too.
  const steps = tokens === 1 ? 1 : tokens - 1;
  const tokensOfLayers = tokens === 1 ? shape.prompt : steps;
  const kept = precision === "f16" ? 2 : 4;
  const cache = 2 * shape.layers * contextOf(shape) * shape.groups * headWidth(shape) * kept;
  return {
    bytes: steps * (all / 2 + (all / 32) * kept + cache),
    flops: 2 * (tokensOfLayers * inLayers + steps * weights([logits])),
  };
}
