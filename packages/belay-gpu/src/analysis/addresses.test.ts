import { describe, expect, it } from "vitest";
import type { Expression } from "../wgsl/ast.ts";
import { parse } from "../wgsl/parser.ts";
import { printExpression } from "../wgsl/printer.ts";
import type { Program } from "../wgsl/program.ts";
import { resolve } from "../wgsl/resolve/index.ts";
import { walk } from "../wgsl/traverse.ts";
import { addressOf } from "./addresses.ts";
import { placeOf } from "./places.ts";

/** Returns the address of the first place that a kernel with this store assigns. */
function address(store: string): { text: string; indices: string[]; at: (...indices: number[]) => number } {
  const code = `
    struct Part { a: vec3f, b: array<u32, 3> }
    @group(0) @binding(0) var<storage, read_write> words: array<u32>;
    @group(0) @binding(1) var<storage, read_write> parts: array<Part>;
    @compute @workgroup_size(1) fn main(@builtin(global_invocation_id) id: vec3u) { let i = id.x; let j = id.y; ${store} }`;
  const program: Program = resolve(parse(code).module);
  expect(program.diagnostics).toEqual([]);
  let target: Expression | null = null;
  walk(program.module, (node) => {
    if (node.kind === "assign") target ??= node.target;
  });
  const { expression, indices } = addressOf(program, placeOf(program, target!)!);
  const text = printExpression(expression);
  // JavaScript has the operators of the address, too; they work on 32-bit words there.
  const javascript = text
    .replace(/u32\((\w)\) \* (\d+)u/g, "Math.imul($1, $2)")
    .replace(/u32\((\w)\)/g, "$1")
    .replace(/(\d)u/g, "$1")
    .replaceAll(">>", ">>>");
  return {
    text,
    indices: indices.map(printExpression),
    at: (i = 0, j = 0) => new Function("i", "j", `return (${javascript}) >>> 0`)(i, j),
  };
}

describe("addressOf", () => {
  it("is a constant for a constant place", () => {
    expect(address("words[3] = 1;")).toMatchObject({ text: "12u", indices: [] });
    expect(address("parts[1].b[2] = 1;")).toMatchObject({ text: `${32 + 12 + 8}u`, indices: [] });
    expect(address("parts[4294967295u].a.y = 1;").text).toBe(`${2 ** 32 - 32 + 4}u`);
  });

  it("is the byte offset in bounds", () => {
    const word = address("words[i] = 1;");
    expect([word.at(0), word.at(5), word.at(2 ** 29)]).toEqual([0, 20, 2 ** 31]);
    expect(word.indices).toEqual(["u32(i)"]);
    const part = address("parts[i].b[j] = 1;");
    expect([part.at(0, 0), part.at(3, 2)]).toEqual([12, 3 * 32 + 12 + 8]);
    expect(part.indices).toEqual(["u32(i)", "u32(j)"]);
  });

  it.each(["words[i] = 1;", "parts[i].a.y = 1;", "parts[i].b[j] = 1;"])(
    "shows every flipped bit of an index: %s",
    (store) => {
      const { at } = address(store);
      for (const index of [0, 1, 77, 123_456]) {
        const flipped = Array.from({ length: 32 }, (_, bit) => at((index ^ (1 << bit)) >>> 0, 1));
        expect(new Set([...flipped, at(index, 1)]).size).toBe(33);
      }
    },
  );
});
