/**
 * ALVINN, a network that steers a vehicle: one step of its training by back-propagation, forwards and backwards.
 *
 * Documented (Feng, Gupta, Bhuyan, "Optimistic parallelism on GPUs", 2014; Pomerleau, "ALVINN: an autonomous land vehicle in a neural
 * network", 1989): 1220 inputs, 30 hidden units, 30 outputs; four loops, whose arrays are pointers, so that no compiler tells them
 * apart, and which have no dependences at all. Inferred: what each loop computes, in particular the momentum of the changes.
 */
import { randomFloats } from "../random.ts";
import { type LoopProgram, wrong } from "./loopProgram.ts";

const RATE = 0.25;
const MOMENTUM = 0.5;

/** Weights have a row for each unit that they come from; `changes` are those of the step before. */
export async function alvinn(
  input: Float32Array,
  toHidden: Float32Array,
  hiddenChanges: Float32Array,
  hidden: Float32Array,
  hiddenErrors: Float32Array,
  toOutput: Float32Array,
  outputChanges: Float32Array,
  output: Float32Array,
  outputErrors: Float32Array,
  target: Float32Array,
) {
  "use speculate";
  const inputs = input.length;
  const hiddens = hidden.length;
  const outputs = output.length;

  //#pragma omp for target(webgpu) speculate(hidden)
  for (let j = 0; j < hiddens; j++) {
    let sum = 0;
    for (let i = 0; i < inputs; i++) sum += input[i]! * toHidden[i * hiddens + j]!;
    hidden[j] = 1 / (1 + Math.exp(-sum));
  }

  //#pragma omp for target(webgpu) speculate(output, outputErrors)
  for (let k = 0; k < outputs; k++) {
    let sum = 0;
    for (let j = 0; j < hiddens; j++) sum += hidden[j]! * toOutput[j * outputs + k]!;
    const activation = 1 / (1 + Math.exp(-sum));
    output[k] = activation;
    outputErrors[k] = (target[k]! - activation) * activation * (1 - activation);
  }

  //#pragma omp for target(webgpu) speculate(hiddenErrors, outputChanges, toOutput)
  for (let j = 0; j < hiddens; j++) {
    const activation = hidden[j]!;
    let sum = 0;
    for (let k = 0; k < outputs; k++) {
      const weight = toOutput[j * outputs + k]!;
      const error = outputErrors[k]!;
      const change = RATE * error * activation + MOMENTUM * outputChanges[j * outputs + k]!;
      sum += error * weight;
      outputChanges[j * outputs + k] = change;
      toOutput[j * outputs + k] = weight + change;
    }
    hiddenErrors[j] = sum * activation * (1 - activation);
  }

  //#pragma omp for target(webgpu) speculate(hiddenChanges, toHidden)
  for (let i = 0; i < inputs; i++) {
    const activation = input[i]!;
    for (let j = 0; j < hiddens; j++) {
      const change = RATE * hiddenErrors[j]! * activation + MOMENTUM * hiddenChanges[i * hiddens + j]!;
      hiddenChanges[i * hiddens + j] = change;
      toHidden[i * hiddens + j] = toHidden[i * hiddens + j]! + change;
    }
  }
}

export interface AlvinnOptions {
  readonly inputs?: number;
  readonly hiddens?: number;
  readonly outputs?: number;
  readonly seed?: number;
}

export function create(options: AlvinnOptions = {}): LoopProgram<Parameters<typeof alvinn>> {
  const { inputs = 1220, hiddens = 30, outputs = 30, seed = 1 } = options;
  const random = (length: number, magnitude: number, stream: number) =>
    randomFloats(length, seed + stream).map((value) => value * magnitude);
  const weights = { hidden: inputs * hiddens, output: hiddens * outputs };
  const fresh = (): Parameters<typeof alvinn> => [
    random(inputs, 1, 0).map(Math.abs),
    random(weights.hidden, 2 / Math.sqrt(inputs), 1),
    random(weights.hidden, 0.01, 2),
    new Float32Array(hiddens),
    new Float32Array(hiddens),
    random(weights.output, 2 / Math.sqrt(hiddens), 3),
    random(weights.output, 0.01, 4),
    new Float32Array(outputs),
    new Float32Array(outputs),
    random(outputs, 1, 5).map(Math.abs),
  ];
  return {
    iterations: hiddens + outputs + hiddens + inputs,
    inputs: fresh,
    verify(left) {
      const expected = train(fresh().map(exactly), { inputs, hiddens, outputs });
      for (const [argument, values] of expected.entries()) {
        const array = left[argument]!;
        for (const [i, { value, error }] of values.entries()) {
          if (Math.abs(array[i]! - value) <= error) continue;
          return wrong(`element ${i} of argument ${argument}`, array[i], value);
        }
      }
      return {
        ok: true,
        message: `the network of ${inputs}, ${hiddens} and ${outputs} units is within rounding`,
      };
    },
  };
}

