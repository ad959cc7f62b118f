import { expect, test } from "vitest";
import { describePrograms } from "../../../../test/support/devices/programSuite.ts";
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
import { catalog } from "./index.ts";
import * as matrixProduct from "./matrixProduct.ts";
import * as nBody from "./nBody.ts";
import * as prefixSum from "./prefixSum.ts";
import * as quasiRandomSequence from "./quasiRandomSequence.ts";
import * as reduction from "./reduction.ts";
import * as simpleConvolution from "./simpleConvolution.ts";
import * as sobelFilter from "./sobelFilter.ts";
import * as urng from "./urng.ts";

const odd: Record<string, () => VerifiableProgram> = {
  "a product of one element": () => matrixProduct.create({ rows: 1 }),
  "a product with odd sides": () => matrixProduct.create({ rows: 33, columns: 17, inner: 50 }),
  "one body": () => nBody.create({ bodies: 1 }),
  "bodies that leave a tile part empty": () => nBody.create({ bodies: 100, steps: 3 }),
  "a sum of one element": () => reduction.create({ length: 1 }),
  "a sum over one block": () => reduction.create({ length: 4096 }),
  "a sum over one block and one element": () => reduction.create({ length: 4097 }),
  "a sum of floats in two passes": () => reduction.create({ length: 9999, type: "f32" }),
  "one key": () => bitonicSort.create({ length: 1 }),
  "keys that fill a block": () => bitonicSort.create({ length: 1024 }),
  "keys just beyond a block": () => bitonicSort.create({ length: 1025 }),
  "keys short of a power of two": () => bitonicSort.create({ length: 2047 }),
  "keys that end between two distances": () => bitonicSort.create({ length: 5501 }),
  "one sample": () => histogram.create({ samples: 1 }),
  "samples that end inside a word": () => histogram.create({ samples: 32_773 }),
  "one pixel": () => sobelFilter.create({ width: 1 }),
  "a narrow image": () => sobelFilter.create({ width: 3, height: 65 }),
  "a search in one element": () => binarySearch.create({ length: 1, searches: 5 }),
  "searches in sixteen elements": () => binarySearch.create({ length: 16, searches: 33 }),
  "searches just beyond two passes": () => binarySearch.create({ length: 257, searches: 1000 }),
  "one price": () => blackScholes.create({ options: 1 }),
  "prices beyond a workgroup": () => blackScholes.create({ options: 513 }),
  "the price of one tree": () => binomialOption.create({ options: 1 }),
  "a sequence of one vec4": () => quasiRandomSequence.create({ points: 1 }),
  "a sequence just beyond a workgroup": () => quasiRandomSequence.create({ points: 8197 }),
  "noise for one pixel": () => urng.create({ pixels: 1 }),
  "noise beyond a workgroup": () => urng.create({ pixels: 517 }),
  "a convolution of one vec4": () => simpleConvolution.create({ width: 1 }),
  "a narrow convolution": () => simpleConvolution.create({ width: 69, height: 3 }),
  "a convolution beyond a workgroup": () => simpleConvolution.create({ width: 12, height: 35 }),
  "one block of cosines": () => dct.create({ blocksAcross: 1 }),
  "blocks of cosines that fill workgroups": () => dct.create({ blocksAcross: 4, blocksDown: 4 }),
  "a wavelet of two samples": () => dwtHaar.create({ length: 2 }),
  "wavelets that fill a block": () => dwtHaar.create({ length: 1024 }),
  "wavelets whose averages are a pair": () => dwtHaar.create({ length: 2048 }),
  "Walsh functions of four samples": () => fastWalshTransform.create({ length: 4 }),
  "more Walsh functions than are compared one by one": () => fastWalshTransform.create({ length: 2 ** 14 }),
  "one node": () => floydWarshall.create({ nodes: 1 }),
  "nodes that leave rows and columns empty": () => floydWarshall.create({ nodes: 35 }),
  "the sum before one value": () => prefixSum.create({ length: 1 }),
  "sums of a full block": () => prefixSum.create({ length: 2048 }),
  "sums that end inside a vector": () => prefixSum.create({ length: 2049 }),
  "sums in three levels": () => prefixSum.create({ length: 2 ** 22 + 3 }),
};

const broken: Record<string, readonly [() => VerifiableProgram, from: string, to: string]> = {
  matrixProduct: [() => matrixProduct.create({ rows: 33 }), "var lower = 0.0", "var lower = 1.0"],
  nBody: [() => nBody.create({ bodies: 65 }), "const SOFTENING = 0.01", "const SOFTENING = 0.010001"],
  reduction: [() => reduction.create({ length: 1500 }), "index < count", "index < count - 1u"],
  reductionFloat: [() => reduction.create({ length: 1500, type: "f32" }), "width > 0u", "width > 1u"],
  bitonicSort: [() => bitonicSort.create({ length: 600 }), "span >= 4u", "span >= 8u"],
  histogram: [() => histogram.create({ samples: 999 }), "vec4u(255u)", "vec4u(127u)"],
  sobelFilter: [() => sobelFilter.create({ width: 20 }), "vec4f(255.0)", "vec4f(254.0)"],
  binarySearch: [
    () => binarySearch.create({ searches: 99 }),
    "elements[position] <= key",
    "elements[position] < key",
  ],
  blackScholes: [() => blackScholes.create({ options: 99 }), "0.319381530", "0.319481530"],
  binomialOption: [() => binomialOption.create({ options: 4 }), "RATE = 0.02", "RATE = 0.021"],
  quasiRandomSequence: [() => quasiRandomSequence.create({ points: 99 }), "bit + 2u", "bit + 1u"],
  urng: [() => urng.create({ pixels: 999 }), ">> vec3u(7u)", ">> vec3u(8u)"],
  simpleConvolution: [() => simpleConvolution.create({ width: 20 }), "vec4f(line.left.w, here.xyz)", "here"],
  dct: [() => dct.create({ blocksAcross: 3 }), "ODD * (line.low - mirrored)", "EVEN * (line.low - mirrored)"],
  dwtHaar: [() => dwtHaar.create({ length: 2048 }), "level <= extent.levels", "level < extent.levels"],
  fastWalshTransform: [() => fastWalshTransform.create({ length: 32 }), "low - high", "high - low"],
  floydWarshall: [() => floydWarshall.create({ nodes: 33 }), "through < at(own)", "through + 9u < at(own)"],
  prefixSum: [() => prefixSum.create({ length: 1500 }), "right - distance", "right"],
};

const device = describePrograms({ programs: catalog, odd, broken });

test("each number of the Sobol sequence lies in an interval of its own", async () => {
  const points = 2 ** 10;
  const { sequence } = await quasiRandomSequence.create({ points }).workload(device());
  const numbers = sequence as Float32Array;
  for (let start = 0; start < numbers.length; start += points) {
    const intervals = numbers.subarray(start, start + points).map((number) => Math.floor(number * points));
    expect(new Set(intervals).size).toBe(points);
  }
});
