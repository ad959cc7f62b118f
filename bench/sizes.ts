import * as bitonicSort from "../workloads/bitonicSort.ts";
import * as histogram from "../workloads/histogram.ts";
import * as matrixProduct from "../workloads/matrixProduct.ts";
import * as nBody from "../workloads/nBody.ts";
import type { Program } from "../workloads/program.ts";
import * as reduction from "../workloads/reduction.ts";
import * as sobelFilter from "../workloads/sobelFilter.ts";

/** Sizes that keep a large GPU busy for milliseconds, with data several times its caches, by catalog name. */
export const benchmarkSizes: Readonly<Record<string, () => Program>> = {
  matrixProduct: () => matrixProduct.create({ rows: 2048 }),
  nBody: () => nBody.create({ bodies: 32_768, steps: 2 }),
  reduction: () => reduction.create({ length: 2 ** 27 }),
  reductionFloat: () => reduction.create({ length: 2 ** 27, type: "f32" }),
  bitonicSort: () => bitonicSort.create({ length: 2 ** 22 }),
  histogram: () => histogram.create({ samples: 2 ** 28 }),
  sobelFilter: () => sobelFilter.create({ width: 8192, height: 8192 }),
};
