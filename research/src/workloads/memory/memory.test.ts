import { expect, test } from "vitest";
import { describePrograms } from "../../../../test/support/devices/programSuite.ts";
import type { VerifiableProgram } from "../program.ts";
import { catalog } from "../samples/index.ts";
import * as nBody from "../samples/nBody.ts";
import * as copy from "./copy.ts";
import * as fft3d from "./fft3d.ts";
import { heldOut } from "./heldOut.ts";
import { memoryCatalog } from "./index.ts";
import * as matrixProduct from "./matrixProduct.ts";
import * as records from "./records.ts";
import * as sparseProduct from "./sparseProduct.ts";
import * as stencil from "./stencil.ts";

const odd: Record<string, () => VerifiableProgram> = {
  "long lines along x": () => fft3d.create({ sides: [256, 16, 1] }),
  "long lines along z": () => fft3d.create({ sides: [16, 1, 256] }),
  "bodies that leave a shared tile part empty": () => nBody.create({ bodies: 300, parts: 4 }),
  "a copy of one element": () => copy.create({ elements: 1 }),
  "a grid of one point": () => stencil.create({ width: 1 }),
  "a narrow grid": () => stencil.create({ width: 3, height: 50 }),
  "a matrix of one element": () => sparseProduct.create({ rows: 1, perRow: 1 }),
};
test("a product without whole tiles is refused", () => {
  expect(() => matrixProduct.create({ rows: 100 })).toThrow(RangeError);
});

const broken: Record<string, readonly [() => VerifiableProgram, from: string, to: string]> = {
  fft3d: [() => fft3d.create(), "let left = a - c", "let left = a - 1.0001 * c"],
  matrixProduct: [() => matrixProduct.create({ inner: 16 }), "var left3 = vec4f()", "var left3 = vec4f(1.0)"],
  copy: [() => copy.create({ elements: 9 }), "= original[index]", "= original[index / 2u * 2u]"],
  stencil: [() => stencil.create({ width: 9 }), "0.125", "0.126"],
  records: [() => records.create(), "frame[1].z", "frame[1].y"],
  sparseProduct: [() => sparseProduct.create({ rows: 20 }), "i += LANES", "i += LANES + 1u"],
};

/** One program of each group that differs by sizes alone. */
const programs = [...memoryCatalog, ...heldOut].filter(
  ({ name }) =>
    !/^nBody\d{4}$|-(cached|flat|2048|short|scalars|whole)/.test(name) &&
    !catalog.some((each) => each.name === name),
);
describePrograms({ programs, odd, broken });
