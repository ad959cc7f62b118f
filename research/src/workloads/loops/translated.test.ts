/**
 * The loops are written in the form that users write, so the translator must accept each of them.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { translate } from "belay-speculate/internal/loops/translate";
import { expect, test } from "vitest";
import { loops } from "./index.ts";

test.each(loops)("all loops of $name are translated", ({ name }) => {
  const file = join(import.meta.dirname, `${name}.ts`);
  const source = readFileSync(file, "utf8");
  const { loops: translated, diagnostics } = translate(source, file);
  expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  expect(translated).toHaveLength(source.match(/#pragma omp for/g)!.length);
});
