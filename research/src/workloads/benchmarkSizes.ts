import * as binarySearch from "./binarySearch.ts";
import * as binomialOption from "./binomialOption.ts";
import * as bitonicSort from "./bitonicSort.ts";
import * as blackScholes from "./blackScholes.ts";
import * as dct from "./dct.ts";
import * as dwtHaar from "./dwtHaar.ts";
import * as fastWalshTransform from "./fastWalshTransform.ts";
import * as floydWarshall from "./floydWarshall.ts";
import * as histogram from "./histogram.ts";
import * as matrixProduct from "./matrixProduct.ts";
import * as nBody from "./nBody.ts";
import * as prefixSum from "./prefixSum.ts";
import type { Program } from "./program.ts";
import * as quasiRandomSequence from "./quasiRandomSequence.ts";
import * as reduction from "./reduction.ts";
import * as simpleConvolution from "./simpleConvolution.ts";
import * as sobelFilter from "./sobelFilter.ts";
import * as urng from "./urng.ts";

/**
 * Sizes that keep a large GPU busy for milliseconds, with data several times its caches, by catalog
 * name.
 */
export const benchmarkSizes: Readonly<Record<string, () => Program>> = {
  matrixProduct: () => matrixProduct.create({ rows: 2048 }),
  nBody: () => nBody.create({ bodies: 32_768, steps: 2 }),
  reduction: () => reduction.create({ length: 2 ** 27 }),
  reductionFloat: () => reduction.create({ length: 2 ** 27, type: "f32" }),
  bitonicSort: () => bitonicSort.create({ length: 2 ** 25 }),
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
