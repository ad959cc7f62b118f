import { expect, it } from "vitest";
import { parseWeights, readWeights, studiedWeights } from "./weights.ts";

const text = (changed: object) =>
  JSON.stringify({ name: "ours", sources: ["a report"], models: { zero: 2 }, ...changed });

it("weights are read from JSON", () => {
  expect(parseWeights(text({}), "w.json")).toEqual({
    name: "ours",
    sources: ["a report"],
    models: { zero: 2 },
  });
});

it("the weights of the study sum up to all of its corruptions", () => {
  const sum = Object.values(studiedWeights.models).reduce((all, weight) => all + weight, 0);
  expect(sum).toBeCloseTo(100, 10);
});

it.each([
  ["", "w.json:1:1: this is no JSON: "],
  ['{\n  "name": "a",,\n}', "w.json:2:15: this is no JSON: "],
  ["[]", "w.json:1:1: the file is no object"],
  [text({ model: {} }), "w.json:1:59: the file has the unknown member `model`"],
  ['{ name: "a" }', 'w.json:1:3: "name: \\"a\\"" is no member of a JSON object'],
  ['{ "sources": [] }', "w.json:1:1: the file has no member `name`"],
  [text({ name: " " }), 'w.json:1:9: `name` is "\\" \\""'],
  [text({ sources: [] }), 'w.json:1:26: `sources` is "[]"'],
  [text({ sources: ["a", 1] }), 'w.json:1:31: source 2 is "1"'],
  [
    '{\n  "name": "a",\n  "sources": ["b"],\n  "models": { "zeros": 1 }\n}',
    "w.json:4:15: `models` has the unknown member `zeros`",
  ],
  [
    '{ "name": "a", "sources": ["b"], "models": { "zero": 1, "zero": 2 } }',
    "w.json:1:57: `models` has `zero` twice",
  ],
  [text({ models: { zero: -1 } }), 'w.json:1:56: the weight of `zero` is "-1"'],
  [text({ models: { zero: "1" } }), 'w.json:1:56: the weight of `zero` is "\\"1\\""'],
  [text({ models: { zero: 0 } }), "w.json:1:48: no model has a weight above 0"],
])("a mistake in %j is told with its place", (wrong, message) => {
  expect(() => parseWeights(wrong, "w.json")).toThrow(
    expect.objectContaining({ code: "BELAY616", message: expect.stringContaining(message) }),
  );
});

it("a file that is not there is named", () => {
  expect(() => readWeights("/nowhere/w.json")).toThrow("cannot read /nowhere/w.json: ");
});