/** A real number, and how far an f32 that was computed as it was may be off. */
interface Bounded {
  readonly value: number;
  readonly error: number;
}

/** A rounding, in either direction, as WGSL leaves that open. */
const ROUNDING = 2 ** -23;

const exactly = (values: Float32Array): Bounded[] => Array.from(values, (value) => ({ value, error: 0 }));
const rounded = (value: number, error: number): Bounded => ({
  value,
  error: error + ROUNDING * Math.abs(value),
});

const plus = (a: Bounded, b: Bounded) => rounded(a.value + b.value, a.error + b.error);
const times = (a: Bounded, b: Bounded) =>
  rounded(a.value * b.value, Math.abs(a.value) * b.error + Math.abs(b.value) * a.error + a.error * b.error);
const minus = (a: Bounded, b: Bounded) => plus(a, { value: -b.value, error: b.error });
const one: Bounded = { value: 1, error: 0 };

/** The order of a sum is open too: each of its roundings is at most one of all magnitudes. */
function sumOfProducts(count: number, factors: (i: number) => readonly [Bounded, Bounded]): Bounded {
  let [value, error, magnitude] = [0, 0, 0];
  for (let i = 0; i < count; i++) {
    const product = times(...factors(i));
    value += product.value;
    error += product.error;
    magnitude += Math.abs(product.value);
  }
  return { value, error: error + count * ROUNDING * magnitude };
}

/** Its slope is at most 1/4; an exponential may be off by 3 + 2·|x| units, and the division by 2.5. */
function sigmoid({ value, error }: Bounded): Bounded {
  const result = 1 / (1 + Math.exp(-value));
  return { value: result, error: error / 4 + (3 + 2 * Math.abs(value) + 2.5 + 1) * ROUNDING * result };
}

function train(
  [input, toHidden, hiddenChanges, , , toOutput, outputChanges, , , target]: Bounded[][],
  { inputs, hiddens, outputs }: Required<Omit<AlvinnOptions, "seed">>,
): Bounded[][] {
  const units = (count: number, make: (i: number) => Bounded) =>
    Array.from({ length: count }, (_, i) => make(i));
  const slope = (activation: Bounded) => times(activation, minus(one, activation));
  const hidden = units(hiddens, (j) =>
    sigmoid(sumOfProducts(inputs, (i) => [input![i]!, toHidden![i * hiddens + j]!])),
  );
  const output = units(outputs, (k) =>
    sigmoid(sumOfProducts(hiddens, (j) => [hidden[j]!, toOutput![j * outputs + k]!])),
  );
  const outputErrors = output.map((activation, k) =>
    times(minus(target![k]!, activation), slope(activation)),
  );
  const hiddenErrors = hidden.map((activation, j) => {
    const sum = sumOfProducts(outputs, (k) => [outputErrors[k]!, toOutput![j * outputs + k]!]);
    return times(sum, slope(activation));
  });
  const change = (error: Bounded, activation: Bounded, before: Bounded) =>
    plus(
      times(times({ value: RATE, error: 0 }, error), activation),
      times({ value: MOMENTUM, error: 0 }, before),
    );
  const changedOutput = outputChanges!.map((before, i) =>
    change(outputErrors[i % outputs]!, hidden[Math.floor(i / outputs)]!, before),
  );
  const changedHidden = hiddenChanges!.map((before, i) =>
    change(hiddenErrors[i % hiddens]!, input![Math.floor(i / hiddens)]!, before),
  );
  return [
    input!,
    toHidden!.map((weight, i) => plus(weight, changedHidden[i]!)),
    changedHidden,
    hidden,
    hiddenErrors,
    toOutput!.map((weight, i) => plus(weight, changedOutput[i]!)),
    changedOutput,
    output,
    outputErrors,
    target!,
  ];
}
