/** The sizes of a transformer, and of a run of it. */
export interface Shape {
  readonly layers: number;
  /** The numbers that describe a token between two layers. */
  readonly width: number;
  readonly heads: number;
  /** The heads of keys and values, each of which several heads of queries share. */
  readonly groups: number;
  /** The numbers between the two products of a layer's network. */
  readonly hidden: number;
  readonly vocabulary: number;
  /** The tokens of the prompt. */
  readonly prompt: number;
  /** The tokens that are generated after the first one. */
  readonly tokens: number;
}

/** The number format of activations, scales and the cache of keys and values. */
export type ModelPrecision = "f32" | "f16";

export const shapes = {
  /** A few workgroups, for thousands of consecutive runs. */
  campaign: { layers: 1, width: 64, heads: 2, groups: 1, hidden: 96, vocabulary: 150, prompt: 5, tokens: 2 },
  /** A fraction of a second on a software adapter. Prompt and vocabulary end inside a tile. */
  small: { layers: 2, width: 128, heads: 4, groups: 2, hidden: 224, vocabulary: 331, prompt: 37, tokens: 4 },
  /** The shape of TinyLlama, with 1.1e9 weights. */
  full: {
    layers: 22,
    width: 2048,
    heads: 32,
    groups: 4,
    hidden: 5632,
    vocabulary: 32_000,
    prompt: 512,
    tokens: 32,
  },
} as const satisfies Readonly<Record<string, Shape>>;

/** Returns the numbers of one head. */
export const headWidth = ({ width, heads }: Shape): number => width / heads;

/** Returns the tokens for which keys and values are kept. */
export const contextOf = ({ prompt, tokens }: Shape): number => prompt + tokens;

/** A matrix of a layer, or one that all layers share. */
export interface MatrixShape {
  readonly rows: number;
  readonly columns: number;
}

/** Returns the matrices of a transformer: those of each layer, and those of its two ends. */
export function matricesOf(shape: Shape) {
  const { width, groups, hidden, vocabulary } = shape;
  return {
    layer: {
      /** Queries, keys and values, one below the other. */
      attention: { rows: width + 2 * groups * headWidth(shape), columns: width },
      attended: { rows: width, columns: width },
      /** The gates above the values that they scale. */
      expanded: { rows: 2 * hidden, columns: width },
      contracted: { rows: width, columns: hidden },
    },
    embedding: { rows: vocabulary, columns: width },
    logits: { rows: vocabulary, columns: width },
  } as const satisfies Record<string, MatrixShape | Record<string, MatrixShape>>;
}
