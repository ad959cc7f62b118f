import { expect, it } from "vitest";
import { checkedKernel, flat } from "../../../../../test/support/wgsl/checkedKernel.ts";
import type { Statement } from "../../wgsl/ast.ts";
import { printStatement } from "../../wgsl/printer.ts";
import { quote } from "../../wgsl/quote.ts";

/** Lines of 16 bytes, of which each lane accesses four. The kernel assigns elements of `a`. */
function lineRuns(body: string) {
  const { runs, assignments } = checkedKernel(body, { memory: "secded128", pieceBytes: 4 });
  const elements = assignments.map(({ target, value }) => {
    if (target?.kind !== "index") throw new Error("the kernel assigns elements");
    return { target, index: target.index, value };
  });
  return { runs, elements };
}
const text = (statements: readonly Statement[]) => statements.map((each) => flat(printStatement(each)));

it("checks speculative loads together, and the order of lanes once for loads that are lines apart", () => {
  const { runs, elements } = lineRuns("a[i] = 1u; a[i + 64] = 1u;");
  const loads = elements.map(({ target, index }, n) => {
    return { ...runs.note(target, [index])!, name: `v_${n}`, load: quote().expression`load(i)` };
  });
  expect(text(runs.noted(loads))).toEqual([
    "let noted_1 = note_1(i);",
    "let noted_2 = note_1(i + 64);",
    "var v_0 = noted_1.value;",
    "var v_1 = noted_2.value;",
    "bad |= u32(is_wrong_2_of_4_read_write(" +
      "array<u32, 2>(noted_1.part, noted_2.part), array<u32, 2>(noted_1.number, noted_2.number)));",
    "bad |= u32(!in_order_of_4(noted_2.piece));",
  ]);
});

it("notes no load of a line that lanes do not share", () => {
  const { runs, elements } = lineRuns("a[2 * i] = 1u;");
  expect(runs.note(elements[0]!.target, [elements[0]!.index])).toBeUndefined();
});

it("encodes consecutive stores together where all lanes take part, and else stores alone", () => {
  const { runs, elements } = lineRuns("a[i] = 1u; a[i + 64] = 2u;");
  const [first, second] = elements.map(({ target, index, value }) => {
    const [store] = quote().statements`store(${[index, value]});`;
    runs.remember(store!, target, [index, value]);
    return store!;
  });
  const [pure, barrier] = quote().statements`let y = 3u; workgroupBarrier();`;
  const together = (inOrder: string, fits: string) =>
    expect.stringMatching(`= in_order_of_4\\(piece_1\\(${inOrder}\\)\\) & subgroupAll\\(${fits}\\);`);
  expect(text(runs.stored([first!, pure!, second!], new Set([pure!])))).toEqual([
    "let y = 3u;",
    together("i \\+ 64", "fits_1\\(i\\) & fits_1\\(i \\+ 64\\)"),
    "if (together_1) { let put_2 = put_1(i, 1u); let put_3 = put_1(i + 64, 2u); " +
      "keep_2_of_4(array<u32, 2>(put_2.x, put_3.x), array<u32, 2>(put_2.y, put_3.y)); } " +
      "else { var list_1 = array(i, i + 64); var list_2 = array(1u, 2u); " +
      "for (var i_1 = 0u; i_1 < 2u; i_1++) { store(list_1[i_1], list_2[i_1]); } }",
  ]);
  const apart = text(runs.stored([first!, barrier!, second!], new Set()));
  expect(apart.map((each) => each.slice(0, 16))).toEqual([
    "let together_2 =",
    "if (together_2) ",
    "workgroupBarrier",
    "let together_3 =",
    "if (together_3) ",
  ]);
});
