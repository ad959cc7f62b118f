import { expect, it } from "vitest";
import { dataOf, dataOn } from "./attachedData.ts";

it("keeps any number of values, and the latest of each key", () => {
  const object = {};
  const keys = Array.from({ length: 5 }, () => ({}));
  expect(dataOf(object)).toBeUndefined();
  for (const round of [1, 2]) {
    for (const [i, key] of keys.entries()) dataOn(object).set(key, round * i);
    expect(keys.map((key) => dataOf(object)!.get(key))).toEqual(keys.map((_, i) => round * i));
  }
  for (const [i, key] of keys.entries()) {
    dataOn(object).delete(key);
    expect(keys.map((each) => dataOf(object)!.get(each) !== undefined)).toEqual(keys.map((_, k) => k > i));
  }
  expect(Object.keys(object)).toEqual([]);
});

it("keeps nothing that was cleared", () => {
  const object = {};
  const keys = Array.from({ length: 5 }, () => ({}));
  const data = dataOn(object);
  for (const key of keys) data.set(key, key);
  data.members = {};
  data.ownership = {};
  data.clear();
  expect(data).toMatchObject({ members: undefined, ownership: undefined });
  expect(keys.map((key) => data.get(key))).toEqual(keys.map(() => undefined));
});
