/** Browsers convert values by Web IDL. Node.js accepts fewer values. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  boolean,
  bufferSource,
  dictionary,
  learnConversions,
  long,
  rejected,
  sequence,
  string,
  unsignedLong,
  unsignedLongLong,
} from "./conversions.ts";

/** A device that accepts a text for a number, as browsers do. */
const lenient = { createSampler: () => ({}) } as unknown as GPUDevice;
const strict = {
  createSampler: () => {
    throw new TypeError();
  },
} as unknown as GPUDevice;

afterAll(() => learnConversions(strict));

describe("in a browser", () => {
  beforeAll(() => learnConversions(lenient));

  it("converts values of other types to numbers", () => {
    const values = [4.9, "8", true, null, { valueOf: () => 6.5 }, [7], -0.5];
    expect(values.map(unsignedLong)).toEqual([4, 8, 1, 0, 6, 7, -0]);
    expect([-4.5, 2 ** 31 - 0.5].map(long)).toEqual([-4, 2 ** 31 - 1]);
  });

  it("rejects values without a number, and numbers out of range", () => {
    const values = [undefined, Number.NaN, Number.POSITIVE_INFINITY, -1, 2 ** 32, 8n, Symbol(), {}, "x"];
    for (const value of values) expect(unsignedLong(value), String(value)).toBe(rejected);
    expect([unsignedLongLong(2 ** 53 - 1), unsignedLongLong(2 ** 53)]).toEqual([2 ** 53 - 1, rejected]);
  });

  it("reads an iterable once, and each member of a descriptor once", () => {
    const read: string[] = [];
    const list = (function* () {
      read.push("list");
      yield "1";
    })();
    const given = {
      get list() {
        read.push("member");
        return list;
      },
      other: 5,
    };
    const convert = dictionary({ list: sequence(unsignedLong), isSet: boolean, label: string }, ["list"]);
    expect(convert(given)).toEqual({ list: [1], other: 5 });
    expect(read).toEqual(["member", "list"]);
    expect(convert({ list: [], isSet: 1, label: 2 })).toEqual({ list: [], isSet: true, label: "2" });
    for (const wrong of [undefined, null, 5, {}, { list: 5 }, { list: [-1] }])
      expect(convert(wrong)).toBe(rejected);
  });
});

it("leaves values of other types to a device that rejects them", () => {
  learnConversions(strict);
  for (const value of ["8", true, null, { valueOf: () => 6 }, -0.5, 2 ** 32 - 0.5])
    expect(unsignedLong(value)).toBe(rejected);
  expect([unsignedLong(4.9), boolean(1), sequence(unsignedLong)(new Set())]).toEqual([4, rejected, rejected]);
});

it("returns views as they are, and views of the same memory in place of changed ones", () => {
  class Short extends Float32Array {
    override get length() {
      return 1;
    }
  }
  const { buffer } = new Uint8Array(16);
  const [plain, short] = [new Uint16Array(buffer, 2, 3), new Short(buffer, 4, 2)];
  expect(bufferSource(plain)).toBe(plain);
  expect(bufferSource(short)).toEqual(new Float32Array(buffer, 4, 2));
  expect(bufferSource(Object.defineProperty(buffer, "byteLength", { value: 4 }))).toHaveLength(16);
  for (const wrong of [null, 5, [1], {}]) expect(bufferSource(wrong)).toBe(rejected);
});
