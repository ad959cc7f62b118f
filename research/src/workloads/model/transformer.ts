import { bindBuffers, resultBuffer, uploadBuffer } from "../buffers.ts";
import { type KernelName, kernelsOf, ROWS_PER_WORKGROUP, TILE } from "./kernels.ts";
import {
  contextOf,
  headWidth,
  type MatrixShape,
  type ModelPrecision,
  matricesOf,
  type Shape,
} from "./shape.ts";
import {
  BLOCK,
  chanceAt,
  halfBits,
  makeGain,
  makeMatrix,
  makePrompt,
  makeRotations,
  type QuantizedMatrix,
  WEIGHTS_PER_WORD,
} from "./weights.ts";

/** The weights and inputs of a transformer, as functions of a seed. */
export interface Made {
  readonly embedding: QuantizedMatrix;
  readonly layers: readonly MadeLayer[];
  readonly gain: Float32Array;
  readonly logits: QuantizedMatrix;
  readonly prompt: Uint32Array;
  /** Returns the number in [0, 1) that chooses the token after a position. */
  chance(position: number): number;
}

export interface MadeLayer {
  readonly attentionGain: Float32Array;
  readonly attention: QuantizedMatrix;
  readonly attended: QuantizedMatrix;
  readonly networkGain: Float32Array;
  readonly expanded: QuantizedMatrix;
  readonly contracted: QuantizedMatrix;
}

/** Makes all weights and inputs. */
export function makeModel(shape: Shape, seed: number): Made {
  let stream = seed;
  // A matrix takes two streams.
  const next = () => (stream += 2);
  const { layer, embedding, logits } = matricesOf(shape);
  return {
    embedding: makeMatrix(embedding, next()),
    layers: Array.from({ length: shape.layers }, () => ({
      attentionGain: makeGain(shape.width, next()),
      attention: makeMatrix(layer.attention, next()),
      attended: makeMatrix(layer.attended, next()),
      networkGain: makeGain(shape.width, next()),
      expanded: makeMatrix(layer.expanded, next()),
      contracted: makeMatrix(layer.contracted, next()),
    })),
    gain: makeGain(shape.width, next()),
    logits: makeMatrix(logits, next()),
    prompt: makePrompt(shape, next()),
    chance: (position) => chanceAt(seed, position),
  };
}

/** A transformer on a device. */
export interface Transformer {
  /** The logits of the last token of the last step, and all tokens so far. */
  readonly logits: GPUBuffer;
  readonly tokens: GPUBuffer;
  /** Encodes the prompt, and chooses the first token. */
  encodePrompt(encoder: GPUCommandEncoder): void;
  /** Encodes the token after the prompt and `generated` more, and chooses the next one. */
  encodeToken(encoder: GPUCommandEncoder, generated: number): void;
  destroy(): void;
}

/** A dispatch for a number of tokens. */
type Dispatch = (pass: GPUComputePassEncoder, tokens: number) => void;

