import type { VerifiableProgram } from "../program.ts";
import * as histogram from "../samples/histogram.ts";
import * as nBody from "../samples/nBody.ts";
import * as copy from "./copy.ts";
import * as fft3d from "./fft3d.ts";
import * as matrixProduct from "./matrixProduct.ts";
import * as records from "./records.ts";
import * as sparseProduct from "./sparseProduct.ts";
import * as stencil from "./stencil.ts";

/** A program at two sizes. */
export interface MemoryEntry {
  readonly name: string;
  /** Creates a program that takes a fraction of a second on a software adapter. */
  small(): VerifiableProgram;
  /** Creates a program that keeps a large GPU busy, with data several times its caches. */
  full(): VerifiableProgram;
}

/** The programs that the protection of memory is measured with. */
export const memoryCatalog: readonly MemoryEntry[] = [
  {
    name: "fft3d",
    small: () => fft3d.create(),
    full: () => fft3d.create({ sides: [256, 256, 256] }),
  },
  {
    name: "matrixProduct",
    small: () => matrixProduct.create({ rows: 128, columns: 256, inner: 32 }),
    full: () => matrixProduct.create({ rows: 4096 }),
  },
  ...[1024, 2048, 4096, 8192, 16_384].map((bodies) => ({
    name: `nBody${bodies}`,
    small: () => nBody.create({ bodies: bodies / 64, steps: 1, parts: 4 }),
    full: () => nBody.create({ bodies, steps: 1, parts: 4 }),
  })),
  ...([16, 8, 4] as const).map((bytesPerElement) => ({
    name: `copy${bytesPerElement}`,
    small: () => copy.create({ elements: 1001, bytesPerElement }),
    full: () => copy.create({ elements: 2 ** 27 / bytesPerElement, bytesPerElement }),
  })),
  {
    name: "stencil",
    small: () => stencil.create({ width: 65, height: 40 }),
    full: () => stencil.create({ width: 8192, height: 4096 }),
  },
  ...(["random", "banded"] as const).map((structure) => ({
    name: `sparse-${structure}`,
    small: () => sparseProduct.create({ rows: 300, structure }),
    full: () => sparseProduct.create({ rows: 2 ** 20, structure }),
  })),
  {
    name: "records",
    small: () => records.create(),
    full: () => records.create({ records: 2 ** 20 }),
  },
  {
    name: "histogram",
    small: () => histogram.create({ samples: 20_001 }),
    full: () => histogram.create({ samples: 2 ** 27 }),
  },
];
