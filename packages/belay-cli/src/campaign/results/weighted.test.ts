import { expect, it } from "vitest";
import type { FaultModel } from "../model/faultModel.ts";
import type { InjectionRecord } from "../model/records.ts";
import { weigh } from "./summary.ts";

const injections = (model: FaultModel, silent: number, count: number): InjectionRecord[] =>
  Array.from({ length: count }, (_, number) => ({
    kind: "injection",
    id: `${model}${number}`,
    program: "a",
    configuration: "none",
    kernel: "k",
    structure: "LDS",
    model,
    number,
    fault: { buffer: 0, byteOffset: 0, mask: 1 },
    outcome: number < silent ? "sdc" : "masked",
  }));
const made = [...injections("single-bit", 10, 40), ...injections("zero", 6, 8)];
const weightsOf = (models: Partial<Record<FaultModel, number>>) => ({ name: "", sources: [], models });

it("a weighted rate has each model in its share, however many faults had it", () => {
  const { sdc, unstruck } = weigh(made, "LDS", weightsOf({ "single-bit": 1, zero: 3, branch: 9 }), 0.95);
  expect(sdc!.rate).toBeCloseTo(0.25 * (10 / 40) + 0.75 * (6 / 8), 12);
  expect(sdc!.trials).toBe(48);
  // No fault in workgroup memory can have the model `branch`.
  expect(unstruck).toEqual([]);
});

it("a model that has not struck is named, and the others keep their shares", () => {
  const weights = weightsOf({ "single-bit": 2, "random-word": 5, zero: 2 });
  const { sdc, unstruck } = weigh(made, "LDS", weights, 0.95);
  expect(sdc!.rate).toBeCloseTo((10 / 40 + 6 / 8) / 2, 12);
  expect(unstruck).toEqual(["random-word"]);
});

it("nothing is said of a structure without weights", () => {
  expect(weigh(made, "LDS", weightsOf({ branch: 1 }), 0.95)).toEqual({ unstruck: [] });
});
