import { describe, expect, it } from "vitest";
import { testDevices } from "../../../../test/support/devices/testDevices.ts";
import { sumsIn } from "../../../../test/support/kernels/foundSums.ts";
import {
  addedProduct,
  batchedProduct,
  bytesOf,
  convolution,
  type ProductKernel,
  packedProduct,
  prefetchedProduct,
  productKernels,
  tiledProduct,
} from "../../../../test/support/kernels/productKernels.ts";
import type { SumsOfProducts } from "./sums.ts";
import { SumsCheck, type SumsVerdict } from "./sumsCheck.ts";

const { newDevice } = testDevices();
let shared: Promise<GPUDevice> | undefined;
const sharedDevice = () => {
  shared ??= newDevice();
  return shared;
};

/** Returns a number of a buffer. */
type Numbers = (binding: number, i: number) => number;

const random: Numbers = (binding, i) => ((Math.sin(i * 12.9898 + binding * 78.233) * 43758.5453) % 1) - 0.2;

/** A kernel on a device, with the check of its results. */
class CheckedProgram {
  readonly #device: GPUDevice;
  readonly #kernel: ProductKernel;
  readonly #sums: SumsOfProducts;
  readonly #check: SumsCheck;
  readonly #pipeline: GPUComputePipeline;
  readonly #buffers: readonly GPUBuffer[];