/** Uploads a transformer and creates its pipelines. */
export function createTransformer(
  device: GPUDevice,
  {
    shape,
    precision,
    made,
  }: { readonly shape: Shape; readonly precision: ModelPrecision; readonly made: Made },
): Transformer {
  const buffers: GPUBuffer[] = [];
  const keep = (buffer: GPUBuffer) => {
    buffers.push(buffer);
    return buffer;
  };
  const bytes = precision === "f16" ? 2 : 4;
  const numbers = (count: number) => keep(resultBuffer(device, Math.ceil((count * bytes) / 4) * 4));
  const { width, heads, groups, hidden, vocabulary, prompt, tokens: generated } = shape;
  const head = headWidth(shape);
  const context = contextOf(shape);
  const { layer: matrices } = matricesOf(shape);

  const steps = keep(uploadBuffer(device, stepWords(shape, made), GPUBufferUsage.COPY_SRC));
  const stepBuffer = () =>
    keep(device.createBuffer({ size: STEP_BYTES, usage: GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST }));
  const step = stepBuffer();
  const promptStep = stepBuffer();
  device.queue.writeBuffer(promptStep, 0, stepWords(shape, made), 0, STEP_BYTES / 4);
  const tokens = keep(resultBuffer(device, 4 * (context + 1)));
  device.queue.writeBuffer(tokens, 0, made.prompt as Uint32Array<ArrayBuffer>);
  const rotations = keep(uploadBuffer(device, makeRotations(shape, context)));
  const state = numbers(prompt * width);
  const normalized = numbers(prompt * width);
  const projected = numbers(prompt * matrices.attention.rows);
  const queries = numbers(prompt * width);
  const attended = numbers(prompt * width);
  const expanded = numbers(prompt * 2 * hidden);
  const gated = numbers(prompt * hidden);
  const logits = keep(resultBuffer(device, 4 * vocabulary));
  const probabilities = keep(resultBuffer(device, 4 * vocabulary));

  const pipelineOf = pipelinesOf(device, kernelsOf(shape, precision));
  /** Prepares a dispatch whose workgroups are given for each token count. */
  const prepare = (
    pipeline: GPUComputePipeline,
    bound: readonly GPUBuffer[],
    workgroups: (tokens: number) => readonly [x: number, y: number],
  ): Dispatch => {
    const bindings = bindBuffers(device, pipeline, ...bound);
    return (pass, count) => {
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, bindings);
      pass.dispatchWorkgroups(...workgroups(count));
    };
  };
  /** Prepares an elementwise kernel with `perToken` invocations for each token. */
  const prepareMap = (name: KernelName, perToken: number, ...bound: GPUBuffer[]): Dispatch =>
    prepare(pipelineOf(name), bound, (count) => [Math.ceil(perToken / 64), count]);
  /**
   * Prepares a product. A step of one token is a product with a vector. Only the prompt has more of
   * them.
   */
  const prepareProduct = (
    matrix: UploadedMatrix,
    kernels: Record<"vector" | "matrix", KernelName>,
    from: GPUBuffer,
    to: GPUBuffer,
  ): Dispatch => {
    const { rows, columns, words, scales } = matrix;
    const constants = { ROWS: rows, BLOCKS: columns / BLOCK };
    const bound = [words, scales, from, to];
    const vector = prepare(pipelineOf(kernels.vector, constants), [step, ...bound], () => [
      Math.ceil(rows / ROWS_PER_WORKGROUP),
      1,
    ]);
    const matrixProduct = prepare(pipelineOf(kernels.matrix, constants), [promptStep, ...bound], (count) => [
      Math.ceil(rows / TILE),
      Math.ceil(count / TILE),
    ]);
    return (pass, count) => (count === 1 ? vector : matrixProduct)(pass, count);
  };
  const prepareNormalize = (gain: Float32Array) =>
    prepare(
      pipelineOf("normalize"),
      [state, keep(uploadNumbers(device, gain, precision)), normalized],
      (count) => [count, 1],
    );
  const upload = (matrix: QuantizedMatrix): UploadedMatrix => {
    const uploaded = uploadMatrix(device, matrix, precision);
    keep(uploaded.words);
    keep(uploaded.scales);
    return uploaded;
  };

  const table = upload(made.embedding);
  const begin = prepareMap("embed", width / WEIGHTS_PER_WORD, step, tokens, table.words, table.scales, state);
  const layers = made.layers.map((layer): readonly Dispatch[] => {
    const keys = numbers(context * groups * head);
    const values = numbers(context * groups * head);
    return [
      prepareNormalize(layer.attentionGain),
      prepareProduct(upload(layer.attention), assigning, normalized, projected),
      prepareMap(
        "rotate",
        ((heads + 2 * groups) * head) / 2,
        step,
        projected,
        rotations,
        queries,
        keys,
        values,
      ),
      prepare(pipelineOf("attend"), [step, queries, keys, values, attended], (count) => [heads, count]),
      prepareProduct(upload(layer.attended), adding, attended, state),
      prepareNormalize(layer.networkGain),
      prepareProduct(upload(layer.expanded), assigning, normalized, expanded),
      prepareMap("gate", hidden / 4, expanded, gated),
      prepareProduct(upload(layer.contracted), adding, gated, state),
    ];
  });
  const last = upload(made.logits);
  const once = (): readonly [number, number] => [1, 1];
  const end = [
    prepareNormalize(made.gain),
    prepare(
      pipelineOf("computeLogits", { ROWS: last.rows, BLOCKS: last.columns / BLOCK }),
      [step, last.words, last.scales, normalized, logits],
      () => [Math.ceil(last.rows / ROWS_PER_WORKGROUP), 1],
    ),
    prepare(pipelineOf("softmax"), [logits, probabilities], once),
    prepare(pipelineOf("sample"), [step, probabilities, tokens], once),
  ];

  const encode = (encoder: GPUCommandEncoder, index: number, count: number) => {
    encoder.copyBufferToBuffer(steps, index * STEP_BYTES, step, 0, STEP_BYTES);
    const pass = encoder.beginComputePass();
    for (const dispatch of [begin, ...layers.flat(), ...end]) dispatch(pass, count);
    pass.end();
  };
  return {
    logits,
    tokens,
    encodePrompt: (encoder) => encode(encoder, 0, prompt),
    encodeToken(encoder, index) {
      if (index >= generated) throw new RangeError(`the model has room for ${generated} tokens`);
      encode(encoder, index + 1, 1);
    },
    destroy() {
      for (const buffer of buffers) buffer.destroy();
    },
  };
}

