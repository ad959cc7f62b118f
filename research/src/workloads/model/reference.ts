import { contextOf, headWidth, type Shape } from "./shape.ts";
import type { Made, MadeLayer } from "./transformer.ts";
import { makeRotations, type QuantizedMatrix, weightAt } from "./weights.ts";

/**
 * A transformer on the CPU, in 64-bit floats. It takes the tokens that another one chose, and tells
 * the logits that follow each of them.
 */
export class ReferenceTransformer {
  readonly #shape: Shape;
  readonly #made: Made;
  readonly #rotations: Float32Array;
  /** The keys and values of each layer, a token after the other. */
  readonly #cache: readonly { readonly keys: Float64Array[]; readonly values: Float64Array[] }[];
  readonly #dense = new Map<QuantizedMatrix, Float64Array>();

  constructor(shape: Shape, made: Made) {
    this.#shape = shape;
    this.#made = made;
    this.#rotations = makeRotations(shape, contextOf(shape));
    this.#cache = made.layers.map(() => ({ keys: [], values: [] }));
  }

  /** Appends a token. Returns the logits of the next one. */
  append(token: number): Float64Array {
    const { embedding, layers, gain, logits } = this.#made;
    const row = this.#weightsOf(embedding).subarray(token * this.#shape.width);
    const state = row.slice(0, this.#shape.width);
    layers.forEach((layer, i) => {
      this.#attend(state, layer, this.#cache[i]!);
      this.#network(state, layer);
    });
    return this.#product(logits, normalize(state, gain));
  }

  #attend(
    state: Float64Array,
    layer: MadeLayer,
    { keys, values }: { readonly keys: Float64Array[]; readonly values: Float64Array[] },
  ): void {
    const { heads, groups } = this.#shape;
    const size = headWidth(this.#shape);
    const projected = this.#product(layer.attention, normalize(state, layer.attentionGain));
    const position = keys.length;
    for (let head = 0; head < heads + groups; head++)
      this.#rotate(projected.subarray(head * size, (head + 1) * size), position);
    keys.push(projected.slice(heads * size, (heads + groups) * size));
    values.push(projected.slice((heads + groups) * size));

    const attended = new Float64Array(heads * size);
    for (let head = 0; head < heads; head++) {
      const shared = Math.floor(head / (heads / groups)) * size;
      const scores = keys.map((key) => {
        let score = 0;
        for (let i = 0; i < size; i++) score += projected[head * size + i]! * key[shared + i]!;
        return score / Math.sqrt(size);
      });
      softmax(scores).forEach((weight, at) => {
        for (let i = 0; i < size; i++) attended[head * size + i]! += weight * values[at]![shared + i]!;
      });
    }
    add(state, this.#product(layer.attended, attended));
  }

  #network(state: Float64Array, layer: MadeLayer): void {
    const { hidden } = this.#shape;
    const expanded = this.#product(layer.expanded, normalize(state, layer.networkGain));
    const gated = expanded
      .subarray(0, hidden)
      .map((gate, i) => (gate / (1 + Math.exp(-gate))) * expanded[hidden + i]!);
    add(state, this.#product(layer.contracted, gated));
  }

  #rotate(head: Float64Array, position: number): void {
    const pairs = head.length / 2;
    for (let pair = 0; pair < pairs; pair++) {
      const at = 2 * (position * pairs + pair);
      const [cosine, sine] = [this.#rotations[at]!, this.#rotations[at + 1]!];
      const [a, b] = [head[pair]!, head[pair + pairs]!];
      head[pair] = a * cosine - b * sine;
      head[pair + pairs] = b * cosine + a * sine;
    }
  }

  #product(matrix: QuantizedMatrix, vector: Float64Array): Float64Array {
    const weights = this.#weightsOf(matrix);
    const { rows, columns } = matrix;
    const product = new Float64Array(rows);
    for (let row = 0; row < rows; row++) {
      let sum = 0;
      for (let column = 0; column < columns; column++)
        sum += weights[row * columns + column]! * vector[column]!;
      product[row] = sum;
    }
    return product;
  }

  #weightsOf(matrix: QuantizedMatrix): Float64Array {
    let weights = this.#dense.get(matrix);
    if (!weights) {
      const { rows, columns } = matrix;
      weights = Float64Array.from({ length: rows * columns }, (_, i) =>
        weightAt(matrix, Math.floor(i / columns), i % columns),
      );
      this.#dense.set(matrix, weights);
    }
    return weights;
  }
}

function normalize(state: Float64Array, gain: Float32Array): Float64Array {
  const squares = state.reduce((sum, x) => sum + x * x, 0);
  const factor = 1 / Math.sqrt(squares / state.length + 1e-5);
  return state.map((x, i) => factor * x * gain[i]!);
}

function add(state: Float64Array, change: Float64Array): void {
  for (let i = 0; i < state.length; i++) state[i]! += change[i]!;
}

/** Returns numbers that add up to 1, by the exponentials of numbers. */
export function softmax(numbers: ArrayLike<number>, temperature = 1): Float64Array {
  const all = Float64Array.from(numbers);
  const highest = all.reduce((a, b) => Math.max(a, b), -Infinity);
  const powers = all.map((x) => Math.exp((x - highest) / temperature));
  const total = powers.reduce((sum, x) => sum + x, 0);
  return powers.map((x) => x / total);
}
