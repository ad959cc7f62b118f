import { expect, it } from "vitest";
import { checkedKernel } from "../../../../../test/support/wgsl/checkedKernel.ts";

const words = { name: "words", isUniform: false };
/** Lines of 128 bytes, of which each lane accesses 16. */
const line = () => checkedKernel("", { memory: "detect1024", pieceBytes: 16, type: "vec4u" });

it("adds up the contributions of a piece's words by their places in the line", () => {
  const { granules, a } = line();
  expect(granules.lines.contribution(a, "p", "d")).toBe("belay_detect1024_quad(p % 8u, d)");
  expect(granules.lines.checkNumber(a, "p")).toBe("belay_check_table[1].x + p / 8u");
  const pairs = checkedKernel("", { memory: "detect1024", pieceBytes: 8 });
  expect(pairs.granules.lines.contribution(pairs.a, "p", "d").replaceAll("belay_detect1024_", "")).toBe(
    "(contribution(2u * (p % 16u) + 0u, d.x) ^ contribution(2u * (p % 16u) + 1u, d.y))",
  );
});

it("reads the whole line where a lane loads alone, its own piece once", () => {
  const { granules, a, declared } = line();
  expect(declared(granules.lines.load(a, words, "read", "peeked"))).toBe(
    "fn peeked_a_read(piece: u32) -> vec4<u32> { let data = words[piece]; " +
      "let syndrome = syndrome_of_a_read(piece, data); bad |= syndrome; return data; }",
  );
  expect(declared("syndrome_of_a_read")).toBe(
    "fn syndrome_of_a_read(own: u32, data: vec4<u32>) -> u32 { let first = own / 8u * 8u; " +
      "var sum = detect1024_quad(own % 8u, data); " +
      "for (var piece = first; piece < first + 8u; piece++) { " +
      "if (piece != own) { sum ^= detect1024_quad(piece % 8u, words[piece]); } } " +
      "return sum ^ check_words_read[check_table[1].x + own / 8u]; }",
  );
});

it("stores a piece by the change of its check word, without the errors that it replaces", () => {
  const { granules, a, declared } = line();
  const store = declared(granules.lines.store(a, words))!;
  expect(store).toContain("let before = words[piece]; let syndrome = syndrome_of_a_atomic(piece, before);");
  expect(store).toContain("let wrong = wrong_in_piece_of_a(piece, syndrome);");
  expect(store).toMatch(
    /change \^= wrong; } words\[piece\] = data; atomicXor\(&check_words_atomic\[.*\], detect1024_quad\(piece % 8u, change\)\); }$/,
  );
});

it("corrects a piece before a part of it is stored", () => {
  const { granules, a, declared } = line();
  expect(declared(granules.lines.old(a, words))).toBe(
    "fn old_a(piece: u32) -> vec4<u32> { let data = words[piece]; " +
      "return data ^ wrong_in_piece_of_a(piece, syndrome_of_a_atomic(piece, data)); }",
  );
});

it("has no pieces of granules that one lane accesses", () => {
  const { granules, a } = checkedKernel("");
  expect(() => granules.lines.store(a, words)).toThrow("a granule has no pieces");
});
