import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { changeKernel } from "../../test/changeKernel.ts";
import { testDevices } from "../../test/testDevices.ts";
import * as nBody from "../nBody.ts";
import type { Program } from "../program.ts";
import * as copy from "./copy.ts";
import * as fft3d from "./fft3d.ts";
import { memoryCatalog } from "./index.ts";
import * as matrixProduct from "./matrixProduct.ts";
import * as records from "./records.ts";
import * as sparseProduct from "./sparseProduct.ts";
import * as stencil from "./stencil.ts";

const { newDevice } = testDevices({ full: true });
let device: GPUDevice;
beforeAll(async () => {
  device = await newDevice();
});
afterAll(() => device.destroy());

/** Only the largest of the programs that differ by their sizes alone. */
const distinct = memoryCatalog.filter(({ name }) => !/^nBody\d{4}$/.test(name));

describe("at its small size", () => {
  for (const { name, small } of distinct) {
    test(`${name} is right, and a wrong bit in its outputs is found`, async () => {
      const program = small();
      const result = await program.workload(device);
      expect(program.verify(result)).toMatchObject({ ok: true });
      for (const [output, view] of Object.entries(result)) {
        const words = new Uint32Array(view.buffer, view.byteOffset, view.byteLength / 4);
        words[words.length >> 1]! ^= 1 << 30;
        expect(program.verify(result), output).toMatchObject({ ok: false });
        words[words.length >> 1]! ^= 1 << 30;
      }
    });
  }
});

const odd: Record<string, () => Program> = {
  "long lines along x": () => fft3d.create({ sides: [256, 16, 1] }),
  "long lines along z": () => fft3d.create({ sides: [16, 1, 256] }),
  "bodies that leave a shared tile part empty": () => nBody.create({ bodies: 300, parts: 4 }),
  "a copy of one element": () => copy.create({ elements: 1 }),
  "a grid of one point": () => stencil.create({ width: 1 }),
  "a narrow grid": () => stencil.create({ width: 3, height: 50 }),
  "a matrix of one element": () => sparseProduct.create({ rows: 1, perRow: 1 }),
};
describe("computes the right answer at an odd size", () => {
  for (const [title, create] of Object.entries(odd)) {
    test(title, async () => {
      const program = create();
      expect(program.verify(await program.workload(device))).toMatchObject({ ok: true });
    });
  }
});

test("a product without whole tiles is refused", () => {
  expect(() => matrixProduct.create({ rows: 100 })).toThrow(RangeError);
});

describe("tells a broken kernel from a sound one", () => {
  const broken: Record<string, [() => Program, from: string, to: string]> = {
    fft3d: [() => fft3d.create(), "let left = a - c", "let left = a - 1.0001 * c"],
    matrixProduct: [
      () => matrixProduct.create({ inner: 16 }),
      "var left3 = vec4f()",
      "var left3 = vec4f(1.0)",
    ],
    copy: [() => copy.create({ elements: 9 }), "= original[index]", "= original[index / 2u * 2u]"],
    stencil: [() => stencil.create({ width: 9 }), "0.125", "0.126"],
    records: [() => records.create(), "frame[1].z", "frame[1].y"],
    sparseProduct: [() => sparseProduct.create({ rows: 20 }), "i += LANES", "i += LANES + 1u"],
  };
  for (const [name, [create, from, to]] of Object.entries(broken)) {
    test(name, async () => {
      const program = create();
      const { ok, message } = program.verify(await program.workload(changeKernel(device, from, to)));
      expect(ok).toBe(false);
      expect(message).toMatch(/ is .* instead of /);
    });
  }
});
