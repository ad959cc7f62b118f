/** Operations and a network of TensorFlow.js, which does not know Belay. */
import { dispatchesPerRun, type UsedProgram } from "./program.ts";

// The types of the library are not imported, as they bring an older copy of WebGPU's types.
export interface Tensor {
  readonly shape: readonly number[];
  data(): Promise<ArrayLike<number>>;
  dispose(): void;
}
type Operation = () => Tensor;
/** The parts of the library that are used. Each operation takes and returns tensors. */
export type TensorFlowLibrary = Record<string, (...args: unknown[]) => Tensor> & {
  readonly fused: Record<string, (...args: unknown[]) => Tensor>;
  readonly image: Record<string, (...args: unknown[]) => Tensor>;
  tidy(compute: () => Tensor): Tensor;
  env(): { set(flag: string, value: unknown): void };
  registerBackend(name: string, create: () => unknown): void;
  copyRegisteredKernels(from: string, to: string): void;
  setBackend(name: string): Promise<boolean>;
};

/** The library and its backend. */
export interface TensorFlow {
  readonly tf: TensorFlowLibrary;
  readonly WebGPUBackend: new (device: GPUDevice) => unknown;
}

/** The number of elements that are read. The time of a long transfer would hide all others. */
const READ = 16;

/**
 * Returns programs that repeat one operation on `elements` numbers, and a small network. A result
 * has the first `read` numbers of the last operation. A page hands in the `loaded` library.
 */
export async function tensorflowPrograms(
  elements: number,
  read = READ,
  loaded?: TensorFlow,
): Promise<UsedProgram[]> {
  const { tf, WebGPUBackend } = await loadLibrary(loaded);
  const random = new RandomNumbers();
  let backends = 0;
  return Object.entries(operationsOf(tf, elements, random)).map(([name, make]) => ({
    name,
    source: "TensorFlow.js",
    prepare: async (device) => {
      const backend = `device ${backends++}`;
      tf.registerBackend(backend, () => new WebGPUBackend(device));
      tf.copyRegisteredKernels("webgpu", backend);
      await tf.setBackend(backend);
      random.restart();
      const operation = make();
      return {
        run: async () => {
          await tf.setBackend(backend);
          let last = tf.tidy(operation);
          for (let i = 1; i < dispatchesPerRun; i++) {
            const next = tf.tidy(operation);
            last.dispose();
            last = next;
          }
          const size = last.shape.reduce((product, length) => product * length, 1);
          const part = tf.tidy(() => tf.slice1d!(tf.reshape!(last, [-1]), 0, Math.min(read, size)));
          const result = await part.data();
          last.dispose();
          part.dispose();
          return result;
        },
      };
    },
  }));
}

/** Returns the library and its backend. Node.js loads them. */
export async function loadLibrary(loaded?: TensorFlow): Promise<TensorFlow> {
  const { tf, WebGPUBackend } = loaded ?? requireLibrary();
  // Small tensors would otherwise not use the GPU.
  tf.env().set("WEBGPU_CPU_FORWARD", false);
  return { tf, WebGPUBackend };
}

function requireLibrary(): TensorFlow {
  // Bundlers for pages find no import of Node.js here.
  const require = process.getBuiltinModule("node:module").createRequire(import.meta.url);
  // The library needs this global when it is loaded. Browsers have it.
  if (!globalThis.navigator?.gpu)
    Object.defineProperty(globalThis, "navigator", { value: { gpu: {} }, configurable: true });
  const tf: TensorFlowLibrary = require("@tensorflow/tfjs-core");
  const { WebGPUBackend }: TensorFlow = require("@tensorflow/tfjs-backend-webgpu");
  return { tf, WebGPUBackend };
}

/** Numbers from -1 to 1. The library's own generator takes seconds for an input. */
class RandomNumbers {
  #state = 0;

  /** Begins the same sequence again. */
  restart(): void {
    this.#state = 7;
  }

