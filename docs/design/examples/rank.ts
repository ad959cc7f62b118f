/** Predicts the cost of each correcting code for the memory of two kernels. */
import { readFileSync } from "node:fs";
import { rankSchemes } from "belay-gpu/internal/compiler/memoryChoice";

for (const name of ["halve", "square"]) {
  const code = readFileSync(new URL(`${name}.wgsl`, import.meta.url), "utf8");
  for (const { scheme, predicted, kernels } of rankSchemes([code]))
    console.log(`${name} ${scheme} ${predicted.toFixed(2)}: ${kernels[0]!.reason}`);
}
