import { expect, it } from "vitest";
import { typed } from "../../../../../test/support/wgsl/goldens.ts";
import { memberOffsets, sizeOf } from "../../wgsl/layout.ts";
import { print } from "../../wgsl/printer.ts";
import { Names } from "../shared/names.ts";
import { declareReport } from "./declareReport.ts";
import { mailboxBytes, mailWords, ranOutOffset } from "./mailbox.ts";
import { reportWords } from "./reportBuffer.ts";

const MiB = 2 ** 20;

it("has room for all pairs that run at once, in a bounded amount of memory", () => {
  // Eight words for each of 2,304 pairs of small workgroups, or of 262,144 invocations.
  expect(mailWords([32])).toBe(8 * 2304 * 32);
  expect(mailWords([256])).toBe(8 * 2 ** 18);
  expect(mailWords([32, 1024])).toBe(8 * 2 ** 18);
  for (let size = 1; size <= 1024; size++) {
    const words = mailWords([size]);
    expect(words / 8 / size).toBeGreaterThanOrEqual(Math.min(2304, 2 ** 18 / size));
    expect(mailboxBytes(words)).toBeLessThanOrEqual(8.1 * MiB);
  }
});

it("has room for a workgroup of any size where an override decides", () => {
  expect(mailWords([undefined])).toBe(8 * 2 ** 18);
  expect([mailWords([]), mailboxBytes(0)]).toEqual([0, 0]);
});

it("takes the bytes it says, and has its flag where it says", () => {
  const program = typed("fn f() {}");
  const mail = mailWords([64]);
  const bytes = 4 * (reportWords.total + 16) + mailboxBytes(mail);
  const declared = typed(
    print(declareReport(program, new Names(program), { group: 0, binding: 0, bytes, cells: 16, mail })),
  );
  const report = declared.module.declarations.find(
    (d) => d.kind === "globalVariable" && d.name === "belay_report",
  );
  if (report?.kind !== "globalVariable") throw new Error("the report is a variable");
  const type = declared.declaredTypeOf(report);
  expect(sizeOf(type)).toBe(bytes);
  if (type.kind !== "struct") throw new Error("the report is a structure");
  const flag = type.members.findIndex(({ name }) => name === "has_run_out");
  expect(memberOffsets(type)[flag]).toBe(4 * (reportWords.total + 16) + ranOutOffset);
});
