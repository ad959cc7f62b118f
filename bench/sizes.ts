import * as binarySearch from "../workloads/binarySearch.ts";
import * as binomialOption from "../workloads/binomialOption.ts";
import * as bitonicSort from "../workloads/bitonicSort.ts";
import * as blackScholes from "../workloads/blackScholes.ts";
import * as dct from "../workloads/dct.ts";
import * as dwtHaar from "../workloads/dwtHaar.ts";
import * as fastWalshTransform from "../workloads/fastWalshTransform.ts";
import * as floydWarshall from "../workloads/floydWarshall.ts";
import * as histogram from "../workloads/histogram.ts";
import * as matrixProduct from "../workloads/matrixProduct.ts";
import * as nBody from "../workloads/nBody.ts";
import * as prefixSum from "../workloads/prefixSum.ts";
import type { Program } from "../workloads/program.ts";
import * as quasiRandomSequence from "../workloads/quasiRandomSequence.ts";
import * as reduction from "../workloads/reduction.ts";
import * as simpleConvolution from "../workloads/simpleConvolution.ts";
import * as sobelFilter from "../workloads/sobelFilter.ts";
import * as urng from "../workloads/urng.ts";

/** Sizes that keep a large GPU busy for milliseconds, with data several times its caches, by catalog name. */
export const benchmarkSizes: Readonly<Record<string, () => Program>> = {
  matrixProduct: () => matrixProduct.create({ rows: 2048 }),
  nBody: () => nBody.create({ bodies: 32_768, steps: 2 }),
  reduction: () => reduction.create({ length: 2 ** 27 }),
  reductionFloat: () => reduction.create({ length: 2 ** 27, type: "f32" }),
  bitonicSort: () => bitonicSort.create({ length: 2 ** 22 }),
  histogram: () => histogram.create({ samples: 2 ** 28 }),
  sobelFilter: () => sobelFilter.create({ width: 8192, height: 8192 }),
  binarySearch: () => binarySearch.create({ length: 2 ** 26, searches: 2 ** 22 }),
  blackScholes: () => blackScholes.create({ options: 2 ** 26 }),
  binomialOption: () => binomialOption.create({ options: 2 ** 19 }),
  quasiRandomSequence: () => quasiRandomSequence.create({ points: 2 ** 23 }),
  urng: () => urng.create({ pixels: 2 ** 26 }),
  simpleConvolution: () => simpleConvolution.create({ width: 8192 }),
  dct: () => dct.create({ blocksAcross: 1024 }),
  dwtHaar: () => dwtHaar.create({ length: 2 ** 26 }),
  fastWalshTransform: () => fastWalshTransform.create({ length: 2 ** 26 }),
  // The matrices fit into the cache; larger ones would take a second.
  floydWarshall: () => floydWarshall.create({ nodes: 2048 }),
  prefixSum: () => prefixSum.create({ length: 2 ** 27 }),
};
