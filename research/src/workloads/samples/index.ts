import type { CatalogEntry } from "belay-cli/internal/shared/research";
import type { VerifiableProgram } from "../program.ts";
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
import * as quasiRandomSequence from "./quasiRandomSequence.ts";
import * as reduction from "./reduction.ts";
import * as simpleConvolution from "./simpleConvolution.ts";
import * as sobelFilter from "./sobelFilter.ts";
import * as urng from "./urng.ts";

/** A program of the paper on redundant multithreading at each size at which it is used. */
interface Sample extends CatalogEntry {
  /**
   * Creates a program that keeps a large GPU busy for milliseconds, with data several times its
   * caches.
   */
  benchmark(): VerifiableProgram;
}

export const catalog: readonly Sample[] = [
  {
    name: "matrixProduct",
    small: () => matrixProduct.create({ rows: 96 }),
    campaign: () => matrixProduct.create({ rows: 33 }),
    benchmark: () => matrixProduct.create({ rows: 2048 }),
    full: (limits) => matrixProduct.create({ rows: Math.min(4096, Math.floor(Math.sqrt(wordsIn(limits)))) }),
  },
  {
    name: "nBody",
    small: () => nBody.create({ bodies: 256, steps: 2 }),
    campaign: () => nBody.create({ bodies: 64, steps: 2 }),
    benchmark: () => nBody.create({ bodies: 32_768, steps: 2 }),
    full: () => nBody.create({ bodies: 65_536, steps: 4 }),
  },
  {
    name: "reduction",
    small: () => reduction.create({ length: 100_001 }),
    campaign: () => reduction.create({ length: 2500 }),
    benchmark: () => reduction.create({ length: 2 ** 27 }),
    full: (limits) => reduction.create({ length: Math.min(2 ** 28, wordsIn(limits)) }),
  },
  {
    name: "reductionFloat",
    small: () => reduction.create({ length: 100_001, type: "f32" }),
    campaign: () => reduction.create({ length: 2500, type: "f32" }),
    benchmark: () => reduction.create({ length: 2 ** 27, type: "f32" }),
    full: (limits) => reduction.create({ length: Math.min(2 ** 28, wordsIn(limits)), type: "f32" }),
  },
  {
    name: "bitonicSort",
    small: () => bitonicSort.create({ length: 5000 }),
    campaign: () => bitonicSort.create({ length: 600 }),
    benchmark: () => bitonicSort.create({ length: 2 ** 25 }),
    full: (limits) => bitonicSort.create({ length: Math.min(2 ** 25, wordsIn(limits)) }),
  },
  {
    name: "histogram",
    small: () => histogram.create({ samples: 100_001 }),
    campaign: () => histogram.create({ samples: 20_000 }),
    benchmark: () => histogram.create({ samples: 2 ** 28 }),
    full: (limits) => histogram.create({ samples: 4 * Math.min(2 ** 28, wordsIn(limits)) }),
  },
  {
    name: "sobelFilter",
    small: () => sobelFilter.create({ width: 129, height: 127 }),
    campaign: () => sobelFilter.create({ width: 40, height: 20 }),
    benchmark: () => sobelFilter.create({ width: 8192, height: 8192 }),
    full: (limits) =>
      sobelFilter.create({ width: Math.min(16_384, 4 * Math.floor(Math.sqrt(wordsIn(limits)) / 4)) }),
  },
  {
    name: "binarySearch",
    small: () => binarySearch.create({ length: 10_000, searches: 1000 }),
    campaign: () => binarySearch.create({ length: 1000, searches: 200 }),
    benchmark: () => binarySearch.create({ length: 2 ** 26, searches: 2 ** 22 }),
    full: (limits) => binarySearch.create({ length: Math.min(2 ** 26, wordsIn(limits)), searches: 2 ** 22 }),
  },
  {
    name: "blackScholes",
    small: () => blackScholes.create({ options: 4001 }),
    campaign: () => blackScholes.create({ options: 301 }),
    benchmark: () => blackScholes.create({ options: 2 ** 26 }),
    full: (limits) => blackScholes.create({ options: Math.min(2 ** 26, wordsIn(limits)) }),
  },
  {
    name: "binomialOption",
    small: () => binomialOption.create({ options: 11 }),
    campaign: () => binomialOption.create({ options: 3 }),
    benchmark: () => binomialOption.create({ options: 2 ** 19 }),
    full: () => binomialOption.create({ options: 2 ** 19 }),
  },
  {
    name: "quasiRandomSequence",
    small: () => quasiRandomSequence.create({ points: 3001 }),
    campaign: () => quasiRandomSequence.create({ points: 301 }),
    benchmark: () => quasiRandomSequence.create({ points: 2 ** 23 }),
    full: (limits) => quasiRandomSequence.create({ points: Math.min(2 ** 23, wordsIn(limits) / 16) }),
  },
  {
    name: "urng",
    small: () => urng.create({ pixels: 5001 }),
    campaign: () => urng.create({ pixels: 501 }),
    benchmark: () => urng.create({ pixels: 2 ** 26 }),
    full: (limits) => urng.create({ pixels: Math.min(2 ** 26, wordsIn(limits)) }),
  },
  {
    name: "simpleConvolution",
    small: () => simpleConvolution.create({ width: 130, height: 127 }),
    campaign: () => simpleConvolution.create({ width: 34, height: 19 }),
    benchmark: () => simpleConvolution.create({ width: 8192 }),
    full: (limits) => {
      const side = Math.floor(Math.sqrt(wordsIn(limits))) - 8;
      return simpleConvolution.create({ width: Math.min(8192, side) });
    },
  },
  {
    name: "dct",
    small: () => dct.create({ blocksAcross: 17, blocksDown: 5 }),
    campaign: () => dct.create({ blocksAcross: 5, blocksDown: 2 }),
    benchmark: () => dct.create({ blocksAcross: 1024 }),
    full: (limits) =>
      dct.create({ blocksAcross: Math.min(1024, Math.floor(Math.sqrt(wordsIn(limits)) / 8)) }),
  },
  {
    name: "dwtHaar",
    small: () => dwtHaar.create({ length: 2 ** 13 }),
    campaign: () => dwtHaar.create({ length: 1024 }),
    benchmark: () => dwtHaar.create({ length: 2 ** 26 }),
    full: (limits) => dwtHaar.create({ length: Math.min(2 ** 26, powerOfTwoIn(limits)) }),
  },
  {
    name: "fastWalshTransform",
    small: () => fastWalshTransform.create({ length: 2 ** 12 }),
    campaign: () => fastWalshTransform.create({ length: 512 }),
    benchmark: () => fastWalshTransform.create({ length: 2 ** 26 }),
    full: (limits) => fastWalshTransform.create({ length: Math.min(2 ** 26, powerOfTwoIn(limits)) }),
  },
  {
    name: "floydWarshall",
    small: () => floydWarshall.create({ nodes: 40 }),
    campaign: () => floydWarshall.create({ nodes: 12 }),
    // The matrices fit into the cache; larger ones would take a second.
    benchmark: () => floydWarshall.create({ nodes: 2048 }),
    full: () => floydWarshall.create({ nodes: 2048 }),
  },
  {
    name: "prefixSum",
    small: () => prefixSum.create({ length: 5001 }),
    campaign: () => prefixSum.create({ length: 1500 }),
    benchmark: () => prefixSum.create({ length: 2 ** 27 }),
    full: (limits) => prefixSum.create({ length: Math.min(2 ** 27, wordsIn(limits)) }),
  },
];

/** Returns the largest power of two of words that one buffer may hold. */
function powerOfTwoIn(limits: GPUSupportedLimits): number {
  return 2 ** Math.floor(Math.log2(wordsIn(limits)));
}

/** Returns the number of words that one buffer may hold. */
function wordsIn(limits: GPUSupportedLimits): number {
  return Math.floor(Math.min(limits.maxBufferSize, limits.maxStorageBufferBindingSize) / 4);
}
