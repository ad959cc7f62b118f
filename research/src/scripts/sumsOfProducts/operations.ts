/** Operations of TensorFlow.js that compute sums of products. */
import { loadLibrary, type Tensor, type TensorFlowLibrary } from "../../bench/programs/tensorflow.js";

/**
 * Returns operations by name. Sides of matrices are multiples of `side`, and images have sides of
 * `side / 16` and more.
 */
function operationsOf(tf: TensorFlowLibrary, side: number): Record<string, () => Tensor> {
  const ones = (...shape: number[]) => tf.ones!(shape);
  const [s, image] = [side, Math.max(16, side / 16)];
  const odd = s - 5;
  const matMul = (a: number[], b: number[], ...transposed: boolean[]) =>
    tf.matMul!(ones(...a), ones(...b), ...transposed);
  const conv2d = (size: number, channels: number, filters: number, window: number, ...how: unknown[]) =>
    tf.conv2d!(ones(1, size, size, channels), ones(window, window, channels, filters), ...how);
  return {
    "matMul, square": () => matMul([s, s], [s, s]),
    "matMul, odd sides": () => matMul([odd, odd + 2], [odd + 2, odd + 4]),
    "matMul, 9 x 5 x 7": () => matMul([9, 5], [5, 7]),
    "matMul, first transposed": () => matMul([s, s], [s, s], true),
    "matMul, second transposed": () => matMul([s, s], [s, s], false, true),
    "matMul, both transposed": () => matMul([s, s], [s, s], true, true),
    "matMul, four batches": () => matMul([4, s, s / 2], [4, s / 2, s]),
    "matMul, batches share a factor": () => matMul([4, s, s / 2], [1, s / 2, s]),
    "matMul, many terms": () => matMul([16, 4 * s], [4 * s, 16]),
    "matMul, one row": () => matMul([1, s], [s, s]),
    "matMul, one column": () => matMul([s, s], [s, 1]),
    "matMul with a bias": () => tf.fused.matMul!({ a: ones(s, s), b: ones(s, s), bias: ones(s) }),
    "matMul with relu": () => tf.fused.matMul!({ a: ones(s, s), b: ones(s, s), activation: "relu" }),
    "matMul with a bias and relu": () =>
      tf.fused.matMul!({ a: ones(s, s), b: ones(s, s), bias: ones(s), activation: "relu" }),
    "conv2d with relu": () =>
      tf.fused.conv2d!({
        x: ones(1, image, image, 64),
        filter: ones(3, 3, 64, 64),
        strides: 1,
        pad: "same",
        activation: "relu",
      }),
    dot: () => tf.dot!(ones(4 * s), ones(4 * s)),
    "conv2d, 3 x 3": () => conv2d(image, 64, 64, 3, 1, "same"),
    "conv2d, 3 x 3, stride 2, 3 channels": () => conv2d(4 * image + 1, 3, 32, 3, 2, "same"),
    "conv2d, 1 x 1": () => conv2d(image, 64, 64, 1, 1, "same"),
    "conv2d without padding": () => conv2d(image, 5, 7, 3, 1, "valid"),
    "conv2d with a bias": () =>
      tf.fused.conv2d!({
        x: ones(1, image, image, 16),
        filter: ones(3, 3, 16, 16),
        strides: 1,
        pad: "same",
        bias: ones(16),
      }),
    "conv2d with its channels first": () =>
      tf.conv2d!(ones(1, 16, image, image), ones(3, 3, 16, 16), 1, "same", "NCHW"),
    depthwiseConv2d: () => tf.depthwiseConv2d!(ones(1, image, image, 32), ones(3, 3, 32, 1), 1, "same"),
    conv2dTranspose: () =>
      tf.conv2dTranspose!(
        ones(1, image, image, 8),
        ones(3, 3, 8, 8),
        [1, 2 * image, 2 * image, 8],
        2,
        "same",
      ),
    conv1d: () => tf.conv1d!(ones(1, s, 16), ones(3, 16, 16), 1, "same"),
    conv3d: () => tf.conv3d!(ones(1, 16, 16, 16, 4), ones(3, 3, 3, 4, 4), 1, "same"),
  };
}

/** The number of backends so far. TensorFlow.js keeps a backend's device with its name for good. */
let backends = 0;

/** Returns programs that execute one operation each. */
export async function sumOperations(
  side: number,
): Promise<{ readonly name: string; run(device: GPUDevice): Promise<void> }[]> {
  const { tf, WebGPUBackend } = await loadLibrary();
  return Object.entries(operationsOf(tf, side)).map(([name, compute]) => ({
    name,
    run: async (device) => {
      const backend = `captured device ${backends++}`;
      tf.registerBackend(backend, () => new WebGPUBackend(device));
      tf.copyRegisteredKernels("webgpu", backend);
      await tf.setBackend(backend);
      const result = tf.tidy(compute);
      await result.data();
      result.dispose();
    },
  }));
}
