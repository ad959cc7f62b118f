import { expect, it } from "vitest";
import { messageOf } from "./messageOf.ts";

const unreadable = new Proxy({}, { get: () => expect.unreachable() });
const throwing = () => {
  throw new Error("again");
};

it.each([
  [new RangeError("too far"), "too far"],
  [new RangeError(), "RangeError"],
  [{ message: "of a GPU" }, "of a GPU"],
  [{ message: 5 }, "[object Object]"],
  ["words", "words"],
  [undefined, "undefined"],
  [null, "null"],
  [Symbol("sign"), "Symbol(sign)"],
  [{ toString: throwing }, "what was thrown cannot be shown"],
  [{ message: "", toString: throwing }, "what was thrown cannot be shown"],
  [Object.create(null), "what was thrown cannot be shown"],
  [unreadable, "what was thrown cannot be shown"],
])("says what was thrown, case %#", (thrown, message) => {
  expect(messageOf(thrown)).toBe(message);
});