const assigning = { vector: "multiplyVector", matrix: "multiplyMatrix" } as const;
const adding = { vector: "addVectorProduct", matrix: "addMatrixProduct" } as const;

/** Returns a function that creates each pipeline and each module once. */
function pipelinesOf(device: GPUDevice, kernels: Readonly<Record<KernelName, string>>) {
  const modules = new Map<KernelName, GPUShaderModule>();
  const pipelines = new Map<string, GPUComputePipeline>();
  return (name: KernelName, constants: Record<string, number> = {}): GPUComputePipeline => {
    const key = JSON.stringify([name, constants]);
    let pipeline = pipelines.get(key);
    if (!pipeline) {
      const module = modules.get(name) ?? device.createShaderModule({ code: kernels[name] });
      modules.set(name, module);
      pipeline = device.createComputePipeline({
        label: name,
        layout: "auto",
        compute: { module, constants },
      });
      pipelines.set(key, pipeline);
    }
    return pipeline;
  };
}

const STEP_BYTES = 16;

/** Returns the words of all steps: the prompt, and then a token each. */
function stepWords({ prompt, tokens }: Shape, { chance }: Made): Uint32Array<ArrayBuffer> {
  const words = new Uint32Array((tokens + 1) * (STEP_BYTES / 4));
  const chances = new Float32Array(words.buffer);
  for (let i = 0; i <= tokens; i++) {
    const [start, count] = i === 0 ? [0, prompt] : [prompt + i - 1, 1];
    words.set([start, count], (i * STEP_BYTES) / 4);
    chances[(i * STEP_BYTES) / 4 + 2] = chance(start + count - 1);
  }
  return words;
}

interface UploadedMatrix extends MatrixShape {
  readonly words: GPUBuffer;
  readonly scales: GPUBuffer;
}

function uploadMatrix(device: GPUDevice, matrix: QuantizedMatrix, precision: ModelPrecision): UploadedMatrix {
  const { rows, columns, words, scales } = matrix;
  return {
    rows,
    columns,
    words: uploadBuffer(device, words),
    scales: uploadNumbers(device, scales, precision),
  };
}

function uploadNumbers(device: GPUDevice, data: Float32Array, precision: ModelPrecision): GPUBuffer {
  if (precision === "f32") return uploadBuffer(device, data);
  const halves = new Uint16Array(2 * Math.ceil(data.length / 2));
  for (let i = 0; i < data.length; i++) halves[i] = halfBits(data[i]!);
  return uploadBuffer(device, new Uint32Array(halves.buffer));
}
