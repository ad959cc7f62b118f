import { protect } from "belay-gpu/internal/compiler/protect";
import { afterAll, beforeAll, expect, it } from "vitest";
import { describePrograms } from "../../../../test/support/devices/programSuite.ts";
import { sample } from "../../../../test/support/sample.ts";
import { type DawnValidator, startDawn } from "../../../../test/support/wgsl/dawnValidator.ts";
import { create as createConvolution } from "./convolution.ts";
import { kernelsOf } from "./kernels.ts";
import { createDecode, createPrefill } from "./programs.ts";
import { shapes } from "./shape.ts";

const shape = shapes.small;
describePrograms({
  programs: [
    { name: "prefill", small: () => createPrefill({ shape }) },
    { name: "decode", small: () => createDecode({ shape }) },
    { name: "convolution", small: () => createConvolution() },
  ],
  odd: {
    "an image with odd sides": () => createConvolution({ size: 7, channels: 3, filters: 5 }),
    "a prompt of one token": () => createPrefill({ shape: { ...shape, prompt: 1 } }),
  },
  broken: {
    "rotation of keys": [() => createPrefill({ shape }), "b * rotation.x + a", "b * rotation.x - a"],
    "window of a convolution": [() => createConvolution(), "row >= SIZE", "row > SIZE"],
    "cache of keys": [() => createDecode({ shape }), "position <= last", "position < last"],
  },
});

let dawn: DawnValidator;
beforeAll(async () => {
  dawn = await startDawn();
});
afterAll(() => dawn.close());

it("has kernels on 16-bit floats that stay valid under each flavor and under a memory code", async () => {
  const features = ["subgroups", "shader-f16"];
  const flavors = ["auto", "intra+lds", "intra-lds", "inter"] as const;
  const modules = Object.values(kernelsOf(shape, "f16")).flatMap((source, row) => [
    source,
    ...sample(flavors, row, 1).map((redundancy) => {
      const { code, entryPoints } = protect(source, { features, redundancy });
      expect(entryPoints.map((kernel) => kernel.redundancy)).not.toContain("none");
      return code;
    }),
    protect(source, { features, redundancy: "none", memory: "secded128" }).code,
  ]);
  expect((await dawn.validateAll(modules)).filter(({ ok }) => !ok)).toEqual([]);
});

it.each(["auto", "none"] as const)("checks each load of weights in the kernels under %s", (redundancy) => {
  for (const source of Object.values(kernelsOf(shape, "f32"))) {
    const { entryPoints } = protect(source, { features: ["subgroups"], redundancy, memory: "secded128" });
    const loaded = entryPoints[0]!.memory!.bindings.filter(({ stores }) => !stores);
    expect(loaded.length).toBeGreaterThan(0);
    expect(loaded.map(({ mode }) => mode)).not.toContain("passVerified");
  }
});
