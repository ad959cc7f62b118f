/**
 * TensorFlow.js, which does not know Belay, computes the same bits on a hardened device as on a
 * plain one.
 */
import { createRequire } from "node:module";
import { algebra } from "belay-gpu/algebra";
import { harden } from "belay-gpu/internal/runtime/harden";
import { beforeAll, describe, expect, it } from "vitest";
import { testDevices } from "../support/devices/testDevices.ts";

const { newDevice } = testDevices({ full: true });

// Its types are not imported, as they bring an older copy of WebGPU's types.
const require = createRequire(import.meta.url);
type Tensor = { data(): Promise<ArrayLike<number>> };
const tf = require("@tensorflow/tfjs-core");
const layers = require("@tensorflow/tfjs-layers");

let WebGPUBackend: new (device: GPUDevice) => unknown;
let plain: Record<string, number[][]>;

beforeAll(async () => {
  // The library needs this global when it is loaded. Browsers have it.
  Object.defineProperty(globalThis, "navigator", { value: { gpu: {} }, configurable: true });
  ({ WebGPUBackend } = require("@tensorflow/tfjs-backend-webgpu"));
  // Small tensors would otherwise not use the GPU.
  tf.env().set("WEBGPU_CPU_FORWARD", false);
  plain = await runOn("plain", await newDevice());
});

// Together, these policies have all options. Each one compiles every kernel anew.
const flavors = [
  { redundancy: "intra+lds", check: "signature" },
  { redundancy: "intra-lds", check: "store" },
] as const;

describe.each(flavors)("TensorFlow.js on a device hardened with $redundancy, $check", (policy) => {
  it("computes and trains to the same bits, and detects no fault", async () => {
    const device = await harden(await newDevice(), policy);
    expect(await runOn(`${policy.redundancy} ${policy.check}`, device)).toEqual(plain);

    const { kernels, faults, replays } = await device.belay.report();
    expect({ faults, replays }).toEqual({ faults: [], replays: 0 });
    const alone = kernels.filter(({ redundancy }) => redundancy === "none");
    expect(kernels.length - alone.length).toBeGreaterThan(40);
    // Workgroups of 256 cannot be doubled if 256 is the limit.
    expect(alone.flatMap(({ diagnostics }) => diagnostics.map(({ code }) => code))).toEqual(
      device.limits.maxComputeInvocationsPerWorkgroup > 256 ? [] : alone.map(() => "BELAY204"),
    );
    device.destroy();
  });
});

it("checks fused products and their activations by algebra", async () => {
  const checker = algebra({ leastMultiplications: 0, searchesAtOnce: true });
  const device = harden(await newDevice(), { algebra: checker });
  expect(await runOn("checked", device, fused)).toEqual(await runOn("not checked", await newDevice(), fused));
  const { kernels, faults } = await device.belay.report();
  expect(faults).toEqual([]);
  const products = kernels.filter(({ kernel }) => kernel.startsWith("MatMul"));
  expect(products.reduce((count, { dispatches }) => count + dispatches, 0)).toBe(7);
  for (const { dispatches, sums } of products)
    expect(sums).toMatchObject({ checked: dispatches, repaired: 0, undecided: 0, refuted: 0 });
  device.destroy();
});

function fused(random: Random): Record<string, () => Tensor | Tensor[]> {
  const product = { a: random(17, 20), b: random(20, 24) };
  const image = { x: random(1, 6, 6, 4), filter: random(3, 3, 4, 8), strides: 1, pad: "same" };
  return {
    "matMul with relu": () => tf.fused.matMul({ ...product, activation: "relu" }),
    "matMul with a bias and relu6": () =>
      tf.fused.matMul({ ...product, bias: random(24), activation: "relu6" }),
    "matMul with elu": () => tf.fused.matMul({ ...product, activation: "elu" }),
    "matMul with prelu": () =>
      tf.fused.matMul({ ...product, activation: "prelu", preluActivationWeights: random(24) }),
    "matMul with sigmoid": () => tf.fused.matMul({ ...product, activation: "sigmoid" }),
    "conv2d with relu": () => tf.fused.conv2d({ ...image, activation: "relu" }),
    "conv2d with a bias and relu6": () => tf.fused.conv2d({ ...image, bias: random(8), activation: "relu6" }),
  };
}

/** Computes all results, by name. */
async function runOn(
  backend: string,
  device: GPUDevice,
  compute?: (random: Random) => Record<string, () => Tensor | Tensor[]>,
): Promise<Record<string, number[][]>> {
  tf.registerBackend(backend, () => new WebGPUBackend(device));
  tf.copyRegisteredKernels("webgpu", backend);
  await tf.setBackend(backend);
  const { random, integers } = numbers();
  const results: Record<string, number[][]> = {};
  const keep = async (name: string, tensors: readonly Tensor[]) => {
    results[name] = await Promise.all(tensors.map(async (tensor) => Array.from(await tensor.data())));
    tf.dispose(tensors);
  };
  const all = compute ? compute(random) : operations(random, integers);
  for (const [name, operation] of Object.entries(all)) {
    await keep(name, [tf.tidy(operation)].flat());
  }
  if (compute) return results;
  await keep("training", await train(random, integers));
  return results;
}

