import { expect, it } from "vitest";
import { flag, refuseUnknown, wholeFrom } from "./options.ts";

const options = { retries: wholeFrom(0), strict: flag };
const refuse = (given: object) => () => refuseUnknown(given as { retries?: number }, options, " of a test");

it("accepts options of the object itself", () => {
  expect(refuse({ retries: 1, strict: undefined })).not.toThrow();
  expect(refuse(Object.assign(Object.create(null), { strict: true }))).not.toThrow();
  expect(refuse(Object.create({ retries: 1 }, { retries: { value: 2, enumerable: true } }))).not.toThrow();
});

it("refuses options that a copy of the object lacks", () => {
  const hidden = "the option retries of a test is inherited or hidden: set it on the object itself";
  class Options {
    get retries() {
      return 1;
    }
  }
  expect(refuse(Object.create({ retries: 1 }))).toThrow(hidden);
  expect(refuse(new Options())).toThrow(hidden);
  expect(refuse(Object.defineProperty({}, "retries", { value: 1 }))).toThrow(hidden);
});

it.each([
  [Number.NaN, "NaN"],
  [Number.POSITIVE_INFINITY, "Infinity"],
  [-1, "-1"],
  ["1", '"1"'],
  [null, "null"],
])("names the wrong value %s", (retries, text) => {
  expect(refuse({ retries })).toThrow(`cannot be ${text}: it is a whole number from 0 on`);
});
