import type { VerifiableProgram } from "../program.ts";
import * as binarySearch from "../samples/binarySearch.ts";
import * as binomialOption from "../samples/binomialOption.ts";
import * as bitonicSort from "../samples/bitonicSort.ts";
import * as blackScholes from "../samples/blackScholes.ts";
import * as dct from "../samples/dct.ts";
import * as dwtHaar from "../samples/dwtHaar.ts";
import * as fastWalshTransform from "../samples/fastWalshTransform.ts";
import * as floydWarshall from "../samples/floydWarshall.ts";
import { catalog } from "../samples/index.ts";
import * as plainMatrixProduct from "../samples/matrixProduct.ts";
import * as nBody from "../samples/nBody.ts";
import * as prefixSum from "../samples/prefixSum.ts";
import * as quasiRandomSequence from "../samples/quasiRandomSequence.ts";
import * as reduction from "../samples/reduction.ts";
import * as simpleConvolution from "../samples/simpleConvolution.ts";
import * as sobelFilter from "../samples/sobelFilter.ts";
import * as urng from "../samples/urng.ts";
import * as copy from "./copy.ts";
import * as fft3d from "./fft3d.ts";
import type { MemoryEntry } from "./index.ts";
import * as matrixProduct from "./matrixProduct.ts";
import * as sparseProduct from "./sparseProduct.ts";
import * as stencil from "./stencil.ts";

/**
 * The programs that redundancy is measured with, at sizes of 64 to 256 MB for those that stream.
 */
const others: Readonly<Record<string, () => VerifiableProgram>> = {
  binarySearch: () => binarySearch.create({ length: 2 ** 25, searches: 2 ** 21 }),
  binomialOption: () => binomialOption.create({ options: 2 ** 18 }),
  bitonicSort: () => bitonicSort.create({ length: 2 ** 23 }),
  blackScholes: () => blackScholes.create({ options: 2 ** 24 }),
  dct: () => dct.create({ blocksAcross: 512 }),
  dwtHaar: () => dwtHaar.create({ length: 2 ** 25 }),
  fastWalshTransform: () => fastWalshTransform.create({ length: 2 ** 24 }),
  floydWarshall: () => floydWarshall.create({ nodes: 1024 }),
  prefixSum: () => prefixSum.create({ length: 2 ** 25 }),
  quasiRandomSequence: () => quasiRandomSequence.create({ points: 2 ** 21 }),
  reduction: () => reduction.create({ length: 2 ** 26 }),
  simpleConvolution: () => simpleConvolution.create({ width: 4096 }),
  sobelFilter: () => sobelFilter.create({ width: 4096, height: 4096 }),
  urng: () => urng.create({ pixels: 2 ** 24 }),
};

/**
 * The programs that the constants of the cost model are not fitted to, as an independent test of
 * the model. They are other programs, and other sizes of the programs that it was fitted to.
 */
export const heldOut: readonly MemoryEntry[] = [
  ...Object.entries(others).map(([name, full]) => ({
    name,
    small: catalog.find((entry) => entry.name === name)!.small,
    full,
  })),
  {
    name: "fft3d-flat",
    small: () => fft3d.create({ sides: [16, 16, 16] }),
    full: () => fft3d.create({ sides: [256, 256, 16] }),
  },
  {
    name: "matrixProduct-2048",
    small: () => matrixProduct.create({ rows: 128, columns: 128, inner: 16 }),
    full: () => matrixProduct.create({ rows: 2048 }),
  },
  {
    name: "matrixProduct-scalars",
    small: () => plainMatrixProduct.create({ rows: 40 }),
    full: () => plainMatrixProduct.create({ rows: 1024 }),
  },
  {
    name: "nBody-whole",
    small: () => nBody.create({ bodies: 100, steps: 1 }),
    full: () => nBody.create({ bodies: 32_768, steps: 1 }),
  },
  ...([64, 12] as const).map((bytesPerElement) => ({
    name: `copy${bytesPerElement}`,
    small: () => copy.create({ elements: 101, bytesPerElement }),
    full: () => copy.create({ elements: 2 ** 21, bytesPerElement }),
  })),
  ...([16, 8, 4] as const).map((bytesPerElement) => ({
    name: `copy${bytesPerElement}-cached`,
    small: () => copy.create({ elements: 100, bytesPerElement }),
    full: () => copy.create({ elements: 2 ** 23 / bytesPerElement, bytesPerElement }),
  })),
  {
    name: "stencil-2048",
    small: () => stencil.create({ width: 20 }),
    full: () => stencil.create({ width: 2048, height: 2048 }),
  },
  {
    name: "sparse-short-rows",
    small: () => sparseProduct.create({ rows: 100, perRow: 5, structure: "banded" }),
    full: () => sparseProduct.create({ rows: 2 ** 21, perRow: 8, structure: "banded" }),
  },
];
