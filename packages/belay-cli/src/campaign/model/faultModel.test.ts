import { describe, expect, it } from "vitest";
import {
  drawFault,
  drawRestingFault,
  faultModels,
  modelsFor,
  modelsOf,
  struckStructures,
} from "./faultModel.ts";
import type { Sample, StruckKernel, StruckSite } from "./profile.ts";

const site = (
  id: number,
  kind: StruckSite["kind"],
  executions: number,
  changed: Partial<StruckSite> = {},
) => ({
  id,
  kind,
  executions,
  components: 1,
  uniform: false,
  span: { start: 0, end: 0 },
  samples: Array.from({ length: Math.min(4, executions) }, (_, i): Sample => [0, i, 0, 0, 10 * id + i, 0, 0]),
  ...changed,
});
const kernel: StruckKernel = {
  kernel: "sum",
  entryPoint: "sum",
  source: "",
  iterations: 3,
  sites: [
    site(1, "value", 300),
    site(2, "value", 100, { uniform: true }),
    site(3, "value", 100, { components: 4 }),
    site(4, "value", 0),
    site(5, "load", 10),
    site(6, "address", 10),
    site(7, "local", 10),
    site(8, "branch", 10),
    site(9, "statement", 10, { components: 0 }),
  ],
};

/** Draws a thousand faults. */
const draw = (
  structure: Exclude<(typeof struckStructures)[number], "memory">,
  models = modelsOf(structure),
) => Array.from({ length: 1000 }, (_, i) => drawFault(`test/${i}`, kernel, structure, models, 2));

describe("a fault", () => {
  it("is decided by its name", () => {
    expect(draw("ALU")).toEqual(draw("ALU"));
    expect(new Set(draw("ALU").map((each) => JSON.stringify(each))).size).toBeGreaterThan(700);
  });

  it("strikes sites as often as they are executed, word by word", () => {
    const drawn = draw("VRF", ["single-bit"]);
    const share = (id: number) => drawn.filter(({ fault }) => fault.site === id).length / 1000;
    // 300, 100 and 4 · 100 words.
    expect(share(1)).toBeCloseTo(3 / 8, 1);
    expect(share(2)).toBeCloseTo(1 / 8, 1);
    expect(share(3)).toBeCloseTo(4 / 8, 1);
    const components = drawn.filter(({ fault }) => fault.site === 3).map(({ fault }) => fault.component);
    expect(new Set(components)).toEqual(new Set([0, 1, 2, 3]));
    expect(new Set(drawn.map(({ fault }) => fault.replica))).toEqual(new Set([0, 1]));
  });

  it.each([
    ["ALU", "invocation", [1, 2, 3, 6]],
    ["LDS", "invocation", [7]],
    ["SU", "subgroup", [2]],
    ["SRF", "subgroup", [2]],
    ["ID", "subgroup", [1, 2, 3]],
    ["IF/SCHED", "subgroup", [8, 9]],
    ["L1", "line", [5]],
  ] as const)("in %s strikes the %s at its sites", (structure, extent, sites) => {
    const drawn = draw(structure);
    expect([...new Set(drawn.map(({ fault }) => fault.site))].sort()).toEqual(sites);
    expect(new Set(drawn.map(({ fault }) => fault.extent))).toEqual(new Set([extent]));
    expect(new Set(drawn.map(({ model }) => model))).toEqual(new Set(modelsOf(structure)));
  });

  it.each([
    ["single-bit", 1],
    ["adjacent-bits", 2],
  ] as const)("of the model %s flips %d bits, any of them", (model, count) => {
    const masks = draw("ALU", [model]).map(({ fault }) => ("xor" in fault.effect ? fault.effect.xor : 0));
    const bits = masks.map((mask) => [...mask.toString(2)].filter((bit) => bit === "1").length);
    expect(new Set(bits)).toEqual(new Set([count]));
    expect(new Set(masks).size).toBe(33 - count);
    expect(Math.max(...masks)).toBeLessThan(2 ** 32);
  });

  it("of a stuck lane lasts", () => {
    expect(draw("ALU", ["stuck-lane"])[0]!.fault.duration).toBe("launch");
    expect(draw("ALU", ["zero"])[0]!.fault).toMatchObject({
      duration: "once",
      effect: { set: 0 },
      fuel: 1024,
    });
  });

  it("at rest strikes any bit of any buffer", () => {
    const drawn = Array.from({ length: 1000 }, (_, i) => drawRestingFault(`rest/${i}`, [8, 0, 24]));
    const words = drawn.map(({ buffer, byteOffset }) => `${buffer}/${byteOffset}`);
    expect(new Set(words)).toEqual(
      new Set(["0/0", "0/4", ...[0, 4, 8, 12, 16, 20].map((byte) => `2/${byte}`)]),
    );
    expect(new Set(drawn.map(({ mask }) => mask)).size).toBe(32);
  });
});

it("every model stands for a structure, and every structure has one", () => {
  expect(new Set(struckStructures.flatMap(modelsOf))).toEqual(new Set(faultModels));
  expect(struckStructures.filter((structure) => modelsOf(structure).length === 0)).toEqual([]);
});

it("only models with something to strike are drawn", () => {
  expect(modelsFor({ ...kernel, sites: [site(1, "statement", 5)] }, "IF/SCHED", faultModels)).toEqual([
    "skip",
  ]);
  expect(modelsFor(kernel, "ALU", ["zero", "skip"])).toEqual(["zero"]);
  expect(modelsFor({ ...kernel, sites: [site(1, "local", 0)] }, "LDS", faultModels)).toEqual([]);
});
