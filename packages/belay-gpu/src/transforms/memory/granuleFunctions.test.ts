import { expect, it } from "vitest";
import { checkedKernel } from "../../../../../test/support/wgsl/checkedKernel.ts";

const words = { name: "words", isUniform: false };

it("loads a granule with its syndrome, and stores it with its check word", () => {
  const { granules, a, declared } = checkedKernel("");
  expect(declared(granules.load(a, words, "read", "peeked"))).toBe(
    "fn peeked_a_read(granule: u32) -> u32 { let data = words[granule]; " +
      "let syndrome = secded32_syndrome(data, check_words_read[check_table[1].x + granule]); " +
      "bad |= syndrome; return data; }",
  );
  expect(declared(granules.store(a, words, "read_write"))).toBe(
    "fn store_a_read_write(granule: u32, data: u32) { words[granule] = data; " +
      "check_words_read_write[check_table[1].x + granule] = secded32_encode(data); }",
  );
});

it("corrects a granule without a branch, and notes the error", () => {
  const { granules, a, declared } = checkedKernel("");
  expect(declared(granules.load(a, words, "read", "repaired"))).toMatch(
    /return repaired_secded32\(data, 1u, granule, syndrome\); }$/,
  );
  expect(declared("repaired_secded32")).toBe(
    "fn repaired_secded32(data: u32, binding: u32, granule: u32, syndrome: u32) -> u32 { " +
      "let result = secded32_correct(data, syndrome); " +
      "note(result.status, binding, granule, syndrome); return result.data; }",
  );
});

it("replaces a variable by an array of granules, and keeps one that is loaded once", () => {
  const { granules, a, program, declared } = checkedKernel("", { memory: "secded128" });
  const variable = program.module.declarations.find((each) => each.kind === "globalVariable")!;
  expect(declared(granules.words(variable, a, 64))).toBe(
    "@group(0) @binding(0) var<storage, read_write> granules_a: array<vec4<u32>>;",
  );
  expect(declared(granules.kept(a, "3u"))).toBe("var<private> kept_a_3: vec4<u32>;");
});
