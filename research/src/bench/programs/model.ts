/** A transformer with 4-bit weights, as a program that shows each token uses it. */

import type { ModelPrecision, Shape } from "../../workloads/model/shape.ts";
import { createTransformer, type Made, makeModel } from "../../workloads/model/transformer.ts";
import type { PreparedProgram, UsedProgram } from "./program.ts";

/** Returns the two halves of a model's work for each precision. */
export function modelPrograms(shape: Shape, precisions: readonly ModelPrecision[]): UsedProgram[] {
  // All devices get the same weights, which take seconds to make.
  let made: Made | undefined;
  const weights = () => {
    made ??= makeModel(shape, 1);
    return made;
  };
  return precisions.flatMap((precision) => {
    const program = (name: string, tokensOfRun: number): UsedProgram => ({
      name: precision === "f16" ? `${name}Half` : name,
      source: "transformer",
      prepare: (device) => prepareModel(device, { shape, precision, made: weights() }, tokensOfRun),
    });
    return [program("prefill", 0), program("decode", shape.tokens)];
  });
}

/**
 * Reads the prompt, or generates tokens after it. The host waits for each token, as it decides then
 * if the text has ended.
 */
async function prepareModel(
  device: GPUDevice,
  options: { readonly shape: Shape; readonly precision: ModelPrecision; readonly made: Made },
  tokensOfRun: number,
): Promise<PreparedProgram> {
  const model = createTransformer(device, options);
  const { shape } = options;
  const size = 4 * shape.vocabulary;
  const staging = device.createBuffer({ size, usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ });
  /** Submits a step. Resolves to its token, or to all logits. */
  const step = async (
    encode: (encoder: GPUCommandEncoder) => void,
    tokenAt?: number,
  ): Promise<Uint32Array> => {
    const encoder = device.createCommandEncoder();
    encode(encoder);
    if (tokenAt === undefined) encoder.copyBufferToBuffer(model.logits, 0, staging, 0, size);
    else encoder.copyBufferToBuffer(model.tokens, 4 * tokenAt, staging, 0, 4);
    device.queue.submit([encoder.finish()]);
    await staging.mapAsync(GPUMapMode.READ);
    const words = new Uint32Array(staging.getMappedRange().slice(0, tokenAt === undefined ? size : 4));
    staging.unmap();
    return words;
  };
  // Tokens rely on the keys and values of the prompt.
  if (tokensOfRun > 0) await step((encoder) => model.encodePrompt(encoder));
  return {
    async run() {
      if (tokensOfRun === 0) return step((encoder) => model.encodePrompt(encoder));
      const tokens: number[] = [];
      for (let i = 0; i < tokensOfRun; i++) {
        const [token] = await step((encoder) => model.encodeToken(encoder, i), shape.prompt + i + 1);
        tokens.push(token!);
      }
      return tokens;
    },
  };
}
