import { findSumsOfProducts, type SumsOfProducts, type Unrecognized } from "belay-gpu/algebra";
import { bytesOf, type ProductKernel } from "./productKernels.ts";

/** Returns what is found in a kernel with its buffers. */
export function findIn({ source, grid, buffers }: ProductKernel): SumsOfProducts | Unrecognized {
  const sizes = buffers.map(bytesOf);
  return findSumsOfProducts(
    { source },
    {
      grid,
      sizeOf: ({ binding }) => sizes[binding],
      wordAt: ({ binding }, offset) => {
        const buffer = buffers[binding]!;
        return "words" in buffer ? buffer.words[offset / 4] : undefined;
      },
    },
  );
}

/** Returns the sums of products in a kernel. Throws the reason if there are none. */
export function sumsIn(kernel: ProductKernel): SumsOfProducts {
  const found = findIn(kernel);
  if ("reason" in found) throw new Error(found.reason);
  return found;
}
