import { expect, it } from "vitest";
import { checkedKernel } from "../../../../../test/support/wgsl/checkedKernel.ts";
import { printExpression } from "../../wgsl/printer.ts";

/** Lines of 16 bytes, of which each lane accesses four. */
const line = { memory: "secded128", pieceBytes: 4 } as const;

/** Returns the accesses to lines of the assigned places. */
function accesses(body: string, memory: "secded128" | "detect1024" = "secded128") {
  const { access, assignments } = checkedKernel(body, { memory, pieceBytes: 4 });
  return assignments.map(({ target }) => access.of(target!));
}

it("knows the accesses that neighboring lanes make to neighboring pieces", () => {
  const [ordered, strided, reversed] = accesses("a[i] = 1u; a[2 * i] = 1u; a[63 - i] = 1u;");
  expect(ordered).toMatchObject({ pieces: 4 });
  expect([strided, reversed]).toEqual([undefined, undefined]);
});

it("gives accesses that are whole lines apart one order", () => {
  const [first, ahead, other] = accesses("a[i] = 1u; a[i + 64] = 1u; a[i + k] = 1u;");
  expect(ahead!.order).toBe(first!.order);
  expect(other!.order).not.toBe(first!.order);
});

it("hopes that a sum is aligned only where lines are short", () => {
  expect(accesses("a[i + k] = 1u;")).toMatchObject([{ pieces: 4 }]);
  expect(accesses("a[i + k] = 1u;", "detect1024")).toEqual([undefined]);
});

it("writes the parts of a load and of a store as functions of the index", () => {
  const { access, assignments, declared } = checkedKernel("a[i] = 1u;", line);
  const target = assignments[0]!.target!;
  const note = access.note(target);
  const piece = access.pieceOf(target);
  const fits = access.fits(target);
  const put = access.put(target);
  for (const { indices } of [note, piece, fits, put]) expect(indices.map(printExpression)).toEqual(["i"]);
  expect(declared(note.name)).toMatch(
    /return noted_u32\(granule_1, piece, secded128_contribution\(piece % 4u, data\), check_table\[1\]\.x \+ piece \/ 4u\); }$/,
  );
  expect(declared("noted_u32")).toBe("struct noted_u32 { value: u32, piece: u32, part: u32, number: u32, }");
  expect(declared(piece.name)).toBe("fn piece_1(index_1: u32) -> u32 { return index_1; }");
  expect(declared(fits.name)).toBe(
    "fn fits_1(index_1: u32) -> bool { return !(index_1 > check_table[1].y / 4u - 1u); }",
  );
  expect(declared(put.name)).toBe(
    "fn put_1(index_1: u32, value: u32) -> vec2<u32> { let piece = index_1; let data = value; " +
      "granules_a[piece] = data; " +
      "return vec2<u32>(secded128_contribution(piece % 4u, data), check_table[1].x + piece / 4u); }",
  );
});

it("looks at the previous piece only where a store keeps a part of it", () => {
  const whole = checkedKernel("a[i] = 1u;", line);
  expect(whole.access.kept(whole.assignments[0]!.target!)).toBeUndefined();
  const part = checkedKernel("a[i].y = 1u;", { memory: "detect1024", pieceBytes: 8, type: "vec2u" });
  expect(part.declared(part.access.kept(part.assignments[0]!.target!)!.name)).toMatch(
    /^fn kept_1\(index_1: u32\) -> vec2<u32> { let piece = index_1; let data = granules_a\[piece\];/,
  );
});
