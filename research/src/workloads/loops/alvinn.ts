/**
 * ALVINN, a network that steers a vehicle: one training step by back-propagation, forwards and
 * backwards.
 *
 * Sources: Feng, Gupta, Bhuyan, "Optimistic parallelism on GPUs", 2014; Pomerleau, "ALVINN: an
 * autonomous land vehicle in a neural network", 1989.
 *
 * Documented: 1220 inputs, 30 hidden units, 30 outputs, and four loops without any dependence.
 * Their arrays are pointers, so no compiler tells them apart. Inferred: the computation of each
 * loop, in particular the momentum of the changes.
 */
import { randomFloats } from "../random.ts";
import { kept, type LoopProgram, wrong } from "./loopProgram.ts";

const RATE = 0.25;
const MOMENTUM = 0.5;

/**
 * Trains the network by one step. Weights have a row for each unit that they come from.
 * `hiddenChanges` and `outputChanges` hold the weights' changes of the step before.
 */
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

  //#pragma omp for target(webgpu) speculate(hidden) precision(f32)
  for (let j = 0; j < hiddens; j++) {
    let sum = 0;
    for (let i = 0; i < inputs; i++) sum += input[i]! * toHidden[i * hiddens + j]!;
    hidden[j] = 1 / (1 + Math.exp(-sum));
  }

  //#pragma omp for target(webgpu) speculate(output, outputErrors) precision(f32)
  for (let k = 0; k < outputs; k++) {
    let sum = 0;
    for (let j = 0; j < hiddens; j++) sum += hidden[j]! * toOutput[j * outputs + k]!;
    const activation = 1 / (1 + Math.exp(-sum));
    output[k] = activation;
    outputErrors[k] = (target[k]! - activation) * activation * (1 - activation);
  }

  //#pragma omp for target(webgpu) speculate(hiddenErrors, outputChanges, toOutput) precision(f32)
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

  //#pragma omp for target(webgpu) speculate(hiddenChanges, toHidden) precision(f32)
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
}

export function create(options: AlvinnOptions = {}): LoopProgram<Parameters<typeof alvinn>> {
  const { inputs = 1220, hiddens = 30, outputs = 30 } = options;
  const random = (length: number, magnitude: number, stream: number) =>
    randomFloats(length, 1 + stream).map((value) => value * magnitude);
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
  const reference = kept(() => {
    const before = fresh();
    return { before, expected: trained(before) };
  });
  return {
    iterations: hiddens + outputs + hiddens + inputs,
    inputs: fresh,
    verify(left) {
      const { before, expected } = reference();
      for (const [argument, expect] of expected.entries()) {
        const array = left[argument]!;
        for (let i = 0; i < array.length; i++) {
          const { value, error } = expect?.(i) ?? exactly(before[argument]![i]!);
          if (!(Math.abs(array[i]! - value) <= error)) {
            return wrong(`element ${i} of argument ${argument}`, array[i], value);
          }
        }
      }
      return {
        ok: true,
        message: `the network of ${inputs}, ${hiddens} and ${outputs} units is within rounding`,
      };
    },
  };
}

/** A real number, and a bound of the error of an f32 that was computed in the same way. */
interface Bounded {
  readonly value: number;
  readonly error: number;
}

/** The relative error of one rounding, in either direction, as WGSL leaves the direction open. */
const ROUNDING = 2 ** -23;

const exactly = (value: number): Bounded => ({ value, error: 0 });
const rounded = (value: number, error: number): Bounded => ({
  value,
  error: error + ROUNDING * Math.abs(value),
});

const plus = (a: Bounded, b: Bounded) => rounded(a.value + b.value, a.error + b.error);
const times = (a: Bounded, b: Bounded) =>
  rounded(a.value * b.value, Math.abs(a.value) * b.error + Math.abs(b.value) * a.error + a.error * b.error);
const minus = (a: Bounded, b: Bounded) => plus(a, { value: -b.value, error: b.error });

/**
 * Bounds a sum of products. WGSL leaves the order of a sum open too: each of its roundings is at
 * most one of the sum of all magnitudes.
 */
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

/**
 * Bounds a sigmoid. Its slope is at most 1/4. An exponential may be off by 3 + 2·|x| units, and the
 * division by 2.5.
 */
function sigmoid({ value, error }: Bounded): Bounded {
  const result = 1 / (1 + Math.exp(-value));
  return { value: result, error: error / 4 + (3 + 2 * Math.abs(value) + 2.5 + 1) * ROUNDING * result };
}

/**
 * Returns the elements of each argument after the step, or undefined for an argument that stays as
 * it was.
 */
function trained([
  input,
  toHidden,
  hiddenChanges,
  { length: hiddens },
  ,
  toOutput,
  outputChanges,
  { length: outputs },
  ,
  target,
]: Parameters<typeof alvinn>): (((i: number) => Bounded) | undefined)[] {
  const units = (count: number, make: (i: number) => Bounded) =>
    Array.from({ length: count }, (_, i) => make(i));
  const slope = (activation: Bounded) => times(activation, minus(exactly(1), activation));
  const hidden = units(hiddens, (j) =>
    sigmoid(sumOfProducts(input.length, (i) => [exactly(input[i]!), exactly(toHidden[i * hiddens + j]!)])),
  );
  const output = units(outputs, (k) =>
    sigmoid(sumOfProducts(hiddens, (j) => [hidden[j]!, exactly(toOutput[j * outputs + k]!)])),
  );
  const outputErrors = output.map((activation, k) =>
    times(minus(exactly(target[k]!), activation), slope(activation)),
  );
  const hiddenErrors = hidden.map((activation, j) => {
    const sum = sumOfProducts(outputs, (k) => [outputErrors[k]!, exactly(toOutput[j * outputs + k]!)]);
    return times(sum, slope(activation));
  });
  const change = (error: Bounded, activation: Bounded, before: number) =>
    plus(times(times(exactly(RATE), error), activation), times(exactly(MOMENTUM), exactly(before)));
  const hiddenChange = (i: number) =>
    change(hiddenErrors[i % hiddens]!, exactly(input[Math.floor(i / hiddens)]!), hiddenChanges[i]!);
  const outputChange = (i: number) =>
    change(outputErrors[i % outputs]!, hidden[Math.floor(i / outputs)]!, outputChanges[i]!);
  return [
    undefined,
    (i) => plus(exactly(toHidden[i]!), hiddenChange(i)),
    hiddenChange,
    (i) => hidden[i]!,
    (i) => hiddenErrors[i]!,
    (i) => plus(exactly(toOutput[i]!), outputChange(i)),
    outputChange,
    (i) => output[i]!,
    (i) => outputErrors[i]!,
    undefined,
  ];
}