function operations(random: Random, integers: Integers): Record<string, () => Tensor | Tensor[]> {
  return {
    arithmetic: () => tf.div(tf.sub(tf.mul(random(6, 33), random(33)), 0.5), tf.exp(random(6, 33))),
    comparison: () => tf.where(tf.greater(random(6, 7), 0), random(6, 7), tf.neg(random(6, 7))),
    integers: () => tf.floorDiv(integers(100, 7, 9), tf.add(integers(9, 7, 9), 1)),
    activations: () => [
      tf.relu6(random(40)),
      tf.elu(random(40)),
      tf.softplus(random(40)),
      tf.erf(random(40)),
    ],
    specialValues: () => [tf.log(random(40)), tf.isNaN(tf.sqrt(random(40)))],
    reductions: () => [tf.sum(random(6, 50), 1), tf.max(random(40, 6), 0), tf.prod(random(3, 30), 1)],
    argMax: () => tf.argMax(random(6, 40), 1),
    softmax: () => tf.softmax(random(5, 40)),
    cumsum: () => tf.cumsum(random(5, 33), 1),
    topk: () => Object.values(tf.topk(random(2, 60), 5)),
    bincount: () => tf.bincount(integers(10, 60), tf.tensor1d([]), 10),
    matMul: () => [tf.matMul(random(4, 9), random(9, 5)), tf.matMul(random(64, 40), random(40, 36))],
    batchMatMul: () => tf.matMul(random(2, 9, 7), random(2, 5, 7), false, true),
    conv2d: () => tf.conv2d(random(1, 8, 8, 4), random(3, 3, 4, 8), 1, "same"),
    depthwiseConv2d: () => tf.depthwiseConv2d(random(1, 8, 8, 4), random(3, 3, 4, 1), 1, "same"),
    conv2dTranspose: () =>
      tf.conv2dTranspose(random(1, 4, 4, 3), random(3, 3, 2, 3), [1, 8, 8, 2], 2, "same"),
    pooling: () => [
      tf.avgPool(random(1, 8, 8, 3), 3, 1, "same"),
      tf.maxPool(random(1, 8, 8, 3), 2, 2, "valid"),
    ],
    batchNorm: () => tf.batchNorm(random(2, 4, 4, 6), random(6), tf.square(random(6)), random(6), random(6)),
    transpose: () => [tf.transpose(random(40, 36)), tf.transpose(random(2, 3, 4, 5), [3, 0, 2, 1])],
    reshaping: () => [
      tf.concat([random(3, 4), random(3, 5)], 1),
      tf.pad(tf.stridedSlice(random(8, 9), [1, 1], [8, 9], [2, 3]), [
        [1, 2],
        [3, 1],
      ]),
    ],
    gather: () => tf.gather(random(9, 5), tf.tensor1d([0, 8, 20, -3], "int32")),
    scatter: () => tf.scatterND(integers(4, 30, 1), integers(50, 30), [4]),
    resize: () => tf.image.resizeBilinear(random(1, 6, 6, 3), [11, 9]),
    fft: () => {
      const spectrum = tf.fft(tf.complex(random(32), random(32)));
      return [tf.real(spectrum), tf.imag(spectrum)];
    },
  };
}

/** Trains a small convolutional network for two steps. Returns the losses, and then the weights. */
async function train(random: Random, integers: Integers): Promise<Tensor[]> {
  const kernelInitializer = layers.initializers.glorotUniform({ seed: 1 });
  const model = layers.sequential({
    layers: [
      layers.layers.conv2d({
        inputShape: [8, 8, 1],
        filters: 4,
        kernelSize: 3,
        activation: "relu",
        kernelInitializer,
      }),
      layers.layers.batchNormalization(),
      layers.layers.maxPooling2d({ poolSize: 2 }),
      layers.layers.flatten(),
      layers.layers.dense({ units: 3, activation: "softmax", kernelInitializer }),
    ],
  });
  model.compile({ optimizer: tf.train.adam(0.01), loss: "categoricalCrossentropy" });
  const images = random(6, 8, 8, 1);
  const classes = tf.cast(tf.oneHot(integers(3, 6), 3), "float32");
  const losses = [await model.trainOnBatch(images, classes), await model.trainOnBatch(images, classes)];
  return [tf.tensor1d(losses), ...model.getWeights().map((weights: Tensor) => tf.clone(weights))];
}

type Random = (...shape: number[]) => Tensor;
type Integers = (below: number, ...shape: number[]) => Tensor;

/** Creates tensors of numbers that are the same in each run. */
function numbers(): { random: Random; integers: Integers } {
  let state = 1;
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  const values = (shape: readonly number[], value: () => number) =>
    Array.from({ length: shape.reduce((product, size) => product * size, 1) }, value);
  return {
    random: (...shape) =>
      tf.tensor(
        values(shape, () => 4 * next() - 2),
        shape,
      ),
    integers: (below, ...shape) =>
      tf.tensor(
        values(shape, () => Math.floor(below * next())),
        shape,
        "int32",
      ),
  };
}
