import { expect, it } from "vitest";
import { checkedKernel } from "../../../../../test/support/wgsl/checkedKernel.ts";
import { placeOf } from "../../analysis/places.ts";
import { coalescedPieceBytes } from "./coalescedPattern.ts";

/** Returns the bytes of the pieces that lanes access by an assignment to a part of `a`. */
function pieceBytes(body: string, type: string, lineBytes = 128) {
  const { program, patternsOf, assignments } = checkedKernel(body, { type });
  return coalescedPieceBytes(placeOf(program, assignments[0]!.target!)!, lineBytes, patternsOf);
}

it.each([
  ["a[i] = 1u;", "u32", 4],
  ["a[i] = vec2u(1);", "vec2u", 8],
  ["a[i] = vec4u(1);", "vec4u", 16],
  ["a[i].y = 1u;", "vec4u", 16],
  ["a[i + 32] = 1u;", "u32", 4],
  ["a[k][i] = 1u;", "array<u32, 64>", 4],
])("lanes access a line in order by %s to array<%s>, %i bytes each", (body, type, bytes) => {
  expect(pieceBytes(body, type)).toBe(bytes);
});

it.each([
  ["in reverse", "a[63 - i] = 1u;", "u32"],
  ["with gaps", "a[2 * i] = 1u;", "u32"],
  ["from the middle of a line on", "a[i + 1] = 1u;", "u32"],
  ["in rows that are no whole lines", "a[k][i] = 1u;", "array<u32, 33>"],
  ["by elements that are no pieces", "a[i][1] = vec4u(1);", "array<vec4u, 2>"],
])("lanes access no line in order %s", (_, body, type) => {
  expect(pieceBytes(body, type)).toBeUndefined();
});

it("a piece is smaller than its line", () => {
  expect(pieceBytes("a[i] = vec4u(1);", "vec4u", 16)).toBeUndefined();
  expect(pieceBytes("a[i] = 1u;", "u32", 16)).toBe(4);
});
