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

/** Sizes for thousands of runs in a row, by catalog name: a few workgroups, odd ends included. */
export const campaignSizes: Readonly<Record<string, () => Program>> = {
  matrixProduct: () => matrixProduct.create({ rows: 33 }),
  nBody: () => nBody.create({ bodies: 64, steps: 2 }),
  reduction: () => reduction.create({ length: 2500 }),
  reductionFloat: () => reduction.create({ length: 2500, type: "f32" }),
  bitonicSort: () => bitonicSort.create({ length: 600 }),
  histogram: () => histogram.create({ samples: 20_000 }),
  sobelFilter: () => sobelFilter.create({ width: 40, height: 20 }),
  binarySearch: () => binarySearch.create({ length: 1000, searches: 200 }),
  blackScholes: () => blackScholes.create({ options: 301 }),
  binomialOption: () => binomialOption.create({ options: 3 }),
  quasiRandomSequence: () => quasiRandomSequence.create({ points: 301 }),
  urng: () => urng.create({ pixels: 501 }),
  simpleConvolution: () => simpleConvolution.create({ width: 34, height: 19 }),
  dct: () => dct.create({ blocksAcross: 5, blocksDown: 2 }),
  dwtHaar: () => dwtHaar.create({ length: 1024 }),
  fastWalshTransform: () => fastWalshTransform.create({ length: 512 }),
  floydWarshall: () => floydWarshall.create({ nodes: 12 }),
  prefixSum: () => prefixSum.create({ length: 1500 }),
};
