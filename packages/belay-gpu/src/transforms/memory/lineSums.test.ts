import { expect, it } from "vitest";
import { checkedKernel } from "../../../../../test/support/wgsl/checkedKernel.ts";

it("adds two lines up in four lanes, each of which then has one sum", () => {
  const { granules, declared } = checkedKernel("");
  granules.sums.isWrong(4, 2, "read");
  expect(declared("sum_2_of_4")).toBe(
    "fn sum_2_of_4(parts: array<u32, 2>) -> u32 { let is_upper_1 = (lane & 1u) != 0u; " +
      "let part_1_0 = select(parts[0], parts[1], is_upper_1) ^ " +
      "subgroupShuffleXor(select(parts[1], parts[0], is_upper_1), 1u); " +
      "var sum = part_1_0; sum ^= subgroupShuffleXor(sum, 2u); return sum; }",
  );
});

it.each([
  [1, 3],
  [2, 3],
  [4, 4],
  [8, 7],
])("adds %i lines up in eight lanes by %i exchanges", (count, exchanges) => {
  const { granules, declared } = checkedKernel("");
  granules.sums.isWrong(8, count, "read");
  expect(declared(`sum_${count}_of_8`)!.match(/subgroupShuffleXor/g)).toHaveLength(exchanges);
});

it("compares each line with the check word that its lane chooses, and stores one by each lane", () => {
  const { granules, declared } = checkedKernel("");
  expect(declared(granules.sums.isWrong(4, 2, "read"))).toMatch(
    /{ return subgroupAny\(sum_2_of_4\(parts\) != check_words_read\[own_of_2\(numbers\)\]\); }$/,
  );
  expect(declared("own_of_2")).toMatch(
    /return select\(numbers\[0\], numbers\[1\], \(lane & 1u\) != 0u\); }$/,
  );
  expect(declared(granules.sums.keep(4, 2, "read_write"))).toMatch(
    /if \(lane % 4u < 2u\) { check_words_read_write\[number\] = check; } }$/,
  );
});

it("finds lanes in order that all are active, with the pieces of a line from its first on", () => {
  const { granules, declared } = checkedKernel("");
  expect(declared(granules.sums.inOrder(4))).toMatch(
    /let is_next = piece % 4u == rank && subgroupShuffle\(piece, first\) \+ rank == piece; return subgroupAll\(lanes == 15u && is_next\); }$/,
  );
  expect(declared(granules.sums.inOrder(32))).toContain("lanes == 0xffffffffu");
});
