/**
 * Whatever a barrier depends on stays uniform: Dawn accepts each instrumented kernel whose source
 * it accepts.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { barrierKernel } from "../../../../../test/support/kernels/barrierKernels.ts";
import { type DawnValidator, startDawn } from "../../../../../test/support/wgsl/dawnValidator.ts";
import { protect } from "../../compiler/protect.ts";

let dawn: DawnValidator;
beforeAll(async () => {
  dawn = await startDawn();
});
afterAll(() => dawn.close());

const valid = async (codes: readonly string[]) => (await dawn.validateAll(codes)).map(({ ok }) => ok);

it("strikes nothing that WGSL demands to be uniform", async () => {
  const kernels = Array.from({ length: 120 }, (_, seed) => barrierKernel(seed));
  const accepted = await valid(kernels);
  const sources = kernels.filter(
    (code, i) => accepted[i] && /Barrier\(\);|sync\(\);|Load/.test(code.split("@compute")[1]!),
  );
  expect(sources.length).toBeGreaterThan(20);
  const struck = sources.map((code, i) =>
    protect(code, { redundancy: i % 2 ? "intra+lds" : "none", injectFaults: i % 3 ? true : "profile" }),
  );
  expect(struck.every(({ faultSites }) => faultSites.length > 0)).toBe(true);
  expect(await valid(struck.map(({ code }) => code))).toEqual(sources.map(() => true));
});
