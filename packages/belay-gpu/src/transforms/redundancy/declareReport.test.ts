import { expect, it } from "vitest";
import { applySteps, goldens } from "../../../../../test/support/wgsl/goldens.ts";
import { memberOffsets, sizeOf, strideOf } from "../../wgsl/layout.ts";
import { injectionMembers, injectionWords } from "../faults/injectionWords.ts";
import { declareReport } from "./declareReport.ts";
import { reportWords } from "./reportBuffer.ts";

const golden = goldens("declareReport");
const layout = { group: 2, binding: 5, bytes: 4 * reportWords.total, cells: 0 };

it("declares the report, the function that writes to it, and who an invocation is", () =>
  golden("the report", "fn f() {}", (program, names) => declareReport(program, names, layout)));

it("declares what arms faults where they are injected", () =>
  golden("the report of injected faults", "fn f() {}", (program, names) =>
    declareReport(program, names, { ...layout, injection: injectionMembers }),
  ));

it.each([
  ["without", undefined, {}],
  ["with", injectionMembers, injectionWords],
])("lays the report out as the host reads it, %s injected faults", (_, injection, words) => {
  const options = { ...layout, ...(injection && { injection }) };
  const { after } = applySteps("fn f() {}", [(program, names) => declareReport(program, names, options)]);
  const report = after.module.declarations.find(
    (d) => d.kind === "globalVariable" && d.name === "belay_report",
  );
  const type = report?.kind === "globalVariable" ? after.declaredTypeOf(report) : undefined;
  if (type?.kind !== "struct") throw new Error("the report is a struct");
  const inWords = (bytes: number) => bytes / 4;
  const camelCase = (name: string) => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  const offsets = Object.fromEntries(
    type.members.map(({ name }, i) => [camelCase(name), inWords(memberOffsets(type)[i]!)]),
  );
  const { recordStride, recordCapacity, memoryRecordStride, memoryRecordCapacity, total, ...places } =
    reportWords;
  const { corrected, uncorrectable, suspect, ...named } = places;
  expect(offsets).toEqual({ ...named, ...words, findings: corrected });
  expect([uncorrectable, suspect]).toEqual([corrected + 1, corrected + 2]);
  const shapes = type.members.flatMap(({ type: list }) =>
    list.kind === "array" ? [[inWords(strideOf(list)), list.count]] : [],
  );
  expect(shapes).toEqual([
    [1, 3],
    [recordStride, recordCapacity],
    [memoryRecordStride * memoryRecordCapacity, 3],
  ]);
  expect(inWords(sizeOf(type))).toBe(total);
});
