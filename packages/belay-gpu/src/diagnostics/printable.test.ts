import { expect, it } from "vitest";
import { printable } from "./printable.ts";

it("replaces characters that would disturb a terminal", () => {
  expect(printable("a\u001b[2Jb\u0007\u009b\u202ec\r")).toBe("a\ufffd[2Jb\ufffd\ufffd\ufffdc\ufffd");
  expect(printable("\ud800 \u{1f600}")).toBe("\ufffd \u{1f600}");
});

it("keeps line breaks, tabs and Belay's own colors", () => {
  expect(printable("a\tb\r\nc\n")).toBe("a\tb\r\nc\n");
  const red = "\u001b[1m\u001b[31mred\u001b[39m\u001b[22m";
  expect(printable(red, { colored: true })).toBe(red);
  expect(printable(red)).not.toContain("\u001b");
  expect(printable("\u001b[8mhidden", { colored: true })).toBe("\ufffd[8mhidden");
});