  /** `source` runs in place of the kernel in which sums are found. */
  constructor(device: GPUDevice, kernel: ProductKernel, source = kernel.standIn ?? kernel.source) {
    const { STORAGE, UNIFORM, COPY_DST } = GPUBufferUsage;
    this.#device = device;
    this.#kernel = kernel;
    this.#sums = sumsIn(kernel);
    const module = device.createShaderModule({ code: source });
    this.#pipeline = device.createComputePipeline({ layout: "auto", compute: { module } });
    this.#buffers = kernel.buffers.map((each) => {
      const usage = COPY_DST | ("words" in each ? UNIFORM : STORAGE);
      return device.createBuffer({ size: bytesOf(each), usage });
    });
    this.#check = new SumsCheck(device, this.#sums, this.#output.size);
  }

  get #output(): GPUBuffer {
    return this.#buffers[this.#sums.output.of.binding]!;
  }

  /** Runs the kernel on some numbers, damages its results, and returns the verdict. */
  async run(numbers: Numbers = random, damage?: (output: GPUBuffer) => void): Promise<SumsVerdict> {
    const { queue } = this.#device;
    for (const [binding, each] of this.#kernel.buffers.entries()) {
      const data =
        "words" in each
          ? Uint32Array.from(each.words)
          : each.format === "f16"
            ? Uint16Array.from(
                { length: each.numbers },
                (_, i) => 0x3800 + ((i * 37) % 1024) + (i % 3 ? 0 : 0x8000),
              )
            : each.format === "u4"
              ? Uint32Array.from({ length: each.numbers / 8 }, (_, i) => Math.imul(i + 1, 0x9e3779b1))
              : Float32Array.from({ length: each.numbers }, (_, i) => numbers(binding, i));
      queue.writeBuffer(this.#buffers[binding]!, 0, data);
    }
    const { left, right, output, added, scale } = this.#sums;
    const at = ({ of }: SumsOfProducts["left"]) => ({ buffer: this.#buffers[of.binding]! });
    const bound = {
      left: at(left),
      right: at(right),
      output: at(output),
      ...(added && { added: at(added) }),
      ...(scale && { scale: at(scale) }),
    };
    const entries = this.#buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
    const group = this.#device.createBindGroup({ layout: this.#pipeline.getBindGroupLayout(0), entries });
    this.#submit((pass) => {
      this.#check.before(pass, bound);
      pass.setPipeline(this.#pipeline);
      pass.setBindGroup(0, group);
      pass.dispatchWorkgroups(...this.#kernel.grid);
    });
    damage?.(this.#output);
    this.#submit((pass) => this.#check.after(pass, bound));
    return this.#check.verdict();
  }

  #submit(encode: (pass: GPUComputePassEncoder) => void): void {
    const encoder = this.#device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    encode(pass);
    pass.end();
    this.#device.queue.submit([encoder.finish()]);
  }
}

describe("the check of sums of products", () => {
  /** Products of several batches that are added to the output. */
  const batched = batchedProduct(3, 9, 70, 6);
  const batchedInPlace: ProductKernel = {
    name: "batches in place",
    source: batched.source
      .replace(/@group\(0\) @binding\(3\).*\n/, "")
      .replace("= sum + 0.5 * bias[id.x]", "+= sum"),
    grid: batched.grid,
    buffers: batched.buffers.slice(0, 3),
  };

  it.each([...productKernels, addedProduct(19, 70, 12, -0.5), batchedInPlace])(
    "agrees with the results of a kernel: $name",
    async (kernel) => {
      const { outcome, bound } = await new CheckedProgram(await sharedDevice(), kernel).run();
      expect(outcome).toBe("agreed");
      expect(bound).toBeGreaterThan(0);
      expect(bound).toBeLessThan(kernel.standIn ? 10 : 0.1);
    },
  );

  const product = tiledProduct(24, 72, 40);

  it("finds one wrong result, whatever is wrong with it, and tells where", async () => {
    const device = await sharedDevice();
    const program = new CheckedProgram(device, product);
    for (const wrong of [1000, -0.5, 1e38, Number.NaN, Number.POSITIVE_INFINITY]) {
      const verdict = await program.run(random, (output) =>
        device.queue.writeBuffer(output, 4 * (17 * 72 + 70), Float32Array.of(wrong)),
      );
      expect(verdict).toMatchObject({ outcome: "mismatch", mismatch: { result: 17 * 72, block: 1 } });
    }
    expect((await program.run()).outcome).toBe("agreed");
  });

  // One block and groups of two, four, six and eight of them.
  it.each([50, 100, 200, 330, 530])(
    "takes each row, block and term of a long product with %i columns",
    async (columns) => {
      const device = await sharedDevice();
      const program = new CheckedProgram(device, tiledProduct(21, columns, 300));
      expect((await program.run()).outcome).toBe("agreed");
      for (const row of [0, 13, 20])
        for (let column = 1; column < columns; column += 64) {
          const verdict = await program.run(random, (output) =>
            device.queue.writeBuffer(output, 4 * (row * columns + column), Float32Array.of(1e3)),
          );
          const mismatch = { result: row * columns, block: Math.floor(column / 64) };
          expect(verdict).toMatchObject({ outcome: "mismatch", mismatch });
        }
    },
  );

  it("finds wrong results that share a weighted sum and whose errors have the sum 0", async () => {
    const device = await sharedDevice();
    const program = new CheckedProgram(device, product);
    for (let i = 0; i < 8; i++) {
      // The larger of the two is hidden with a probability of 2 * bound / 1e6.
      const verdict = await program.run(random, (output) =>
        device.queue.writeBuffer(output, 4 * (17 * 72 + 5 + i), Float32Array.of(1e6, -1e6)),
      );
      expect(verdict).toMatchObject({ outcome: "mismatch", mismatch: { result: 17 * 72, block: 0 } });
    }
  });

  it("finds an invocation that computes something else and was not sampled", async () => {
    const source = product.source.replace("= sum;", "= select(sum, 2.0 * sum, id.x == 50u && id.y == 13u);");
    const verdict = await new CheckedProgram(await sharedDevice(), { ...product, source }).run();
    expect(verdict).toMatchObject({ outcome: "mismatch", mismatch: { result: 13 * 72, block: 0 } });
  });

  it("finds a result that is not stored", async () => {
    const source = product.source.replace(
      "if (id.x < n && id.y < m",
      "if (id.x < n && id.y < m && !(id.x == 50u && id.y == 13u)",
    );
    const verdict = await new CheckedProgram(await sharedDevice(), { ...product, source }).run();
    expect(verdict).toMatchObject({ outcome: "mismatch", mismatch: { result: 13 * 72 } });
  });

  it("finds a store outside of the results", async () => {
    const [a, b] = product.buffers;
    const longer = { ...product, buffers: [a!, b!, { numbers: 24 * 72 + 9 }] };
    const device = await sharedDevice();
    expect((await new CheckedProgram(device, longer).run()).outcome).toBe("agreed");
    const stray = product.source.replace(
      "= sum; }",
      `= sum; }
  if (id.x == 29u && id.y == 13u) { c[${24 * 72 + 8}] = 0.0; }`,
    );
    const verdict = await new CheckedProgram(device, longer, stray).run();
    expect(verdict).toMatchObject({ outcome: "mismatch", mismatch: "outside" });
  });

  it("finds a wrong result of a convolution, a batch, a kernel that loads early, one of packed weights and one in place", async () => {
    const device = await sharedDevice();
    const image = { images: 2, size: 6, channels: 2, filters: 70, window: 3, stride: 1, padding: 1 };
    for (const kernel of [
      convolution(image),
      batchedProduct(3, 9, 17, 6),
      prefetchedProduct(19, 16, 12),
      packedProduct(19, 21, 3),
      packedProduct(19, 70, 1, true),
      addedProduct(19, 70, 12, -0.5),
      batchedInPlace,
    ]) {
      const program = new CheckedProgram(device, kernel);
      expect((await program.run()).outcome).toBe("agreed");
      const verdict = await program.run(random, (output) =>
        device.queue.writeBuffer(output, 4 * 201, Float32Array.of(7)),
      );
      expect(verdict).toMatchObject({ outcome: "mismatch" });
    }
  });

  it.each([
    { batches: 20, rows: 9, columns: 530 },
    { batches: 180, rows: 9, columns: 530 },
    { batches: 90, rows: 35, columns: 530 },
    { batches: 130, rows: 35, columns: 330 },
  ])(
    "finds a wrong result in the last row of $batches products with $rows rows of $columns",
    async (shape) => {
      const { batches, rows, columns } = shape;
      const device = await sharedDevice();
      const program = new CheckedProgram(device, batchedProduct(batches, rows, columns, 3));
      expect((await program.run()).outcome).toBe("agreed");
      const [row, block] = [rows * batches - 1, Math.floor(columns / 64)];
      const verdict = await program.run(random, (output) =>
        device.queue.writeBuffer(output, 4 * (columns * row + 64 * block + 1), Float32Array.of(7)),
      );
      expect(verdict).toMatchObject({ outcome: "mismatch", mismatch: { result: columns * row, block } });
    },
  );

  const inPlace = addedProduct(24, 72, 40, -0.5);

  it("decides nothing on numbers that are not finite, and on sums that may overflow", async () => {
    const device = await sharedDevice();
    const large: Numbers = (binding, i) => random(binding, i) * 3e38;
    const with_ =
      (binding: number, at: number, x: number): Numbers =>
      (b, i) =>
        b === binding && i === at ? x : random(b, i);
    const program = new CheckedProgram(device, product);
    for (const numbers of [
      with_(0, 77, Number.NaN),
      with_(1, 1234, Number.POSITIVE_INFINITY),
      with_(0, 3, Number.NEGATIVE_INFINITY),
      large,
    ])
      expect((await program.run(numbers)).outcome).toBe("undecided");
    const added = new CheckedProgram(device, inPlace);
    for (const numbers of [
      with_(2, 77, Number.NaN),
      with_(2, 1234, Number.POSITIVE_INFINITY),
      with_(2, 3, 3e38),
      with_(0, 3, Number.NEGATIVE_INFINITY),
    ])
      expect((await added.run(numbers)).outcome).toBe("undecided");
  });

  it("raises no alarm on numbers that cancel, are huge, tiny, subnormal or mixed", async () => {
    const seeded =
      (seed: number): Numbers =>
      (binding, i) =>
        random(binding, i + 100_003 * seed);
    const kinds: Readonly<Record<string, (x: Numbers) => Numbers>> = {
      cancelling: (x) => (b, i) => (b === 0 ? (i % 2 ? -1 : 1) * x(b, i >> 1) : x(b, Math.floor(i / 144))),
      huge: (x) => (b, i) => x(b, i) * 1e16,
      tiny: (x) => (b, i) => x(b, i) * 1e-20,
      subnormal: (x) => (b, i) => x(b, i) * (b === 0 ? 1e-39 : 1e30),
      mixed: (x) => (b, i) => x(b, i) * 10 ** (((i * 7) % 31) - 15),
      equal: () => () => 0.1,
      zero: () => () => 0,
    };
    const old: typeof kinds = {
      "cancelling the old results": (x) => (b, i) => {
        if (b < 2) return x(b, i);
        const [row, column] = [Math.floor(i / 72), i % 72];
        let sum = 0;
        for (let k = 0; k < 40; k++) sum += x(0, row * 40 + k) * x(1, k * 72 + column);
        return 2 * sum;
      },
      "huge old results": (x) => (b, i) => x(b, i) * (b === 2 ? 1e30 : 1),
      "tiny old results": (x) => (b, i) => x(b, i) * (b === 2 ? 1e-42 : 1),
      "tiny factors": (x) => (b, i) => x(b, i) * (b === 2 ? 1 : 1e-22),
    };
    for (const [kernel, all] of [
      [product, kinds],
      [inPlace, { ...kinds, ...old }],
    ] as const) {
      const program = new CheckedProgram(await sharedDevice(), kernel);
      for (const [kind, change] of Object.entries(all))
        for (let seed = 0; seed < 5; seed++)
          expect([kind, (await program.run(change(seeded(seed)))).outcome]).toEqual([kind, "agreed"]);
    }
  });

  it.each([
    ["up", "1e-6", "1e-6", "1e12", 1e-16, "agreed"],
    ["down", "1e6", "1e6", "1e-12", 1e14, "undecided"],
  ] as const)(
    "raises no alarm where numbers in between leave the normal range, as they are scaled %s later",
    async (_, left, right, later, size, outcome) => {
      const term = "aTile[local.y][i] * bTile[i][local.x]";
      const scaled = `(${left} * aTile[local.y][i]) * (${right} * bTile[i][local.x])`;
      expect(product.source).toContain(term);
      const source = product.source.replace(term, scaled).replace("= sum;", `= sum * ${later};`);
      const program = new CheckedProgram(await sharedDevice(), { ...product, source });
      const numbers: Numbers = (binding, i) => random(binding, i) * size;
      expect((await program.run(numbers)).outcome).toBe(outcome);
      expect((await program.run()).outcome).toBe("agreed");
    },
  );
});
