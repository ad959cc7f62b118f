/** Tests programs that could exhaust the resolver: each has to be resolved in bounded time. */
import { expect, test } from "vitest";
import { parse } from "../parser.ts";
import { resolve } from "./resolve.ts";

const times = (count: number, line: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => line(i)).join("\n");

/** Returns the first message about a program, or undefined. */
function firstFinding(source: string): string | undefined {
  const { module, diagnostics } = parse(source);
  expect(diagnostics).toEqual([]);
  return resolve(module).diagnostics[0]?.message;
}

test.each([
  ["constants that each need the next", `${times(5000, (i) => `const c${i} = c${i + 1};`)}const c5000 = 1;`],
  ["functions that each call the next", `${times(5000, (i) => `fn f${i}() { f${i + 1}(); }`)}fn f5000() {}`],
  [
    "structs that double in size",
    times(200, (i) => (i === 0 ? "struct S0 { a: i32 }" : `struct S${i} { a: S${i - 1}, b: S${i - 1} }`)) +
      "const zero = S199(); const part = zero.a; fn f() { var v = zero; v = S199(); }",
  ],
  [
    "types nested as deep as is allowed",
    "alias T0 = i32;" +
      times(200, (i) => `alias T${i + 1} = array<T${i}, 2>;`) +
      "const zero = T200(); fn f() { var v = zero; v[0] = T199(); }",
  ],
  ["large constants", times(2000, (i) => `const c${i} = array<i32, 60000>();`)],
  [
    "constants made of one another",
    `const c0 = array(1, 2, 3, 4);${times(30, (i) => `const c${i + 1} = array(c${i}, c${i}, c${i});`)}`,
  ],
  [
    "a large constant that is often used",
    `const a = array(${"1, ".repeat(20000)}); fn f(i: i32) { ${"_ = a[i];".repeat(500)} }`,
  ],
])("%s are no error", (_, source) => {
  expect(firstFinding(source)).toBeUndefined();
});

test.each([
  [
    "types nested too deep",
    `alias T0 = i32;${times(5000, (i) => `alias T${i + 1} = array<T${i}, 2>;`)}`,
    "types nest deeper than 255 levels",
  ],
  [
    "a count hidden in a huge constant",
    "const a = array<i32, 1000000000>(); var<private> b: array<f32, a[5]>;",
    "this element count is too costly to evaluate",
  ],
  ["a long cycle", times(5000, (i) => `const c${i} = c${(i + 1) % 5000};`), "`c0` depends on itself"],
  [
    "an error in every statement",
    `fn f() { ${"_ = missing.part[0];".repeat(5000)} }`,
    "`missing` is not declared",
  ],
])("%s is an error", (_, source, message) => {
  expect(firstFinding(source)).toBe(message);
});

test("only the first errors are kept", () => {
  expect(resolve(parse(`fn f() { ${"_ = a;".repeat(5000)} }`).module).diagnostics).toHaveLength(100);
});