  next(count: number): Float32Array {
    const numbers = new Float32Array(count);
    for (let i = 0; i < count; i++) {
      this.#state = (Math.imul(this.#state, 1664525) + 1013904223) | 0;
      numbers[i] = this.#state / 2 ** 31;
    }
    return numbers;
  }
}

/** Returns functions that create the inputs of an operation, and return the operation. */
function operationsOf(
  tf: TensorFlowLibrary,
  elements: number,
  random: RandomNumbers,
): Record<string, () => Operation> {
  const side = Math.floor(Math.sqrt(elements));
  const matrix = Math.min(1024, side);
  const image = Math.max(8, Math.floor(Math.sqrt(elements / 16)));
  const numbers = (...shape: number[]) =>
    tf.tensor!(random.next(shape.reduce((product, length) => product * length)), shape);
  const square = (apply: (x: Tensor) => Tensor) => () => {
    const x = numbers(side, side);
    return () => apply(x);
  };
  const two = (apply: (x: Tensor, y: Tensor) => Tensor) => () => {
    const [x, y] = [numbers(side, side), numbers(side, side)];
    return () => apply(x, y);
  };
  const pictures = (apply: (x: Tensor) => Tensor) => () => {
    const x = numbers(1, image, image, 16);
    return () => apply(x);
  };
  return {
    add: two((x, y) => tf.add!(x, y)),
    mul: two((x, y) => tf.mul!(x, y)),
    exp: square((x) => tf.exp!(x)),
    erf: square((x) => tf.erf!(x)),
    relu: square((x) => tf.relu!(x)),
    sigmoid: square((x) => tf.sigmoid!(x)),
    where: two((x, y) => tf.where!(tf.greater!(x, y), x, y)),
    transpose: square((x) => tf.transpose!(x)),
    concat: two((x, y) => tf.concat!([x, y], 1)),
    slice: square((x) => tf.slice!(x, [1, 1], [side - 1, side - 1])),
    pad: square((x) =>
      tf.pad!(x, [
        [1, 1],
        [1, 1],
      ]),
    ),
    sum: square((x) => tf.sum!(x, 1)),
    max: square((x) => tf.max!(x, 1)),
    softmax: square((x) => tf.softmax!(x)),
    cumsum: square((x) => tf.cumsum!(x, 1)),
    gather: () => {
      const x = numbers(side, side);
      const rows = tf.tensor1d!(
        Array.from({ length: side }, (_, i) => (i * 7) % side),
        "int32",
      );
      return () => tf.gather!(x, rows);
    },
    matMul: () => {
      const [x, y] = [numbers(matrix, matrix), numbers(matrix, matrix)];
      return () => tf.matMul!(x, y);
    },
    conv2d: () => {
      const [x, filter] = [numbers(1, image, image, 16), numbers(3, 3, 16, 16)];
      return () => tf.conv2d!(x, filter, 1, "same");
    },
    depthwiseConv2d: () => {
      const [x, filter] = [numbers(1, image, image, 16), numbers(3, 3, 16, 1)];
      return () => tf.depthwiseConv2d!(x, filter, 1, "same");
    },
    maxPool: pictures((x) => tf.maxPool!(x, 2, 2, "valid")),
    resizeBilinear: pictures((x) => tf.image.resizeBilinear!(x, [image + 3, image - 3])),
    batchNorm: () => {
      const x = numbers(1, image, image, 16);
      const [mean, scale] = [numbers(16), tf.square!(numbers(16))];
      return () => tf.batchNorm!(x, mean, scale);
    },
    network: () => {
      const x = numbers(1, image, image, 16);
      const [first, second] = [numbers(3, 3, 16, 16), numbers(3, 3, 16, 16)];
      const weights = numbers(16, 10);
      return () => {
        const convolved = tf.relu!(tf.conv2d!(x, first, 1, "same"));
        const features = tf.relu!(tf.conv2d!(tf.maxPool!(convolved, 2, 2, "valid"), second, 1, "same"));
        return tf.softmax!(tf.matMul!(tf.mean!(features, [1, 2]), weights));
      };
    },
  };
}
