import { expect, it } from "vitest";
import { report, typed } from "../../../../../test/support/wgsl/goldens.ts";
import { memberOffsets } from "../../wgsl/layout.ts";
import { reportWords } from "../redundancy/reportBuffer.ts";
import { Names } from "../shared/names.ts";
import { injectionMembers, injectionWords } from "./injectionWords.ts";

it("gives the host the offsets that the report has in WGSL", () => {
  const program = typed("fn f() {}");
  const declared = typed(report({ injection: injectionMembers })(program, new Names(program)));
  const variable = declared.module.declarations.find(
    (each) => each.kind === "globalVariable" && each.name === "belay_report",
  );
  if (variable?.kind !== "globalVariable") throw new Error("the report is a variable");
  const type = declared.declaredTypeOf(variable);
  if (type.kind !== "struct") throw new Error("the report is a struct");
  const offsets = memberOffsets(type);
  const wordOf = (name: string) => offsets[type.members.findIndex((member) => member.name === name)]! / 4;
  const inWgsl = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  for (const [name, word] of Object.entries(injectionWords))
    expect([name, wordOf(inWgsl(name))]).toEqual([name, word]);
  expect(wordOf("records")).toBe(reportWords.records);
});
